/*
 * compare_plot.h - the plot of a comparison: a curve for each chosen run, or for all runs that
 * differ in their seed alone.
 *
 * The functions need a comparison that comparison_update() has filled, and the viewport of the view.
 */
#ifndef WERKBANK_TUI_VIEWS_COMPARE_PLOT_H
#define WERKBANK_TUI_VIEWS_COMPARE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/plot/plot_viewport.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/views/run_comparison.h"

/* Style and pen of a curve, distinct without colour. */
struct compare_look {
	enum style style;
	enum plot_pen pen;
	const char *sample; /* the pen in a list */
};

/* The look of chosen run k: runs that are drawn as one have that of the first of them. */
const struct compare_look *compare_look_of(const struct run_comparison *b, size_t k);

/* The weight that the curve of a run is smoothed with, 0: none. */
double compare_smoothing(const struct run_comparison *b, const struct plot_viewport *v,
			 const struct compared_run *r);
bool compare_is_smoothed(const struct run_comparison *b, const struct plot_viewport *v);

void compare_draw_plot(struct grid *g, struct rect box, struct run_comparison *b,
		       struct plot_viewport *v);

/* Write the plot as drawn to an SVG file. */
void compare_export_picture(struct app_context *w, struct run_comparison *b,
			    struct plot_viewport *v);

#endif
