/*
 * plot.h - line plots over steps, drawn into a grid.
 *
 * A cell has braille dots (2 x 4), half blocks (1 x 2) or ASCII marks (1 x 2), as the grid's
 * charset allows. All points that fall into one column of dots are reduced to their mean and
 * their smallest and largest value. A gap in the series is a gap in the line, with a cross
 * below it.
 *
 * The x axis never scrolls. While a run trains, the axis stays fixed, and is rescaled when
 * the line reaches its end (plot_x_end()). So a new point changes only the cells at the end
 * of the line, which keeps slow connections usable.
 */
#ifndef WERKBANK_TUI_PLOT_PLOT_H
#define WERKBANK_TUI_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/plot/series.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"

enum plot_pen {
	PLOT_LINE,    /* with the range of values around it; smoothed if the plot asks for it */
	PLOT_DOTTED,  /* every other dot, to be distinct without colour; smoothed like PLOT_LINE */
	PLOT_BULLETS, /* a bullet on each point; smoothed like PLOT_LINE */
	PLOT_MARKED,  /* like PLOT_BULLETS; this pen and the following are never smoothed */
	PLOT_EXACT,   /* like PLOT_LINE, for exact values */
	PLOT_EXACT_DOTTED,
};

uint32_t plot_pen_sign(enum plot_pen pen); /* for legends */

struct plot_line {
	const struct series *series; /* borrowed */
	enum plot_pen pen;
	enum style style; /* STYLE_FIRST … STYLE_SIXTH */
	int best;	  /* a star marks the highest (1) or the lowest (-1) value; 0: none */
	bool has_band; /* of series_band.h: never smoothed again, low..high filled between points */
	const char *name; /* borrowed, drawn at the end of the line; NULL or "": none */
};

/* An event, shown as a sign in the lower border. */
struct plot_mark {
	double x;
	uint32_t sign;
	enum style style;
};

/* The cells and the x range of a drawn plot, for the mouse and for cursor keys. */
struct plot_area {
	struct rect cells;    /* rows 0: the plot was not drawn */
	double x_from, x_end; /* x at the left and the right edge */
	bool log_x;
};

struct plot {
	const struct plot_line *lines;
	size_t n;
	double x_end;	/* the x axis reaches from x_from to x_end */
	double cursor;	/* x of a thin vertical line; NaN: none */
	bool from_zero; /* the y axis includes 0 (not if it is logarithmic) */
	double x_from;
	bool log_x; /* logarithmic x axis from the first positive x; other points are left out */
	bool log_y;
	bool is_share; /* values from 0 to 1: the labels of the y axis are percentages */
	bool fill;     /* fill the area under the first line, if the terminal has colours for it */
	bool trim;     /* the y axis ignores the lowest and the highest 2 % of the points */
	/* Weight of struct smoother for long lines; the raw curve is then drawn faint behind. */
	double smooth;
	const struct plot_mark *marks; /* borrowed */
	size_t n_marks;
	struct plot_area *area; /* output, may be NULL */
};

/*
 * The weight of smoothing that a line is drawn with if its plot asks for `smooth`: 0 for the exact
 * pens, for lines with a band, and below PLOT_MIN_SMOOTHED samples, where a smoothed curve lags behind a steep one.
 */
#define PLOT_MIN_SMOOTHED 50
double plot_line_smoothing(const struct plot_line *l, double smooth);

/*
 * The value of a line at x (NaN: the latest) as it is drawn: smoothed if the line is. NaN: none.
 */
double plot_line_value(const struct plot_line *l, double smooth, double x);

/*
 * Draw inside box (a rectangle drawn by draw_box()); the x labels go into its lower border. Without
 * any value, the frame stays empty and says so.
 */
void plot_draw(struct grid *g, struct rect box, const struct plot *p);

/*
 * Stacked areas over steps: shares parts[i] / whole, one on top of the other, from 0 to the largest
 * sum in the window, at least 0.1.
 */
#define PLOT_PARTS 6
struct plot_part {
	const struct series *series; /* borrowed */
	enum style style;
};
struct plot_stack {
	const struct plot_part *parts; /* bottom to top, at most PLOT_PARTS */
	size_t n;
	size_t first_fill; /* part 0 has plot_fill(g, first_fill) */
	const struct series *whole;
	struct plot axes; /* only x axis, cursor, marks and area are used */
};
void plot_stack_draw(struct grid *g, struct rect box, const struct plot_stack *p);

/* The fill character of part i in the grid's charset: parts are distinct without colour. */
uint32_t plot_fill(const struct grid *g, size_t part);

/*
 * The end of the x axis for a run at this step: the smallest of 1, 1.5, 2, 3, 4, 5, 6, 8 times a
 * power of ten that is >= step, but at most total (0: unknown).
 */
double plot_x_end(double step, double total);

/* The x at the middle of a grid column, clamped to the area. */
double plot_x_at(const struct plot_area *a, int col);

/*
 * New edges after zooming by factor (below 1: in) around x. The window stays within 0..whole and at
 * least 1e-6 of it wide.
 */
void plot_zoom(const struct plot_area *a, double factor, double x, double whole, double *from,
	       double *to);
void plot_pan(const struct plot_area *a, double share, double whole, double *from, double *to);

#endif
