/* sparkline.h - a curve in one row of a table. */
#ifndef WERKBANK_TUI_PLOT_SPARKLINE_H
#define WERKBANK_TUI_PLOT_SPARKLINE_H

#include "tui/plot/series.h"
#include "tui/term/grid.h"

/*
 * Draw a series from its first to its last x into the span, from its lowest to its highest mean.
 * A column without samples takes the value before it; a gap (NaN) stays blank. Nothing is drawn
 * for fewer than two points.
 */
void sparkline_draw(struct grid *g, struct span at, const struct series *s);

/* The same from 0 to 1, so that rows can be compared. */
void sparkline_draw_share(struct grid *g, struct span at, const struct series *s);

#endif
