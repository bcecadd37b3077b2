/* plot_stack.c - shares of a whole over steps, stacked; see plot.h. */
#include "tui/plot/plot_internal.h"

#include <assert.h>
#include <math.h>

#include "share/base/util.h"
#include "tui/term/draw.h"

uint32_t plot_fill(const struct grid *g, size_t part)
{
	static const uint32_t shades[PLOT_PARTS] = { 0x2588, 0x2593, 0x2592, 0x2591, 0x2022, 'x' };
	static const char ascii[PLOT_PARTS] = { '#', '+', 'w', '~', '.', 'x' };

	part = MIN(part, (size_t)PLOT_PARTS - 1);
	return g->charset == GRID_ASCII ? (uint32_t)ascii[part] : shades[part];
}

#define LEAST_TOP  0.1 /* of the y axis: small shares look small */
#define STACK_COLS 512 /* widest plot, in cells */

/* The sums of one column of cells: of the whole, and of each part. */
struct slice {
	double whole, parts[PLOT_PARTS];
};

/* Sum the points from *at on whose middle lies left of `dot`, and advance *at. */
static double sum_until(const struct canvas *c, const struct series *s, size_t *at, double dot)
{
	double sum = 0;

	for (; *at < s->n; (*at)++) {
		const struct series_point *q = &s->points[*at];

		if (plot_dot_x(c, q->first + (q->last - q->first) / 2) >= dot)
			break;
		if (q->n)
			sum += q->sum;
	}
	return sum;
}

static void draw_slice(const struct canvas *c, const struct plot_stack *p, const struct slice *s,
		       int col)
{
	assert(s->whole > 0);
	for (int row = 0; row < c->area.rows; row++) {
		double height = (c->area.rows - row - 0.5) / c->area.rows * c->high, below = 0;

		for (size_t i = 0; i < p->n; i++) {
			below += s->parts[i] / s->whole;
			if (height > below)
				continue;
			grid_put(c->g, c->area.row + row, c->area.col + col, p->parts[i].style,
				 plot_fill(c->g, i + p->first_fill));
			break;
		}
	}
}

/* The share of all parts in a slice, as drawn: negative parts count as 0. */
static double slice_share(const struct plot_stack *p, const struct slice *s)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		sum += MAX(s->parts[i], 0.0);
	return s->whole > 0 ? MIN(sum / s->whole, 1.0) : 0;
}

/* Sum the points of each column of cells; returns the largest share of all parts in a column. */
static double sum_slices(const struct canvas *c, const struct plot_stack *p, struct slice *slices)
{
	size_t at[PLOT_PARTS + 1] = { 0 };
	double most = 0;

	/* Skip the points left of the area. */
	sum_until(c, p->whole, &at[PLOT_PARTS], -0.5);
	for (size_t i = 0; i < p->n; i++)
		sum_until(c, p->parts[i].series, &at[i], -0.5);
	for (int col = 0; col < c->area.cols; col++) {
		double end = (col + 1) * c->per_x - 0.5;
		struct slice *s = &slices[col];

		*s = (struct slice){ .whole = sum_until(c, p->whole, &at[PLOT_PARTS], end) };
		for (size_t i = 0; i < p->n; i++)
			s->parts[i] = sum_until(c, p->parts[i].series, &at[i], end);
		most = MAX(most, slice_share(p, s));
	}
	return most;
}

static void draw_slices(const struct canvas *c, const struct plot_stack *p,
			const struct slice *slices)
{
	const struct slice *before = NULL;
	int held = 0;

	for (int col = 0; col < c->area.cols; col++) {
		/* Columns without a point repeat the previous column. */
		if (!(slices[col].whole > 0)) {
			held++;
			continue;
		}
		for (int k = 1; k <= held && before; k++)
			draw_slice(c, p, before, col - k);
		held = 0;
		before = &slices[col];
		draw_slice(c, p, before, col);
	}
}

void plot_stack_draw(struct grid *g, struct rect box, const struct plot_stack *p)
{
	struct slice slices[STACK_COLS];
	struct plot_stack q = *p;
	struct canvas c;
	double most;

	assert(p->whole && p->n <= PLOT_PARTS);
	q.n = MIN(q.n, (size_t)PLOT_PARTS);
	if (!plot_begin(&c, g, box, &p->axes) || !p->whole->n) {
		struct rect r = layout_inside(box);

		if (r.rows >= 2 && r.cols >= 12)
			draw_centred(g, r, STYLE_DIM, "nothing measured yet");
		return;
	}
	c.log_y = false;
	c.is_share = true;
	c.area.cols = MIN(c.area.cols, STACK_COLS);
	c.dots_x = c.area.cols * c.per_x;
	/* the labels of the y axis take columns, so the sums are made twice */
	most = sum_slices(&c, &q, slices);
	plot_y_axis(&c, 0, MAX(most, LEAST_TOP));
	plot_x_axis(&c, box, &p->axes);
	sum_slices(&c, &q, slices);
	draw_slices(&c, &q, slices);
	plot_cursor(&c, p->axes.cursor);
}
