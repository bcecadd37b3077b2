/*
 * plot.h - lines over steps, drawn into a grid.
 *
 * The dots of a cell are braille (2 x 4), half blocks (1 x 2) or ASCII marks
 * (1 x 2), as the grid's charset allows. Points that fall into the same column
 * of dots are shown by their mean and the spread from smallest to largest;
 * a gap in the series is a gap in the line, with a cross below it.
 *
 * The x axis stays where it is while a run goes on and is compressed when the
 * run reaches its end (plot_x_end()), never scrolled: then only the cells at
 * the end of the line change, which is what a slow connection can bear.
 */
#ifndef WERKBANK_TUI_PLOT_PLOT_H
#define WERKBANK_TUI_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/plot/series.h"

enum plot_pen {
	PLOT_LINE,   /* with the spread around it; smoothed when the plot says so */
	PLOT_DOTTED, /* every other dot: told apart without colour; smoothed, too */
	PLOT_MARKED, /* a bullet on each point; this and those below are never smoothed */
	PLOT_EXACT,  /* as PLOT_LINE, of what has no noise */
	PLOT_EXACT_DOTTED,
};

struct plot_line {
	const struct series *series; /* borrowed */
	enum plot_pen pen;
	enum style style;
};

/* Something that happened, as a sign in the lower border. */
struct plot_mark {
	double x;
	uint32_t sign;
	enum style style;
};

/* What a plot shows where, for the mouse and for keys that move by columns. */
struct plot_area {
	struct rect cells;    /* rows 0: nothing was drawn */
	double x_from, x_end; /* at its left and right edge */
	bool log_x;
};

struct plot {
	const struct plot_line *lines;
	size_t n;
	double x_end;	/* the axis goes from x_from to here */
	double cursor;	/* a thin upright line there; NaN: none */
	bool from_zero; /* the y axis includes 0 (a logarithmic one never does) */
	double x_from;
	bool log_x; /* from the first positive x; what is not positive is left out */
	bool log_y;
	bool trim;     /* the y axis leaves out the 2 % of points at either end */
	double smooth; /* weight of struct smoother; then the raw curve is drawn faint */
	const struct plot_mark *marks; /* borrowed */
	size_t n_marks;
	struct plot_area *area; /* written when not NULL */
};

/*
 * Draw into the inside of box (a rectangle drawn by draw_box()); the labels of
 * the x axis go into its lower border. Nothing known yet: an empty frame that says so.
 */
void plot_draw(struct grid *g, struct rect box, const struct plot *p);

/*
 * Parts of a whole over steps, one upon the other, filled from 0 to 1: shares that parts[i] /
 * whole have. What is left of 1 stays empty.
 */
#define PLOT_PARTS 6
struct plot_part {
	const struct series *series; /* borrowed */
	enum style style;
};
struct plot_stack {
	const struct plot_part *parts; /* from below; at most PLOT_PARTS, filled by plot_fill() */
	size_t n;
	const struct series *whole;
	struct plot axes; /* x axis, cursor, marks, area; the rest is not used */
};
void plot_stack_draw(struct grid *g, struct rect box, const struct plot_stack *p);

/* What fills part i in this charset: parts are told apart without colour, too. */
uint32_t plot_fill(const struct grid *g, size_t part);

/*
 * Where the x axis of a run at this step should end: the least of 1, 1.5, 2, 3,
 * 4, 5, 6, 8 times a power of ten that is not below it, and not beyond total (0: not known).
 */
double plot_x_end(double step, double total);

/* The x in the middle of a column of the grid, within the area's edges. */
double plot_x_at(const struct plot_area *a, int col);

/* The edges after zooming by factor (below 1: in) around x, or moving by a share of the width;
 * kept within 0 … x_end of the whole axis, and at least 1e-6 of it wide. */
void plot_zoom(const struct plot_area *a, double factor, double x, double whole, double *from,
	       double *to);
void plot_pan(const struct plot_area *a, double share, double whole, double *from, double *to);

#endif
