/* plot_internal.h - shared by plot.c (lines), plot_axes.c (axes, marks) and plot_stack.c. */
#ifndef WERKBANK_TUI_PLOT_PLOT_INTERNAL_H
#define WERKBANK_TUI_PLOT_PLOT_INTERNAL_H

#include "tui/plot/plot.h"

/* The drawing area: a rectangle of cells and the values at its edges. */
struct canvas {
	struct grid *g;
	struct rect area;
	int dots_x, dots_y; /* dots of the whole area */
	int per_x, per_y;   /* dots of one cell */
	bool log_x, log_y, is_share;
	double x_from, x_end; /* edges; logarithms if the axis is logarithmic */
	double low, high;
	int name_cols; /* columns at the right of the area for the names of lines, 0: none */
};

/* Set up a canvas inside box and its x axis. false: too small, or no value to show. */
bool plot_begin(struct canvas *c, struct grid *g, struct rect box, const struct plot *p);

/*
 * Choose the y axis for low..high, draw its labels at the left, and remove their columns from the
 * area.
 */
void plot_y_axis(struct canvas *c, double low, double high);
/* Draw labels and marks into the lower border; write p->area. */
void plot_x_axis(const struct canvas *c, struct rect box, const struct plot *p);

/* Take columns for the names of lines from the area, if there is room. */
void plot_names_reserve(struct canvas *c, const struct plot *p);

/* A line's name and the cell of its last visible dot. */
#define PLOT_NAMES 16
struct plot_name {
	const char *text;
	enum style style;
	int row, col;
	double value; /* the latest; the order of names whose lines end in one row */
};
/* Draw each name after the end of its line, or in the columns at the right. Sorts names. */
void plot_names_draw(const struct canvas *c, struct plot_name *names, size_t n);

void plot_cursor(const struct canvas *c, double x);

bool plot_pen_has_bullets(enum plot_pen pen);

/* Draw the lines once more, as a picture over the area, if the terminal can show it. */
void plot_draw_picture(const struct canvas *c, const struct plot *p);

/* Position in dots; may lie outside the area. NaN: not representable (log of a value <= 0). */
double plot_dot_x(const struct canvas *c, double x);
int plot_dot_y(const struct canvas *c, double value); /* clamped to the area */

#endif
