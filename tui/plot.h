/*
 * plot.h - lines over steps, drawn into a grid.
 *
 * The dots of a cell are braille (2 x 4), half blocks (1 x 2) or ASCII marks
 * (1 x 2), as the grid's charset allows. Points that fall into the same column
 * of dots are shown by their mean and the spread from smallest to largest;
 * a gap in the series is a gap in the line.
 *
 * The x axis stays where it is while a run goes on and is compressed when the
 * run reaches its end (plot_x_end()), never scrolled: then only the cells at
 * the end of the line change, which is what a slow connection can bear.
 */
#ifndef WERKBANK_TUI_PLOT_H
#define WERKBANK_TUI_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/grid.h"
#include "tui/layout.h"
#include "tui/series.h"

enum plot_pen {
	PLOT_LINE,	/* with the spread around it */
	PLOT_DOTTED,	/* every other dot: told apart without colour */
	PLOT_MARKED,	/* a line with a bullet on each point */
};

struct plot_line {
	const struct series *series;	/* borrowed */
	enum plot_pen pen;
	enum style style;
};

struct plot {
	const struct plot_line *lines;
	size_t n;
	double x_end;		/* the axis goes from 0 to here */
	double cursor;		/* a thin upright line there; NaN: none */
	bool   from_zero;	/* the y axis includes 0 */
};

/*
 * Draw into the inside of box (a rectangle drawn by draw_box()); the labels of
 * the x axis go into its lower border. Nothing known yet: an empty frame that says so.
 */
void plot_draw(struct grid *g, struct rect box, const struct plot *p);

/*
 * Where the x axis of a run at this step should end: the least of 1, 1.5, 2, 3,
 * 4, 5, 6, 8 times a power of ten that is not below it, and not beyond total (0: not known).
 */
double plot_x_end(double step, double total);

#endif
