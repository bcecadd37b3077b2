/* plot_internal.h - shared by plot.c (lines), plot_axes.c (axes, marks) and plot_stack.c. */
#ifndef WERKBANK_TUI_PLOT_PLOT_INTERNAL_H
#define WERKBANK_TUI_PLOT_PLOT_INTERNAL_H

#include "tui/plot/plot.h"

/* Where the dots go: a rectangle of cells and the values at its edges. */
struct canvas {
	struct grid *g;
	struct rect area;
	int dots_x, dots_y; /* of the whole area */
	int per_x, per_y;   /* of one cell */
	bool log_x, log_y;
	double x_from, x_end; /* logarithms where the axis has them */
	double low, high;
};

/* A canvas in the inside of box, its x axis set; false: too small, or nothing to show. */
bool plot_begin(struct canvas *c, struct grid *g, struct rect box, const struct plot *p);

/* Choose the y axis around low..high, draw its labels left, take their columns off the area. */
void plot_y_axis(struct canvas *c, double low, double high);
/* Labels and marks in the border below; what c->area is, for the mouse. */
void plot_x_axis(const struct canvas *c, struct rect box, const struct plot *p);
void plot_cursor(const struct canvas *c, double x);

/* Positions in dots; beyond the area for what is beyond. NaN: cannot be shown. */
double plot_dot_x(const struct canvas *c, double x);
int plot_dot_y(const struct canvas *c, double value); /* clamped to the area */

#endif
