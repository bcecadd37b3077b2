/* svg_export.h - writes a plot of a view as an SVG file. */
#ifndef WERKBANK_TUI_VIEWS_SVG_EXPORT_H
#define WERKBANK_TUI_VIEWS_SVG_EXPORT_H

#include "tui/context/app_context.h"
#include "tui/plot/plot.h"

struct svg_request {
	const char *name; /* the file is NAME.svg */
	const char *title, *x_unit, *y_unit;
	const struct plot *plot; /* as drawn: window, logarithms, smoothing */
};

/*
 * Write the plot to a new file, as context_write_file() does. A smoothed line has its raw curve
 * in a paler colour, and the range of merged samples is a pale band.
 */
void svg_export_plot(struct app_context *w, const struct svg_request *r);

#endif
