/*
 * plot.c - draws the lines of a plot; see plot.h.
 *
 * From samples to dots, two reductions: series.c merges neighbouring samples in memory, and
 * this file merges all points of one column of dots (struct column). Each line is drawn in
 * passes, back to front: the band from the smallest to the largest value of each column, the
 * raw curve if the line is smoothed, the line itself, and crosses at gaps. A pass walks along
 * the series, collects the points of a column, and connects each finished column's mean with
 * the previous one by a stroke.
 */
#include "tui/plot/plot.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/util.h"
#include "tui/plot/plot_internal.h"
#include "tui/term/draw.h"

#define MAX_WIDTHS    8 /* in widths of the canvas: x is clamped there before it becomes an int */
#define AREA_SHARE    0.7
#define AREA_MIN_DOTS 16.0
#define TRIM_SHARE    0.02 /* share of the points that `trim` ignores at either end */

/* Bits of the dots of a braille cell by [column][row], in Unicode's order. */
static const unsigned braille[2][4] = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } };

/* ---- the range of values ---- */

static bool is_point_visible(const struct canvas *c, const struct series_point *p)
{
	double a = plot_dot_x(c, p->first), b = plot_dot_x(c, p->last);

	return b >= 0 && a <= c->dots_x - 1;
}

struct range {
	double low, high;
	bool known;
};

static void widen_range(struct range *r, double low, double high)
{
	r->low = r->known ? MIN(r->low, low) : low;
	r->high = r->known ? MAX(r->high, high) : high;
	r->known = true;
}

static int compare_float_values(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/*
 * The range without the TRIM_SHARE lowest and highest means. Of many points, only every n-th is
 * used, at most SERIES_POINTS in all.
 */
static struct range trimmed_range(const struct canvas *c, const struct plot *p)
{
	struct range r = { .known = false };
	float values[SERIES_POINTS];
	size_t all = 0, n = 0, every, cut;

	for (size_t i = 0; i < p->n; i++)
		all += p->lines[i].series->n;
	every = all / SERIES_POINTS + 1;
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->lines[i].series->n && n < SERIES_POINTS; k += every) {
			const struct series_point *q = &p->lines[i].series->points[k];

			if (q->n && is_point_visible(c, q) && (!c->log_y || series_mean(q) > 0))
				values[n++] = (float)series_mean(q);
		}
	if (!n)
		return r;
	qsort(values, n, sizeof(*values), compare_float_values);
	cut = (size_t)((double)n * TRIM_SHARE);
	assert(n <= SERIES_POINTS && 2 * cut < n);
	widen_range(&r, (double)values[cut], (double)values[n - 1 - cut]);
	return r;
}

static struct range range_of(const struct canvas *c, const struct plot *p)
{
	struct range r = { .known = false };

	if (p->trim)
		r = trimmed_range(c, p);
	for (size_t i = 0; i < p->n && !p->trim; i++) {
		const struct series *s = p->lines[i].series;

		for (size_t k = 0; k < s->n; k++) {
			const struct series_point *q = &s->points[k];

			if (!q->n || !is_point_visible(c, q))
				continue;
			if (!c->log_y)
				widen_range(&r, (double)q->low, (double)q->high);
			else if (q->high > 0)
				widen_range(&r, q->low > 0 ? (double)q->low : (double)q->high,
					    (double)q->high);
		}
	}
	if (r.known && p->from_zero && !c->log_y)
		widen_range(&r, 0, 0);
	return r;
}

/* ---- dots ---- */

/* The dots already set in a cell; 0 if it holds another character. */
static unsigned cell_dots(const struct canvas *c, uint32_t ch)
{
	if (c->per_x == 2)
		return ch > 0x2800 && ch <= 0x28FF ? ch - 0x2800 : 0;
	if (c->g->charset == GRID_ASCII)
		return ch == '\'' ? 1 : ch == '.' ? 2 : ch == ':' ? 3 : 0;
	return ch == 0x2580 ? 1 : ch == 0x2584 ? 2 : ch == 0x2588 ? 3 : 0;
}

static uint32_t dots_cell(const struct canvas *c, unsigned dots)
{
	static const uint32_t halves[] = { ' ', 0x2580, 0x2584, 0x2588 };

	assert(dots <= 0xFF);
	return c->per_x == 2 ? 0x2800 + dots : halves[dots & 3];
}

/* Back to front: a dot replaces dots of a lower layer in its cell, and joins those of its own. */
enum layer { LAYER_AREA, LAYER_BEHIND, LAYER_LINE };

static enum layer style_layer(enum style style)
{
	if (style >= STYLE_TONE_0)
		return LAYER_AREA;
	return style == STYLE_BAND || (style >= STYLE_FIRST_RAW && style <= STYLE_SIXTH_RAW)
		       ? LAYER_BEHIND
		       : LAYER_LINE;
}

/* The style of the raw curve behind a smoothed line: its own colour, dimmed. */
static enum style raw_style(enum style line)
{
	assert(line >= STYLE_FIRST && line <= STYLE_SIXTH);
	return (enum style)(STYLE_FIRST_RAW + (line - STYLE_FIRST));
}

static void draw_dot(const struct canvas *c, int x, int y, enum style style)
{
	int row = c->area.row + y / c->per_y, col = c->area.col + x / c->per_x;
	const struct cell *cell = grid_at(c->g, row, col);
	unsigned bit = c->per_x == 2 ? braille[x & 1][y & 3] : 1u << (y & 1), dots;

	if (!cell || x < 0 || y < 0 || x >= c->dots_x || y >= c->dots_y)
		return;
	dots = cell_dots(c, cell->ch);
	if (dots && style_layer(cell->style) < style_layer(style))
		dots = 0;
	else if (dots && style_layer(cell->style) >= LAYER_BEHIND &&
		 style_layer(style) < LAYER_LINE)
		style = cell->style;
	grid_put(c->g, row, col, style, dots_cell(c, dots | bit));
}

struct spot {
	double x;
	int y;
}; /* coordinates in dots */

/*
 * Draw a straight line of dots, clipped at the left and right edge; a dotted pen leaves gaps.
 * Returns its last dot; x NaN: nothing is visible.
 */
static struct spot draw_stroke(const struct canvas *c, struct spot a, struct spot b,
			       enum style style, bool dotted)
{
	double right = c->dots_x - 1, x0 = MAX(a.x, 0.0), x1 = MIN(b.x, right);
	double slope = b.x > a.x ? (b.y - a.y) / (b.x - a.x) : 0;
	int from = (int)lround(x0), to = (int)lround(x1), y0, y1, n;

	assert(a.x <= b.x); /* a series goes from left to right */
	if (!(a.x <= right && b.x >= 0))
		return (struct spot){ .x = NAN };
	y0 = (int)lround(a.y + (x0 - a.x) * slope);
	y1 = b.x > a.x ? (int)lround(a.y + (x1 - a.x) * slope) : b.y;
	n = MAX(to - from, abs(y1 - y0));
	for (int i = 0; i <= n; i++) {
		int x = n ? from + (int)lround((double)(to - from) * i / n) : from;
		int y = n ? y0 + (int)lround((double)(y1 - y0) * i / n) : y0;

		if (!dotted || x % (2 * c->per_x) < c->per_x)
			draw_dot(c, x, y, style);
	}
	return (struct spot){ to, y1 };
}

/* ---- passes over a series ---- */

enum pass { PASS_AREA, PASS_BAND, PASS_RAW, PASS_LINE };

/* The points of one column of dots, reduced. */
struct column {
	int x;
	double sum, low, high;
	long n;
};

static bool is_dotted(enum plot_pen pen)
{
	return pen == PLOT_DOTTED || pen == PLOT_EXACT_DOTTED;
}

struct pen {
	const struct canvas *c;
	const struct plot_line *line;
	enum pass pass;
	struct column now;
	struct spot before, seen; /* seen: the last visible dot; x NaN: none */
	int top, bottom;	  /* of the band at before */
	bool down;		  /* before holds the end of the line so far */
};

/*
 * Fill every other dot of a column below y. In true colour the area fades out over AREA_SHARE of
 * the height, else it has one tone and reaches the axis.
 */
static void fill_column_below(const struct canvas *c, int x, int y)
{
	double fade = MAX(c->dots_y * AREA_SHARE, AREA_MIN_DOTS);

	for (int i = y + 1 + ((x + y + 1) & 1); i < c->dots_y; i += 2) {
		int tone = c->g->tones < THEME_TONES ? 0 : (int)((i - y) / fade * THEME_TONES);

		if (tone >= THEME_TONES)
			return;
		draw_dot(c, x, i, (enum style)(STYLE_TONE_0 + tone));
	}
}

static void fill_below_stroke(const struct canvas *c, struct spot a, struct spot b)
{
	double slope = b.x > a.x ? (b.y - a.y) / (b.x - a.x) : 0;
	int from = (int)lround(MAX(a.x, 0.0)), to = (int)lround(MIN(b.x, c->dots_x - 1.0));

	/* the column of a belongs to the stroke before */
	for (int x = b.x > a.x && a.x >= 0 ? from + 1 : from; x <= to; x++)
		fill_column_below(c, x, (int)lround(a.y + (x - a.x) * slope));
}

/* Fill every other dot of the band from the column before, or from this one alone, to this one. */
static void fill_band_column(struct pen *p, int top, int bottom)
{
	const struct canvas *c = p->c;
	struct spot to = { p->now.x, 0 }, from = p->down ? p->before : to;
	int before_top = p->down ? p->top : top, before_bottom = p->down ? p->bottom : bottom;
	int x = (int)lround(MAX(from.x, 0.0)) + (p->down && from.x >= 0);
	int end = (int)lround(MIN(to.x, c->dots_x - 1.0));

	for (; x <= end; x++) {
		double share = to.x > from.x ? (x - from.x) / (to.x - from.x) : 1;
		int i = (int)lround(before_top + share * (top - before_top));
		int last = (int)lround(before_bottom + share * (bottom - before_bottom));

		for (i += (x + i) & 1; i <= last; i += 2)
			draw_dot(c, x, i, raw_style(p->line->style));
	}
	p->before = to;
	p->top = top;
	p->bottom = bottom;
	p->down = true;
}

static void flush_pen_column(struct pen *p)
{
	struct column *now = &p->now;
	const struct canvas *c = p->c;
	struct spot to, end;

	if (!now->n)
		return;
	if (p->pass == PASS_BAND) {
		int top = plot_dot_y(c, now->high), bottom = plot_dot_y(c, now->low);

		assert(top <= bottom); /* rows count from the top */
		if (p->line->has_band)
			fill_band_column(p, top, bottom);
		else if (now->n > 2 && bottom - top > 2)
			for (int i = top; i <= bottom; i++)
				draw_dot(c, now->x, i, STYLE_BAND);
	} else {
		to = (struct spot){ now->x, plot_dot_y(c, now->sum / (double)now->n) };
		end = (struct spot){ .x = NAN };
		if (p->pass == PASS_AREA)
			fill_below_stroke(c, p->down ? p->before : to, to);
		else
			end = draw_stroke(c, p->down ? p->before : to, to,
					  p->pass == PASS_RAW ? raw_style(p->line->style)
							      : p->line->style,
					  p->pass == PASS_LINE && is_dotted(p->line->pen));
		if (isfinite(end.x))
			p->seen = end;
		p->before = to;
		p->down = true;
	}
	now->n = 0;
}

static void add_point(struct pen *p, const struct series_point *q, int x, double value)
{
	struct column *now = &p->now;

	assert(q->n > 0); /* gaps end the line instead */
	if (now->n && x != now->x)
		flush_pen_column(p);
	if (!now->n)
		*now = (struct column){ .x = x, .low = (double)q->low, .high = (double)q->high };
	now->low = MIN(now->low, (double)q->low);
	now->high = MAX(now->high, (double)q->high);
	now->sum += value * q->n;
	now->n += q->n;
}

/*
 * Draw one pass over a series: the area below the line, the band, the raw curve behind a smoothed
 * line, or the line. Returns the pen at the end of the line.
 */
static struct pen draw_pass(const struct canvas *c, const struct plot_line *l, enum pass pass,
			    double smooth)
{
	struct pen p = { .c = c, .line = l, .pass = pass, .seen = { .x = NAN } };
	struct smoother f = { .weight = smooth };
	double edge = (double)MAX_WIDTHS * c->dots_x;

	for (size_t i = 0; i < l->series->n; i++) {
		const struct series_point *q = &l->series->points[i];
		double value = series_smooth(&f, q);
		double x = plot_dot_x(c, q->first + (q->last - q->first) / 2);

		if (isnan(value) || isnan(x) || (c->log_y && !(value > 0))) {
			flush_pen_column(&p);
			p.down = p.down && isnan(x);
			continue;
		}
		if (x > edge)
			x = edge;
		if (x < -edge)
			x = -edge;
		add_point(&p, q, (int)lround(x), value);
		/* The first point beyond the right edge ends the line at the edge. */
		if (x > c->dots_x)
			break;
	}
	flush_pen_column(&p);
	return p;
}

bool plot_pen_has_bullets(enum plot_pen pen)
{
	return pen == PLOT_BULLETS || pen == PLOT_MARKED;
}

static void draw_bullets(const struct canvas *c, const struct plot_line *l, double smooth)
{
	const struct series *s = l->series;
	struct smoother f = { .weight = smooth };
	size_t seen = 0;

	for (size_t i = 0; i < s->n; i++)
		seen += is_point_visible(c, &s->points[i]);
	/* Adjacent bullets would merge into a bar: draw none. */
	if (seen * 3 > (size_t)c->area.cols)
		return;
	for (size_t i = 0; i < s->n; i++) {
		double x = plot_dot_x(c, s->points[i].first);
		double y = series_smooth(&f, &s->points[i]);

		if (s->points[i].n && x >= -0.5 && x <= c->dots_x - 0.5 && (!c->log_y || y > 0))
			grid_put(c->g, c->area.row + plot_dot_y(c, y) / c->per_y,
				 c->area.col + (int)lround(x) / c->per_x, l->style, 0x2022);
	}
}

/* Draw a cross in the lowest row where samples are NaN. */
static void draw_gaps(const struct canvas *c, const struct plot_line *l)
{
	const struct series *s = l->series;
	bool any = false;

	for (size_t i = 0; i < s->n && !any; i++)
		any = s->points[i].n > 0;
	for (size_t i = 0; i < s->n && any; i++) {
		const struct series_point *q = &s->points[i];
		double x = plot_dot_x(c, q->first);

		if (q->n < q->samples && x >= -0.5 && x <= c->dots_x - 0.5)
			grid_put(c->g, c->area.row + c->area.rows - 1,
				 c->area.col + (int)lround(x) / c->per_x, STYLE_BAD, 0x00D7);
	}
}

/* ---- all of it ---- */

uint32_t plot_pen_sign(enum plot_pen pen)
{
	static const uint32_t signs[] = {
		[PLOT_LINE] = 0x2500,	[PLOT_DOTTED] = 0x2504, [PLOT_BULLETS] = 0x2022,
		[PLOT_MARKED] = 0x2022, [PLOT_EXACT] = 0x2500,	[PLOT_EXACT_DOTTED] = 0x2504,
	};

	return signs[pen];
}

double plot_line_smoothing(const struct plot_line *l, double smooth)
{
	size_t samples = 0;

	if (l->has_band || l->pen >= PLOT_MARKED)
		return 0;
	for (size_t i = 0; i < l->series->n && samples < PLOT_MIN_SMOOTHED; i++)
		samples += l->series->points[i].n;
	return samples < PLOT_MIN_SMOOTHED ? 0 : smooth;
}

double plot_line_value(const struct plot_line *l, double smooth, double x)
{
	struct smoother f = { .weight = plot_line_smoothing(l, smooth) };
	const struct series_point *at = isfinite(x) ? series_nearest(l->series, x) : NULL;
	double shown = NAN;

	if (!(f.weight > 0))
		return at ? series_mean(at) : l->series->value;
	for (size_t i = 0; i < l->series->n; i++) {
		double value = series_smooth(&f, &l->series->points[i]);

		if (&l->series->points[i] == at)
			return value;
		shown = isnan(value) ? shown : value;
	}
	return shown;
}

static void put_sign(const struct canvas *c, double x, int y, enum style style, uint32_t sign)
{
	if (x >= -0.5 && x <= c->dots_x - 0.5)
		grid_put(c->g, c->area.row + y / c->per_y, c->area.col + (int)lround(x) / c->per_x,
			 style, sign);
}

/* A star on the best point of a line. */
static void draw_best(const struct canvas *c, const struct plot_line *l)
{
	const struct series_point *best = NULL;

	for (size_t i = 0; i < l->series->n && l->best; i++) {
		const struct series_point *q = &l->series->points[i];

		if (q->n && (!best || series_mean(q) * l->best > series_mean(best) * l->best))
			best = q;
	}
	if (best && (!c->log_y || series_mean(best) > 0))
		put_sign(c, plot_dot_x(c, best->first), plot_dot_y(c, series_mean(best)),
			 STYLE_GOOD, 0x2605);
}

/* Returns the last visible dot of the line; x NaN: none. */
static struct spot draw_plot_line(const struct canvas *c, const struct plot_line *l, double smooth)
{
	double weight = plot_line_smoothing(l, smooth);
	struct pen end = draw_pass(c, l, PASS_LINE, weight);

	if (plot_pen_has_bullets(l->pen))
		draw_bullets(c, l, weight);
	else if (end.down)
		put_sign(c, end.before.x, end.before.y, l->style, 0x25CF);
	draw_best(c, l);
	return end.seen;
}

static void draw_lines(const struct canvas *c, const struct plot *p)
{
	struct plot_name names[PLOT_NAMES];
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct plot_line *l = &p->lines[i];
		struct spot end = draw_plot_line(c, l, p->smooth);

		if (l->name && *l->name && isfinite(end.x) && n < PLOT_NAMES)
			names[n++] = (struct plot_name){ l->name, l->style,
							 c->area.row + end.y / c->per_y,
							 c->area.col + (int)end.x / c->per_x,
							 l->series->value };
	}
	for (size_t i = 0; i < p->n; i++)
		draw_gaps(c, &p->lines[i]);
	plot_names_draw(c, names, n);
}

void plot_draw(struct grid *g, struct rect box, const struct plot *p)
{
	struct canvas c;
	struct range y = { .known = false };
	bool drawn = plot_begin(&c, g, box, p);

	if (drawn)
		y = range_of(&c, p);
	if (!y.known) {
		struct rect r = layout_inside(box);

		if (r.rows >= 2 && r.cols >= 12)
			draw_centred(g, r, STYLE_DIM,
				     p->x_from > 0 ? "no values in this window"
						   : "nothing measured yet");
		return;
	}
	plot_y_axis(&c, y.low, y.high);
	plot_names_reserve(&c, p);
	plot_x_axis(&c, box, p);
	if (p->fill && p->n && g->tones && g->charset == GRID_FULL)
		draw_pass(&c, &p->lines[0], PASS_AREA,
			  plot_line_smoothing(&p->lines[0], p->smooth));
	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].has_band || p->lines[i].pen == PLOT_LINE ||
		    p->lines[i].pen == PLOT_EXACT)
			draw_pass(&c, &p->lines[i], PASS_BAND, 0);
	for (size_t i = 0; i < p->n; i++)
		if (plot_line_smoothing(&p->lines[i], p->smooth) > 0)
			draw_pass(&c, &p->lines[i], PASS_RAW, 0);
	draw_lines(&c, p);
	plot_cursor(&c, p->cursor);
	if (g->pictures)
		plot_draw_picture(&c, p);
}
