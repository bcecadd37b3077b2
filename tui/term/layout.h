/*
 * layout.h - where things go: pure arithmetic, no drawing.
 */
#ifndef WERKBANK_TUI_TERM_LAYOUT_H
#define WERKBANK_TUI_TERM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

struct rect {
	int row, col, rows, cols;
}; /* rows or cols 0: not shown */

/* One part of a row or column of parts. */
struct layout_part {
	int min;    /* below this it is left out */
	int max;    /* it never gets more; 0: no bound */
	int weight; /* share of what is left over; 0: it stays at min */
	int rank;   /* when space is short, the highest rank is left out first */
};

#define LAYOUT_MAX_PARTS 8

/*
 * Divide length among n (at most LAYOUT_MAX_PARTS) parts, in order; sizes[i] 0
 * is a part left out. The sizes never sum to more than length; they sum to
 * exactly length when a part with weight and without bound is shown.
 */
void layout_divide(int length, const struct layout_part *parts, size_t n, int *sizes);

/*
 * Cut r into rows one below the other (or columns side by side) of the sizes that layout_divide()
 * gives.
 */
void layout_rows(struct rect r, const struct layout_part *parts, size_t n, struct rect *out);
void layout_cols(struct rect r, const struct layout_part *parts, size_t n, struct rect *out);

/* The inside of a box with a border of one cell; empty when there is none. */
struct rect layout_inside(struct rect r);

/* ---- the run view ---- */

#define LAYOUT_MIN_ROWS 13 /* of the view, between tab bar and foot */
#define LAYOUT_MIN_COLS 60

enum run_pane {
	PANE_LOSS,
	PANE_BLEU,
	PANE_SPEED,
	PANE_SPLIT,
	PANE_RATE,
	PANE_GRAD,
	PANE_SAMPLES,
	PANE_LOG,
	PANE_COUNT
};

struct run_layout {
	bool too_small;		       /* below LAYOUT_MIN_*: nothing else is set */
	struct rect title, facts;      /* one row each */
	struct rect panes[PANE_COUNT]; /* boxes, border included */
};

/*
 * Place everything in body. Where there is no room for all plots, those beside the focused one
 * have it; zoomed: the focused pane has all of it.
 */
void layout_run(struct rect body, enum run_pane focus, bool zoomed, struct run_layout *out);

#endif
