/*
 * plot_picture.c - the lines of a plot as a picture over the cells that show them; see plot.h.
 *
 * Axes and labels stay characters. The layers are those of plot.c, back to front: the area, bands, raw
 * curves, lines with their marks, the cursor.
 */
#include "tui/plot/plot_internal.h"

#include <math.h>

#include "share/base/util.h"
#include "tui/term/picture.h"

#define ALPHA_AREA   0.16
#define ALPHA_BAND   0.22
#define ALPHA_RAW    0.45
#define ALPHA_CURSOR 0.7

struct sketch {
	const struct canvas *c;
	const struct plot *plot;
	struct picture *to;
	const int *rgb; /* colours by style */
	double pen;	/* width of a line in pixels */
};

struct pixel_spot {
	double x, y;
};

/* The middle of a dot is the same place in cells and in pixels. */
static struct pixel_spot find_pixel(const struct sketch *s, double x, double value)
{
	const struct canvas *c = s->c;
	double t = ((c->log_y ? log10(value) : value) - c->low) / (c->high - c->low);

	t = t > 0 ? MIN(t, 1.0) : 0;
	return (struct pixel_spot){ (plot_dot_x(c, x) + 0.5) / c->dots_x * s->to->width,
				    ((1 - t) * (c->dots_y - 1) + 0.5) / c->dots_y * s->to->height };
}

static int line_rgb(const struct sketch *s, const struct plot_line *l)
{
	return s->rgb[l->style];
}

static bool can_be_drawn(const struct canvas *c, double value)
{
	return !isnan(value) && (!c->log_y || value > 0);
}

/* Call draw for each pair of neighbours of a smoothed line; a line of one point is a pair of equals. */
typedef void pair_drawer(const struct sketch *s, struct pixel_spot a, struct pixel_spot b,
			 double *walked);
static struct pixel_spot walk_line(const struct sketch *s, const struct plot_line *l, double smooth,
				   pair_drawer *draw)
{
	struct smoother f = { .weight = smooth };
	struct pixel_spot before = { NAN, NAN };
	double walked = 0;

	for (size_t i = 0; i < l->series->n; i++) {
		const struct series_point *q = &l->series->points[i];
		double value = series_smooth(&f, q);
		struct pixel_spot now = find_pixel(s, q->first + (q->last - q->first) / 2, value);

		if (!can_be_drawn(s->c, value) || isnan(now.x)) {
			before.x = NAN;
			continue;
		}
		draw(s, isnan(before.x) ? now : before, now, &walked);
		before = now;
		if (now.x > s->to->width)
			break;
	}
	return before;
}

static void draw_solid_pair(const struct sketch *s, struct pixel_spot a, struct pixel_spot b,
			    double *walked)
{
	(void)walked;
	picture_stroke(s->to, a.x, a.y, b.x, b.y, s->pen);
}

static void draw_thin_pair(const struct sketch *s, struct pixel_spot a, struct pixel_spot b,
			   double *walked)
{
	(void)walked;
	picture_stroke(s->to, a.x, a.y, b.x, b.y, s->pen / 2);
}

/* Dashes of four widths of the pen, with gaps as long. */
static void draw_dashed_pair(const struct sketch *s, struct pixel_spot a, struct pixel_spot b,
			     double *walked)
{
	double length = hypot(b.x - a.x, b.y - a.y), dash = 4 * s->pen;

	/* most of a long line is outside of the window */
	if (!(length > 0) || length > 1e5)
		return;
	for (double at = 0; at < length;) {
		double phase = fmod(*walked + at, 2 * dash);
		double end = MIN(at + (phase < dash ? dash : 2 * dash) - phase + 1e-6, length);

		if (phase < dash)
			picture_stroke(s->to, a.x + at / length * (b.x - a.x),
				       a.y + at / length * (b.y - a.y),
				       a.x + end / length * (b.x - a.x),
				       a.y + end / length * (b.y - a.y), s->pen);
		at = end;
	}
	*walked += length;
}

static void draw_area_pair(const struct sketch *s, struct pixel_spot a, struct pixel_spot b,
			   double *walked)
{
	int end = (int)MIN(ceil(b.x), (double)s->to->width);

	(void)walked;
	for (int x = (int)MAX(floor(a.x), 0.0); x < end; x++) {
		double t = b.x > a.x ? MIN(MAX((x + 0.5 - a.x) / (b.x - a.x), 0.0), 1.0) : 0;

		picture_column(s->to, x, a.y + t * (b.y - a.y), s->to->height);
	}
}

/* The band between the smallest and the largest values of two neighbours. */
static void draw_band_between(const struct sketch *s, const struct series_point *p,
			      const struct series_point *q)
{
	const struct canvas *c = s->c;
	double least = c->log_y ? pow(10, c->low) : -INFINITY;
	struct pixel_spot a = find_pixel(s, p->first, MAX((double)p->low, least));
	struct pixel_spot b = find_pixel(s, q->last, MAX((double)q->low, least));
	double high = find_pixel(s, p->first, (double)p->high).y,
	       end_high = find_pixel(s, q->last, (double)q->high).y;
	int end = (int)MIN(ceil(b.x), (double)s->to->width);

	if (isnan(a.x) || isnan(b.x))
		return;
	for (int x = (int)MAX(floor(a.x), 0.0); x < end; x++) {
		double t = b.x > a.x ? MIN(MAX((x + 0.5 - a.x) / (b.x - a.x), 0.0), 1.0) : 0;

		picture_column(s->to, x, high + t * (end_high - high), a.y + t * (b.y - a.y));
	}
}

static void draw_picture_band(const struct sketch *s, const struct plot_line *l)
{
	for (size_t i = 1; i < l->series->n; i++) {
		const struct series_point *p = &l->series->points[i - 1], *q = p + 1;

		if (p->n && q->n && can_be_drawn(s->c, (double)p->high) &&
		    can_be_drawn(s->c, (double)q->high))
			draw_band_between(s, p, q);
	}
	picture_paint(s->to, line_rgb(s, l), ALPHA_BAND);
}

/* Marks of a line: its points, its end, the best value. */
static void draw_picture_marks(const struct sketch *s, const struct plot_line *l,
			       struct pixel_spot end)
{
	const struct series_point *best = NULL;
	struct smoother f = { .weight = plot_line_smoothing(l, s->plot->smooth) };

	for (size_t i = 0; i < l->series->n; i++) {
		const struct series_point *q = &l->series->points[i];
		double shown = series_smooth(&f, q);
		struct pixel_spot at = find_pixel(s, q->first, shown);

		if (!q->n || !can_be_drawn(s->c, shown) || isnan(at.x))
			continue;
		if (plot_pen_has_bullets(l->pen))
			picture_disc(s->to, at.x, at.y, 1.6 * s->pen);
		if (l->best && (!best || series_mean(q) * l->best > series_mean(best) * l->best))
			best = q;
	}
	if (!plot_pen_has_bullets(l->pen) && !isnan(end.x))
		picture_disc(s->to, end.x, end.y, 1.8 * s->pen);
	picture_paint(s->to, line_rgb(s, l), 1);
	if (best) {
		struct pixel_spot at = find_pixel(s, best->first, series_mean(best));

		picture_disc(s->to, at.x, at.y, 2.6 * s->pen);
		picture_paint(s->to, s->rgb[STYLE_GOOD], 1);
	}
}

static void draw_picture_line(const struct sketch *s, const struct plot_line *l)
{
	bool dotted = l->pen == PLOT_DOTTED || l->pen == PLOT_EXACT_DOTTED;
	struct pixel_spot end = walk_line(s, l, plot_line_smoothing(l, s->plot->smooth),
					  dotted ? draw_dashed_pair : draw_solid_pair);

	picture_paint(s->to, line_rgb(s, l), 1);
	draw_picture_marks(s, l, end);
}

/* A cross at the lower edge where samples are NaN, as in cells. */
static void draw_picture_gaps(const struct sketch *s, const struct plot_line *l)
{
	double size = 2 * s->pen, y = s->to->height - size - 1;
	bool any = false;

	for (size_t i = 0; i < l->series->n; i++) {
		const struct series_point *q = &l->series->points[i];
		double x = find_pixel(s, q->first, 1).x;

		any |= q->n > 0;
		if (q->n == q->samples || isnan(x))
			continue;
		picture_stroke(s->to, x - size, y - size, x + size, y + size, s->pen / 2);
		picture_stroke(s->to, x - size, y + size, x + size, y - size, s->pen / 2);
	}
	picture_paint(s->to, s->rgb[STYLE_BAD], any);
}

void plot_draw_picture(const struct canvas *c, const struct plot *p)
{
	struct sketch s = { .c = c, .plot = p, .to = picture_add(c->g->pictures, c->g, c->area) };
	double x;

	if (!s.to)
		return;
	s.rgb = c->g->pictures->rgb;
	s.pen = MAX(c->g->pictures->cell_height / 10.0, 1.0);
	if (p->fill && p->n) {
		walk_line(&s, &p->lines[0], plot_line_smoothing(&p->lines[0], p->smooth),
			  draw_area_pair);
		picture_paint(s.to, line_rgb(&s, &p->lines[0]), ALPHA_AREA);
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].has_band || p->lines[i].pen == PLOT_LINE ||
		    p->lines[i].pen == PLOT_EXACT)
			draw_picture_band(&s, &p->lines[i]);
	for (size_t i = 0; i < p->n; i++)
		if (plot_line_smoothing(&p->lines[i], p->smooth) > 0) {
			walk_line(&s, &p->lines[i], 0, draw_thin_pair);
			picture_paint(s.to, line_rgb(&s, &p->lines[i]), ALPHA_RAW);
		}
	for (size_t i = 0; i < p->n; i++)
		draw_picture_line(&s, &p->lines[i]);
	for (size_t i = 0; i < p->n; i++)
		draw_picture_gaps(&s, &p->lines[i]);
	x = find_pixel(&s, p->cursor, 1).x;
	if (!isnan(x)) {
		picture_stroke(s.to, x, 0, x, s.to->height, 1);
		picture_paint(s.to, s.rgb[STYLE_FOCUS], ALPHA_CURSOR);
	}
}
