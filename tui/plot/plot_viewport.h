/*
 * plot_viewport.h - the viewport of a view's plots: zoom, cursor, axes, smoothing, mouse.
 *
 * All plots of a view share one viewport, so that the cursor reads all of them at the same
 * step. For each plot, in draw():
 *
 *	struct plot p = { .lines = …, .n = …, .from_zero = … };
 *	viewport_apply(&s, i, whole, &p);	i: index of the plot, whole: end of its x axis
 *	plot_draw(g, box, &p);
 *
 * viewport_act() handles the actions of the group "Plots", and left and right.
 */
#ifndef WERKBANK_TUI_PLOT_PLOT_VIEWPORT_H
#define WERKBANK_TUI_PLOT_PLOT_VIEWPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/plot/plot.h"
#include "tui/plot/series.h"
#include "tui/term/keys.h"

#define VIEWPORT_PLOTS 16

struct plot_viewport {
	double cursor;	 /* x of the cursor; NaN: the latest value */
	double from, to; /* the visible x range; NaN: the whole axis */
	bool log_x, trim;
	unsigned log_y; /* bit i: logarithmic y axis of plot i */
	int smooth;	/* index into the smoothing weights */
	/* as drawn last */
	struct plot_area areas[VIEWPORT_PLOTS];
	double whole;
	/* private: where a drag of the window began */
	bool dragging;
	int drag_col;
	struct plot_area drag;
};

/* The whole axis, linear, with TensorBoard's default smoothing of long lines. */
void viewport_init(struct plot_viewport *s);

/*
 * The members that keys change, but for the cursor: X(type, member) for each. A view adds them to
 * what can be undone.
 */
#define VIEWPORT_TOGGLES(X, type, viewport)                                                        \
	X(type, viewport.from), X(type, viewport.to), X(type, viewport.log_x),                     \
		X(type, viewport.trim), X(type, viewport.log_y), X(type, viewport.smooth)

/* Set window, cursor, axes, smoothing and area of plot i; whole is the end of its x axis. */
void viewport_apply(struct plot_viewport *s, size_t i, double whole, struct plot *p);

/* The chosen smoothing weight, 0: none. */
double viewport_smoothing(const struct plot_viewport *s);

/*
 * Handle an action; plot has the focus, the cursor moves along the samples of line (NULL: no
 * samples). Returns reaction bits (reaction.h); REACT_UNKNOWN for other actions.
 */
unsigned viewport_act(struct plot_viewport *s, enum action action, size_t plot,
		      const struct series *line);

/*
 * Wheel: zoom around the pointer; left button: set the cursor; right button, or shift: move the
 * window. REACT_UNKNOWN: not on a plot. *plot is the index of the plot.
 */
unsigned viewport_mouse(struct plot_viewport *s, const struct mouse *m, size_t *plot);

/* The mean of the point nearest to the cursor; the latest value if cursor is NaN. */
double viewport_value_at(const struct series *s, double cursor);

/*
 * The point nearest to the cursor; the last one with a value if cursor is NaN. NULL: none.
 * Borrowed until the next change.
 */
const struct series_point *viewport_point_at(const struct series *s, double cursor);

/* Before a view draws: mark all plots as not drawn. */
void viewport_clear_areas(struct plot_viewport *s);

#endif
