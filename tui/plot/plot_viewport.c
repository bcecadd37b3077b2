/* plot_viewport.c - zoom, cursor and mouse of plots; see plot_viewport.h. */
#include "tui/plot/plot_viewport.h"

#include <assert.h>
#include <math.h>

#include "share/base/util.h"
#include "tui/term/reaction.h"

#define ZOOM_IN	      0.5
#define ZOOM_BY_WHEEL 0.8
#define PAN	      0.25

static const double weights[] = { 0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995 };

#define FIRST_WEIGHT 2 /* index of 0.6, TensorBoard's default */
#define LAST_WEIGHT  ((int)ARRAY_LEN(weights) - 1)

void viewport_init(struct plot_viewport *s)
{
	*s = (struct plot_viewport){
		.cursor = NAN, .from = NAN, .to = NAN, .smooth = FIRST_WEIGHT
	};
}

void viewport_clear_areas(struct plot_viewport *s)
{
	for (size_t i = 0; i < VIEWPORT_PLOTS; i++)
		s->areas[i].cells.rows = 0;
}

double viewport_smoothing(const struct plot_viewport *s)
{
	assert(s->smooth >= 0 && s->smooth <= LAST_WEIGHT);
	return weights[s->smooth];
}

void viewport_apply(struct plot_viewport *s, size_t i, double whole, struct plot *p)
{
	p->x_from = 0;
	p->x_end = whole;
	if (isfinite(s->from) && s->from < whole) {
		p->x_from = s->from;
		p->x_end = MIN(s->to, whole);
	}
	p->cursor = s->cursor;
	p->log_x = s->log_x;
	p->log_y = s->log_y >> i & 1;
	p->trim = s->trim;
	p->smooth = weights[s->smooth];
	p->area = i < VIEWPORT_PLOTS ? &s->areas[i] : NULL;
	s->whole = whole;
}

double viewport_value_at(const struct series *s, double cursor)
{
	const struct series_point *p;

	if (!isfinite(cursor))
		return s->value;
	p = series_nearest(s, cursor);
	return p ? series_mean(p) : NAN;
}

const struct series_point *viewport_point_at(const struct series *s, double cursor)
{
	size_t i = s->n;

	if (isfinite(cursor))
		return series_nearest(s, cursor);
	while (i > 0 && !s->points[i - 1].n)
		i--;
	return i ? &s->points[i - 1] : NULL;
}

/* ---- keys ---- */

/* The area of this plot if it was drawn, else of any drawn plot; NULL: none was drawn. */
static const struct plot_area *any_plot_area(const struct plot_viewport *s, size_t plot)
{
	if (plot < VIEWPORT_PLOTS && s->areas[plot].cells.rows)
		return &s->areas[plot];
	for (size_t i = 0; i < VIEWPORT_PLOTS; i++)
		if (s->areas[i].cells.rows)
			return &s->areas[i];
	return NULL;
}

static void zoom_plot_window(struct plot_viewport *s, const struct plot_area *a, double factor,
			     double x)
{
	if (!a)
		return;
	plot_zoom(a, factor, x, s->whole, &s->from, &s->to);
	if (s->to - s->from >= s->whole * (1 - 1e-9))
		s->from = s->to = NAN;
}

static void pan_plot_window(struct plot_viewport *s, const struct plot_area *a, double share)
{
	if (a && isfinite(s->from))
		plot_pan(a, share, s->whole, &s->from, &s->to);
}

/* Move the window so that it contains the cursor. */
static void keep_cursor_visible(struct plot_viewport *s)
{
	double width = s->to - s->from;

	if (!isfinite(s->cursor) || !isfinite(s->from))
		return;
	assert(width > 0);
	if (s->cursor < s->from || s->cursor > s->to) {
		s->from = MIN(MAX(s->cursor - width / 2, 0), s->whole - width);
		s->to = s->from + width;
	}
}

/* Move the cursor to the next sample that is at least one column away. */
static void step_plot_cursor(struct plot_viewport *s, const struct plot_area *a,
			     const struct series *line, int way)
{
	const struct series_point *p;
	double stride, from;

	if (!a || !line || !line->n)
		return;
	stride = (a->x_end - a->x_from) / MAX(a->cells.cols, 1);
	from = isfinite(s->cursor) ? s->cursor : line->points[line->n - 1].last + stride / 2;
	p = series_nearest(line, from + way * stride);
	if (p->first == s->cursor) { /* samples are farther apart than columns */
		size_t at = (size_t)(p - line->points);

		if (way < 0 && at > 0)
			p--;
		if (way > 0 && at + 1 < line->n)
			p++;
	}
	s->cursor = p->first;
	keep_cursor_visible(s);
}

static double window_center(const struct plot_viewport *s, const struct plot_area *a)
{
	if (isfinite(s->cursor))
		return s->cursor;
	/* By default the end of the run is of interest. */
	return isfinite(s->from) || !a ? (s->from + s->to) / 2 : a->x_end;
}

unsigned viewport_act(struct plot_viewport *s, enum action action, size_t plot,
		      const struct series *line)
{
	const struct plot_area *a = any_plot_area(s, plot);

	switch (action) {
	case ACTION_LEFT:
		step_plot_cursor(s, a, line, -1);
		break;
	case ACTION_RIGHT:
		step_plot_cursor(s, a, line, 1);
		break;
	case ACTION_PLOT_IN:
		zoom_plot_window(s, a, ZOOM_IN, window_center(s, a));
		break;
	case ACTION_PLOT_OUT:
		zoom_plot_window(s, a, 1 / ZOOM_IN, window_center(s, a));
		break;
	case ACTION_PLOT_ALL:
		s->from = s->to = NAN;
		break;
	case ACTION_PLOT_EARLIER:
		pan_plot_window(s, a, -PAN);
		break;
	case ACTION_PLOT_LATER:
		pan_plot_window(s, a, PAN);
		break;
	case ACTION_PLOT_LOG_X:
		s->log_x = !s->log_x;
		break;
	case ACTION_PLOT_LOG_Y:
		s->log_y ^= plot < VIEWPORT_PLOTS ? 1u << plot : 0;
		break;
	case ACTION_PLOT_TRIM:
		s->trim = !s->trim;
		break;
	case ACTION_PLOT_SMOOTHER:
		s->smooth = MIN(s->smooth + 1, LAST_WEIGHT);
		break;
	case ACTION_PLOT_ROUGHER:
		s->smooth = MAX(s->smooth - 1, 0);
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

/* ---- the mouse ---- */

static bool is_mouse_on_plot(const struct plot_area *a, const struct mouse *m)
{
	return m->row >= a->cells.row && m->row < a->cells.row + a->cells.rows &&
	       m->col >= a->cells.col && m->col < a->cells.col + a->cells.cols;
}

static unsigned drag_plot_window(struct plot_viewport *s, const struct mouse *m)
{
	if (m->kind == MOUSE_RELEASE)
		s->dragging = false;
	else if (m->kind == MOUSE_DRAG)
		plot_pan(&s->drag, (double)(s->drag_col - m->col) / MAX(s->drag.cells.cols, 1),
			 s->whole, &s->from, &s->to);
	return REACT_REDRAW;
}

unsigned viewport_mouse(struct plot_viewport *s, const struct mouse *m, size_t *plot)
{
	const struct plot_area *a = NULL;

	if (s->dragging)
		return drag_plot_window(s, m);
	for (size_t i = 0; i < VIEWPORT_PLOTS && !a; i++)
		if (s->areas[i].cells.rows && is_mouse_on_plot(&s->areas[i], m)) {
			a = &s->areas[i];
			*plot = i;
		}
	if (!a)
		return REACT_UNKNOWN;
	if (m->kind == MOUSE_WHEEL_UP || m->kind == MOUSE_WHEEL_DOWN) {
		zoom_plot_window(s, a,
				 m->kind == MOUSE_WHEEL_UP ? ZOOM_BY_WHEEL : 1 / ZOOM_BY_WHEEL,
				 plot_x_at(a, m->col));
	} else if (m->kind == MOUSE_PRESS && (m->button == 3 || m->shift)) {
		if (isfinite(s->from)) {
			s->dragging = true;
			s->drag_col = m->col;
			s->drag = *a;
		}
	} else if (m->button == 1 && m->kind != MOUSE_RELEASE) {
		s->cursor = plot_x_at(a, m->col);
	}
	return REACT_REDRAW;
}
