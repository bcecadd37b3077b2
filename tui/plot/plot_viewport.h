/*
 * plot_viewport.h - how the plots of a view are looked at: zoom, cursor, axes, smoothing, the mouse.
 *
 * All plots of a view share one sight, so that a value read in one is read in
 * all. For each plot, in draw():
 *
 *	struct plot p = { .lines = …, .n = …, .from_zero = … };
 *	viewport_apply(&s, i, whole, &p);		i: which plot of the view, whole: end of its axis
 *	plot_draw(g, box, &p);
 *
 * viewport_act() answers the actions of the group "Plots", and left and right.
 */
#ifndef WERKBANK_TUI_PLOT_PLOT_VIEWPORT_H
#define WERKBANK_TUI_PLOT_PLOT_VIEWPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/term/keys.h"
#include "tui/plot/plot.h"
#include "tui/plot/series.h"

#define VIEWPORT_PLOTS 16

struct plot_viewport {
	double cursor;	 /* x that is read; NaN: the latest */
	double from, to; /* the window; NaN: all of it */
	bool log_x, trim;
	unsigned log_y; /* bit i: plot i */
	int smooth;	/* index of viewport_smoothing() */
	/* as drawn last */
	struct plot_area areas[VIEWPORT_PLOTS];
	double whole;
	/* private: where the mouse went down to move the window */
	bool dragging;
	int drag_col;
	struct plot_area drag;
};

/* All of it, linear, smoothed as TensorBoard does at first. */
void viewport_init(struct plot_viewport *s);

/* Fill in window, cursor, axes, smoothing and area of plot i; whole is the end of its x axis. */
void viewport_apply(struct plot_viewport *s, size_t i, double whole, struct plot *p);

/* The weight that is chosen now, 0: none. */
double viewport_smoothing(const struct plot_viewport *s);

/*
 * Do what a key asks for; plot is the one with the keys, line (NULL: none) the series whose samples
 * the cursor goes by. Reactions of view.h; REACT_UNKNOWN for another action.
 */
unsigned viewport_act(struct plot_viewport *s, enum action action, size_t plot,
		      const struct series *line);

/*
 * Wheel: zoom around the pointer; left button: read there; right button or with shift: move the
 * window. REACT_UNKNOWN: not on a plot. *plot: which one.
 */
unsigned viewport_mouse(struct plot_viewport *s, const struct mouse *m, size_t *plot);

/* What a series has there: the mean of the nearest point; its latest value for NaN. */
double viewport_value_at(const struct series *s, double cursor);

/* Before a view draws: no plot is anywhere yet. */
void viewport_clear_areas(struct plot_viewport *s);

#endif
