/*
 * svg_plot.h - line plots as SVG 1.1, with axes, units, a legend and marks of events.
 *
 *	svg_page_begin(&out, "run demo", width, height);
 *	svg_plot_add(&out, &plot, left, top, plot_width, plot_height);	as often as needed
 *	svg_page_end(&out);
 *
 * Texts may come from any file: they are escaped, and what XML does not allow is replaced. Lengths
 * are in pixels. Colours are those of Okabe and Ito, distinct with every kind of colour vision;
 * lines differ by dashes and dots, too.
 */
#ifndef WERKBANK_SHARE_FORMAT_SVG_PLOT_H
#define WERKBANK_SHARE_FORMAT_SVG_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"

enum svg_pen {
	SVG_LINE,
	SVG_DASHED,
	SVG_MARKED, /* a circle on each point */
	SVG_FAINT,  /* thin and pale: the raw curve behind a smoothed one; not in the legend */
};

struct svg_point {
	double x, y;	  /* y NaN: a gap in the line */
	double low, high; /* a pale band around the line; NaN: none */
};

struct svg_line {
	const char *label;		/* of the legend; borrowed like all texts and arrays */
	const struct svg_point *points; /* x does not decrease */
	size_t n;
	enum svg_pen pen;
	size_t colour; /* number of the colour; lines with the same number have the same one */
};

struct svg_mark {
	double x;
	const char *text; /* shown when the pointer rests on the mark */
};

struct svg_plot {
	const char *title, *x_unit, *y_unit; /* units may be "" */
	const struct svg_line *lines;
	size_t n;
	const struct svg_mark *marks;
	size_t n_marks;
	double x_from, x_end; /* NaN: from the first to the last x */
	bool from_zero;	      /* the y axis includes 0, if it is not logarithmic */
	bool log_x, log_y;    /* values <= 0 are left out */
};

void svg_page_begin(struct buf *out, const char *title, double width, double height);
/* A plot without any value says so. */
void svg_plot_add(struct buf *out, const struct svg_plot *p, double left, double top, double width,
		  double height);
void svg_text_add(struct buf *out, double x, double y, const char *text); /* a headline */
void svg_page_end(struct buf *out);

#endif
