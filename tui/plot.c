/* plot.c - see plot.h */
#include "tui/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/figures.h"

#define MAX_TICKS 8

/* Where the dots go: a rectangle of cells and the values at its edges. */
struct canvas {
	struct grid *g;
	struct rect area;
	int    dots_x, dots_y;	/* of the whole area */
	int    per_x, per_y;	/* of one cell */
	double x_end, low, high;
};

struct axis {
	double low, high, step;
	int    n;		/* ticks: low + i * step */
};

/* Bits of a cell's dots by [column][row], as braille numbers them. */
static const unsigned braille[2][4] = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } };

double plot_x_end(double step, double total)
{
	static const double nice[] = { 1, 1.5, 2, 3, 4, 5, 6, 8, 10 };
	double power, end = 10;

	if (!isfinite(step) || step < 10)
		step = 10;
	power = pow(10, floor(log10(step)));
	for (size_t i = 0; i < ARRAY_LEN(nice); i++)
		if (nice[i] * power >= step * (1 - 1e-12)) {
			end = nice[i] * power;
			break;
		}
	return total >= step && total < end ? total : end;
}

/* ---- axes ---- */

/*
 * Ticks at round values around low..high, so many that each has a row of its own and little room is
 * wasted.
 */
static struct axis choose_axis(double low, double high, int rows)
{
	struct axis best = { .n = 0 };
	int most = MIN(rows <= 4 ? rows - 1 : (rows - 1) / 2, MAX_TICKS - 1);

	if (!(high > low)) {
		double around = low != 0 ? fabs(low) * 0.1 : 1;

		low -= around;
		high += around;
	}
	for (int parts = 1; parts <= MAX(most, 1); parts++) {
		struct axis a = { .step = figure_step(high - low, parts) };

		a.low = floor(low / a.step + 1e-9) * a.step;
		a.high = ceil(high / a.step - 1e-9) * a.step;
		a.n = (int)lround((a.high - a.low) / a.step) + 1;
		if (a.n < 2 || (a.n - 1 > MAX(most, 1) && best.n))
			continue;
		if (!best.n || (a.high - a.low) < (best.high - best.low) * 0.95)
			best = a;
	}
	return best;
}

static bool range_of(const struct plot *p, double *low, double *high)
{
	bool known = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct series *s = p->lines[i].series;

		for (size_t k = 0; k < s->n; k++) {
			if (!s->points[k].n)
				continue;
			*low = known ? MIN(*low, (double)s->points[k].low)
				     : (double)s->points[k].low;
			*high = known ? MAX(*high, (double)s->points[k].high)
				      : (double)s->points[k].high;
			known = true;
		}
	}
	if (known && p->from_zero) {
		*low = MIN(*low, 0);
		*high = MAX(*high, 0);
	}
	return known;
}

static int row_of(const struct canvas *c, double value)
{
	double t = (value - c->low) / (c->high - c->low);

	return (int)lround((1 - MIN(MAX(t, 0.0), 1.0)) * (c->dots_y - 1));
}

static int column_of(const struct canvas *c, double x)
{
	double t = x / c->x_end;

	return (int)lround(MIN(MAX(t, 0.0), 1.0) * (c->dots_x - 1));
}

/* Labels and the line left of the plot; returns the columns they take. */
static int draw_y_axis(struct grid *g, struct rect r, const struct axis *a)
{
	char text[FIGURE_BYTES];
	int width = 0;

	for (int i = 0; i < a->n; i++)
		width = MAX(width, (int)strlen(figure_tick(text, a->low + i * a->step, a->step,
							   MAX(fabs(a->low), fabs(a->high)))));
	if (width + 12 > r.cols)
		return 0;
	for (int row = 0; row < r.rows; row++)
		grid_put(g, r.row + row, r.col + width + 1, STYLE_BORDER, 0x2502);
	for (int i = 0; i < a->n; i++) {
		int row = r.row + (int)lround((1 - (double)i / (a->n - 1)) * (r.rows - 1));

		figure_tick(text, a->low + i * a->step, a->step, MAX(fabs(a->low), fabs(a->high)));
		draw_text_right(g, row, r.col + width - 1 + 1, width, STYLE_DIM, text);
		grid_put(g, row, r.col + width + 1, STYLE_BORDER, 0x2524);
	}
	return width + 2;
}

/* Labels in the border below the plot, each with a blank on both sides. */
static void draw_x_axis(const struct canvas *c, int row, int left, int right)
{
	struct grid *g = c->g;
	double step = figure_step(c->x_end, MAX(c->area.cols / 10, 1));
	char text[FIGURE_BYTES];
	int free_from = left;

	for (int i = 0; i * step <= c->x_end * (1 + 1e-9) && i < 64; i++) {
		int width, at;

		figure_tick(text, i * step, step, c->x_end);
		width = (int)strlen(text);
		at = c->area.col + column_of(c, i * step) / c->per_x - width / 2;
		at = MIN(MAX(at, left + 1), right - width);
		if (at - 1 < free_from)
			continue;
		grid_put(g, row, at - 1, STYLE_BORDER, ' ');
		grid_text(g, row, at, width, STYLE_DIM, text);
		grid_put(g, row, at + width, STYLE_BORDER, ' ');
		free_from = at + width + 1;
	}
}

/* ---- dots ---- */

/* The dots a cell shows already; 0 when it holds something else. */
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

	return c->per_x == 2 ? 0x2800 + dots : halves[dots & 3];
}

static void dot(const struct canvas *c, int x, int y, enum style style)
{
	int row = c->area.row + y / c->per_y, col = c->area.col + x / c->per_x;
	const struct cell *cell = grid_at(c->g, row, col);
	unsigned bit = c->per_x == 2 ? braille[x % 2][y % 4] : 1u << y % 2, dots;

	if (!cell || x < 0 || y < 0 || x >= c->dots_x || y >= c->dots_y)
		return;
	dots = cell_dots(c, cell->ch);
	/* The spread never hides the colour of a line. */
	if (style == STYLE_BAND && dots)
		style = cell->style;
	grid_put(c->g, row, col, style, dots_cell(c, dots | bit));
}

/* A straight line of dots; every "every"th column only. */
static void stroke(const struct canvas *c, int x0, int y0, int x1, int y1,
		   const struct plot_line *l)
{
	int n = MAX(abs(x1 - x0), abs(y1 - y0));

	for (int i = 0; i <= n; i++) {
		int x = n ? x0 + (int)lround((double)(x1 - x0) * i / n) : x0;
		int y = n ? y0 + (int)lround((double)(y1 - y0) * i / n) : y0;

		if (l->pen != PLOT_DOTTED || (x % (2 * c->per_x) < c->per_x))
			dot(c, x, y, l->style);
	}
}

/* What falls into one column of dots. */
struct column { int x; double sum, low, high; long n; };

static void flush(const struct canvas *c, const struct plot_line *l, const struct column *now,
		  int *px, int *py, bool band)
{
	int y = row_of(c, now->sum / now->n);

	if (band) {
		int top = row_of(c, now->high), bottom = row_of(c, now->low);

		if (now->n > 2 && bottom - top > 2)
			for (int i = top; i <= bottom; i++)
				dot(c, now->x, i, STYLE_BAND);
		return;
	}
	if (*px >= 0)
		stroke(c, *px, *py, now->x, y, l);
	else
		stroke(c, now->x, y, now->x, y, l);
	*px = now->x;
	*py = y;
}

/* One pass over a series: either the spread, or the line through the means. */
static void draw_pass(const struct canvas *c, const struct plot_line *l, bool band)
{
	struct column now = { .n = 0 };
	int px = -1, py = 0;

	for (size_t i = 0; i < l->series->n; i++) {
		const struct series_point *p = &l->series->points[i];
		int x = column_of(c, p->first + (p->last - p->first) / 2);

		if (now.n && (x != now.x || !p->n)) {
			flush(c, l, &now, &px, &py, band);
			now.n = 0;
		}
		if (!p->n) {
			px = -1;
			continue;
		}
		if (!now.n)
			now = (struct column){ .x = x, .low = p->low, .high = p->high };
		now.low = MIN(now.low, (double)p->low);
		now.high = MAX(now.high, (double)p->high);
		now.sum += p->sum;
		now.n += p->n;
	}
	if (now.n)
		flush(c, l, &now, &px, &py, band);
}

static void draw_marks(const struct canvas *c, const struct plot_line *l)
{
	const struct series *s = l->series;

	/* Bullets side by side would only be a fat line. */
	if (s->n * 3 > (size_t)c->area.cols)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->points[i].n)
			grid_put(c->g,
				 c->area.row + row_of(c, series_mean(&s->points[i])) / c->per_y,
				 c->area.col + column_of(c, s->points[i].first) / c->per_x,
				 l->style, 0x2022);
}

static void draw_cursor(const struct canvas *c, double x)
{
	int col;

	if (!isfinite(x))
		return;
	col = c->area.col + column_of(c, x) / c->per_x;
	for (int row = c->area.row; row < c->area.row + c->area.rows; row++)
		if (grid_at(c->g, row, col) && grid_at(c->g, row, col)->ch == ' ')
			grid_put(c->g, row, col, STYLE_FOCUS, 0x2502);
}

void plot_draw(struct grid *g, struct rect box, const struct plot *p)
{
	struct rect r = layout_inside(box);
	struct canvas c = { .g = g, .x_end = p->x_end, .per_x = g->charset == GRID_FULL ? 2 : 1,
			    .per_y = g->charset == GRID_FULL ? 4 : 2 };
	struct axis y;
	double low = 0, high = 0;
	int gutter;

	if (r.rows < 2 || r.cols < 12)
		return;
	if (!range_of(p, &low, &high) || !(p->x_end > 0)) {
		draw_message(g, r, STYLE_DIM, (const char *const[]){ "nothing measured yet" }, 1);
		return;
	}
	y = choose_axis(low, high, r.rows);
	gutter = draw_y_axis(g, r, &y);
	c.area = (struct rect){ r.row, r.col + gutter, r.rows, r.cols - gutter };
	c.dots_x = c.area.cols * c.per_x;
	c.dots_y = c.area.rows * c.per_y;
	c.low = y.low;
	c.high = y.high;
	draw_x_axis(&c, box.row + box.rows - 1, box.col, box.col + box.cols - 2);
	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].pen == PLOT_LINE)
			draw_pass(&c, &p->lines[i], true);
	for (size_t i = 0; i < p->n; i++)
		draw_pass(&c, &p->lines[i], false);
	/* A single point would be a single dot, which nobody sees. */
	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].pen == PLOT_MARKED || p->lines[i].series->n == 1)
			draw_marks(&c, &p->lines[i]);
	draw_cursor(&c, p->cursor);
}
