/* plot_axes.c - the axes of a plot, their labels and event marks; see plot.h. */
#include "tui/plot/plot_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/term/draw.h"

#define MAX_TICKS	 8
#define MARK_ASIDE	 6    /* columns that a mark moves at most, to keep off a label */
#define MIN_WINDOW_SHARE 1e-6 /* least width of a zoomed window, as a share of the whole axis */

struct axis {
	double low, high;
	double at[MAX_TICKS + 1], step[MAX_TICKS + 1];
	int n;
};

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

/* ---- from values to dots ---- */

double plot_dot_x(const struct canvas *c, double x)
{
	if (c->log_x)
		x = x > 0 ? log10(x) : NAN;
	return (x - c->x_from) / (c->x_end - c->x_from) * (c->dots_x - 1);
}

int plot_dot_y(const struct canvas *c, double value)
{
	double t = ((c->log_y ? log10(value) : value) - c->low) / (c->high - c->low);

	/* The comparison sends NaN (the logarithm of a negative value) to the lowest row. */
	return (int)lround((1 - (t > 0 ? MIN(t, 1.0) : 0.0)) * (c->dots_y - 1));
}

double plot_x_at(const struct plot_area *a, int col)
{
	double t = (col - a->cells.col + 0.5) / MAX(a->cells.cols, 1);

	t = MIN(MAX(t, 0.0), 1.0);
	if (a->log_x)
		return a->x_from * pow(a->x_end / a->x_from, t);
	return a->x_from + t * (a->x_end - a->x_from);
}

/* ---- zoom ---- */

/* A window of the given width that lies within 0..whole. */
static void fit_window(double low, double width, double whole, double *from, double *to)
{
	width = MIN(MAX(width, whole * MIN_WINDOW_SHARE), whole);
	low = MIN(MAX(low, 0), whole - width);
	*from = low;
	*to = low + width;
}

void plot_zoom(const struct plot_area *a, double factor, double x, double whole, double *from,
	       double *to)
{
	double width = (a->x_end - a->x_from) * factor;

	fit_window(x - (x - a->x_from) * factor, width, whole, from, to);
}

void plot_pan(const struct plot_area *a, double share, double whole, double *from, double *to)
{
	double width = a->x_end - a->x_from;

	fit_window(a->x_from + share * width, width, whole, from, to);
}

/* ---- ticks ---- */

/*
 * Ticks at round values around low..high, at most `most` intervals. Prefer the axis that exceeds
 * low..high least, and more than two ticks if there is room.
 */
static struct axis linear_axis(double low, double high, int most)
{
	struct axis best = { .n = 0 };
	double widest = INFINITY;

	for (int parts = 1; parts <= MAX(most, 1); parts++) {
		double step = round_tick_step(high - low, parts);
		double from = floor(low / step + 1e-9) * step, to = ceil(high / step - 1e-9) * step;
		int n = (int)lround((to - from) / step) + 1;

		if (n < 2 || n > MAX_TICKS || (n - 1 > MAX(most, 1) && best.n) ||
		    !(to - from < widest * (best.n == 2 ? 1.001 : 0.95)))
			continue;
		widest = to - from;
		best = (struct axis){ .low = from, .high = to, .n = n };
		assert(n <= MAX_TICKS);
		for (int i = 0; i < n; i++) {
			best.at[i] = from + i * step;
			best.step[i] = step;
		}
	}
	return best;
}

/*
 * Ticks of a logarithmic axis (low and high are logarithms): powers of ten, and the densest of the
 * multiples in sets[] that fits. Of too many powers, only every n-th is used. Returns the number of
 * ticks.
 */
static int log_ticks(struct axis *a, double low, double high, int most)
{
	static const struct {
		int n;
		double m[9];
	} sets[] = {
		{ 1, { 1 } },
		{ 2, { 1, 3 } },
		{ 3, { 1, 2, 5 } },
		{ 9, { 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
	};
	int first = (int)floor(low + 1e-9), last = (int)ceil(high - 1e-9), every = 1;

	a->n = 0;
	most = MIN(most, MAX_TICKS - 1);
	while ((last - first) / every > most)
		every++;
	for (size_t s = 0; s < ARRAY_LEN(sets); s++) {
		double at[2 * (MAX_TICKS + 1)];
		int n = 0;

		for (int p = first; p <= last && n <= MAX_TICKS; p += every)
			for (int k = 0; k < sets[s].n && n <= MAX_TICKS; k++) {
				double v = log10(sets[s].m[k]) + p;

				if (v >= low - 1e-9 && v <= high + 1e-9)
					at[n++] = v;
			}
		assert(n <= MAX_TICKS + 1);
		if ((n > most + 1 && a->n) || n <= a->n || n > MAX_TICKS)
			continue;
		for (int i = 0; i < n; i++)
			a->at[i] = at[i];
		a->n = n;
		if (every > 1)
			break;
	}
	return a->n;
}

static struct axis log_axis(double low, double high, int most)
{
	struct axis a = { .low = log10(low), .high = log10(high) }, linear;

	if (a.high - a.low < 1e-3) {
		a.low -= 0.05;
		a.high += 0.05;
	}
	if (log_ticks(&a, a.low, a.high, MAX(most, 1)) >= 2) {
		for (int i = 0; i < a.n; i++)
			a.step[i] = pow(10, floor(a.at[i] + 1e-9));
		return a;
	}
	/* Less than a decade: ticks at round values, at uneven distances. */
	linear = linear_axis(pow(10, a.low), pow(10, a.high), most);
	a.n = 0;
	for (int i = 0; i < linear.n; i++)
		if (linear.at[i] > 0 && log10(linear.at[i]) >= a.low - 1e-9 &&
		    log10(linear.at[i]) <= a.high + 1e-9) {
			a.at[a.n] = log10(linear.at[i]);
			a.step[a.n++] = linear.step[i];
		}
	return a;
}

/*
 * The precision of labels follows the largest value on a linear axis, each tick's own value on a
 * logarithmic one.
 */
static const char *tick_label_text(char out[NUMBER_TEXT_BYTES + 2], const struct axis *a, int i,
				   bool log, bool is_share)
{
	double value = log ? pow(10, a->at[i]) : a->at[i], unit = is_share ? 100 : 1;
	double most = log ? value : MAX(fabs(a->low), fabs(a->high));

	format_tick(out, value * unit, a->step[i] * unit, most * unit);
	if (is_share)
		memcpy(out + strlen(out), " %", 3);
	return out;
}

void plot_y_axis(struct canvas *c, double low, double high)
{
	struct rect *r = &c->area;
	int most = MIN(r->rows <= 4 ? r->rows - 1 : (r->rows - 1) / 2, MAX_TICKS - 1), width = 0;
	char text[NUMBER_TEXT_BYTES + 2];
	struct axis a;

	assert(isfinite(low) && isfinite(high));
	if (!(high > low)) {
		/* A constant lies in the middle of the axis, a constant 0 at its lower edge. */
		low -= fabs(low) * 0.1;
		high += high != 0 ? fabs(high) * 0.1 : 1;
	}
	c->log_y = c->log_y && low > 0;
	a = c->log_y ? log_axis(low, high, most) : linear_axis(low, high, most);
	c->low = a.low;
	c->high = a.high;
	for (int i = 0; i < a.n; i++)
		width = MAX(width,
			    (int)strlen(tick_label_text(text, &a, i, c->log_y, c->is_share)));
	if (width + 12 > r->cols)
		return;
	for (int row = 0; row < r->rows; row++)
		grid_put(c->g, r->row + row, r->col + width + 1, STYLE_BORDER, 0x2502);
	for (int i = 0, before = -1; i < a.n; i++) {
		double t = (a.at[i] - a.low) / (a.high - a.low);
		int row = r->row + (int)lround((1 - t) * (r->rows - 1));

		if (row == before)
			continue;
		before = row;
		draw_text_right(c->g, row, r->col + width, width, STYLE_DIM,
				tick_label_text(text, &a, i, c->log_y, c->is_share));
		grid_put(c->g, row, r->col + width + 1, STYLE_BORDER, 0x2524);
	}
	r->col += width + 2;
	r->cols -= width + 2;
	c->dots_x = r->cols * c->per_x;
}

/* ---- the x axis ---- */

/*
 * Draw a label into the lower border with a blank on both sides, unless it overlaps the previous
 * label, which ends at *free_from.
 */
static void put_label(const struct canvas *c, struct rect box, const char *text, double x,
		      int *free_from)
{
	int row = box.row + box.rows - 1, width = (int)strlen(text), at;
	int left = box.col, right = box.col + box.cols - 2;
	double dot = plot_dot_x(c, x);

	if (!(dot >= -0.5 && dot <= c->dots_x))
		return;
	at = c->area.col + (int)lround(dot) / c->per_x - width / 2;
	at = MIN(MAX(at, left + 1), right - width);
	if (at - 1 < *free_from)
		return;
	grid_put(c->g, row, at - 1, STYLE_BORDER, ' ');
	grid_text(c->g, row, at, width, STYLE_DIM, text);
	grid_put(c->g, row, at + width, STYLE_BORDER, ' ');
	*free_from = at + width + 1;
}

static void put_labels(const struct canvas *c, struct rect box)
{
	int most = MAX(c->area.cols / 10, 1), free_from = box.col;
	char text[NUMBER_TEXT_BYTES];

	if (c->log_x) {
		struct axis a = { .n = 0 };

		log_ticks(&a, c->x_from, c->x_end, most);
		for (int i = 0; i < a.n; i++) {
			double x = pow(10, a.at[i]);

			format_tick(text, x, pow(10, floor(a.at[i] + 1e-9)), x);
			put_label(c, box, text, x, &free_from);
		}
		return;
	}
	for (double step = round_tick_step(c->x_end - c->x_from, most),
		    x = ceil(c->x_from / step - 1e-9) * step;
	     x <= c->x_end + 1e-9 * step; x += step) {
		double range = c->x_end - c->x_from;

		/* A narrow window far from 0: the labels need the digits that differ. */
		format_tick(text, x, step, step < 1e-3 * c->x_end ? range : c->x_end);
		put_label(c, box, text, x, &free_from);
		if (!(x + step > x))
			return;
	}
}

/* Draw an event mark at the nearest free column, not over another mark or a label. */
static void put_mark(const struct canvas *c, int row, int col, const struct plot_mark *m)
{
	int left = c->area.col, right = c->area.col + c->area.cols - 1;

	/* i = 0, 1, 2, …: 0, 1, -1, 2, -2, … columns aside */
	for (int i = 0; i <= 2 * MARK_ASIDE; i++) {
		int at = col + (i % 2 ? (i + 1) / 2 : -i / 2);
		const struct cell *cell = grid_at(c->g, row, at);

		if (!cell || at < left || at > right)
			continue;
		if (cell->ch == '-' || cell->ch == 0x2500) {
			grid_put(c->g, row, at, m->style, m->sign);
			return;
		}
	}
}

void plot_x_axis(const struct canvas *c, struct rect box, const struct plot *p)
{
	put_labels(c, box);
	for (size_t i = p->n_marks; i-- > 0;) {
		double x = plot_dot_x(c, p->marks[i].x);

		if (x >= -0.5 && x <= c->dots_x)
			put_mark(c, box.row + box.rows - 1, c->area.col + (int)lround(x) / c->per_x,
				 &p->marks[i]);
	}
	if (p->area)
		*p->area = (struct plot_area){
			.cells = c->area,
			.x_from = c->log_x ? pow(10, c->x_from) : c->x_from,
			.x_end = c->log_x ? pow(10, c->x_end) : c->x_end,
			.log_x = c->log_x,
		};
}

void plot_cursor(const struct canvas *c, double x)
{
	double at = plot_dot_x(c, x);
	int col;

	if (!(at >= -0.5 && at <= c->dots_x - 0.5))
		return;
	col = c->area.col + (int)lround(at) / c->per_x;
	for (int row = c->area.row; row < c->area.row + c->area.rows; row++)
		if (grid_at(c->g, row, col) && (grid_at(c->g, row, col)->ch == ' ' ||
						grid_at(c->g, row, col)->style >= STYLE_TONE_0))
			grid_put(c->g, row, col, STYLE_FOCUS, 0x2502);
}

/* The smallest x above 0 of all lines. */
static double first_positive(const struct plot *p)
{
	double first = INFINITY;

	for (size_t i = 0; i < p->n; i++) {
		const struct series *s = p->lines[i].series;

		for (size_t k = 0; k < s->n; k++)
			if (s->points[k].first > 0) {
				first = MIN(first, s->points[k].first);
				break;
			}
	}
	return isfinite(first) ? first : 1;
}

bool plot_begin(struct canvas *c, struct grid *g, struct rect box, const struct plot *p)
{
	struct rect r = layout_inside(box);

	*c = (struct canvas){ .g = g,
			      .area = r,
			      .log_y = p->log_y,
			      .is_share = p->is_share,
			      .x_from = p->x_from,
			      .x_end = p->x_end,
			      .per_x = g->charset == GRID_FULL ? 2 : 1,
			      .per_y = g->charset == GRID_FULL ? 4 : 2 };
	if (p->area)
		*p->area = (struct plot_area){ .cells = { r.row, r.col, 0, 0 } };
	if (r.rows < 2 || r.cols < 12)
		return false;
	c->dots_x = r.cols * c->per_x;
	c->dots_y = r.rows * c->per_y;
	if (!isfinite(c->x_from) || !isfinite(c->x_end) || !(c->x_end > c->x_from))
		return false;
	if (p->log_x) {
		double from = MAX(p->x_from, first_positive(p));

		if (!(p->x_end > from * 1.001))
			return true; /* too narrow for a logarithmic axis: stay linear */
		c->log_x = true;
		c->x_from = log10(from);
		c->x_end = log10(p->x_end);
	}
	return true;
}
