/* layout.h - positions and sizes of panes: pure arithmetic, no drawing. */
#ifndef WERKBANK_TUI_TERM_LAYOUT_H
#define WERKBANK_TUI_TERM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

struct rect {
	int row, col, rows, cols;
}; /* rows or cols 0: hidden */

/* One part of a row or column that is divided. */
struct layout_part {
	int min;    /* least size; with less room the part is hidden */
	int max;    /* largest size; 0: no limit */
	int weight; /* share of the remaining space; 0: the part keeps min */
	int rank;   /* when space is short, the part with the highest rank is hidden first */
};

#define LAYOUT_MAX_PARTS 8

/*
 * Divide length among n (at most LAYOUT_MAX_PARTS) parts, in order; sizes[i] = 0 hides part i. The
 * sizes sum to at most length, and to exactly length if a visible part has a weight and no max.
 */
void layout_divide(int length, const struct layout_part *parts, size_t n, int *sizes);

/* Split r into rows (or columns) with the sizes of layout_divide(). */
void layout_rows(struct rect r, const struct layout_part *parts, size_t n, struct rect *out);
void layout_cols(struct rect r, const struct layout_part *parts, size_t n, struct rect *out);

/* The inside of a box with a border of one cell; empty if there is none. */
struct rect layout_inside(struct rect r);

/* The box whose inside is r, which is not empty. */
struct rect layout_around(struct rect r);

/* ---- the run view ---- */

#define LAYOUT_MIN_ROWS 13 /* rows of a view, between tab bar and last row */
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
	bool too_small;		       /* below LAYOUT_MIN_*: the other fields are not set */
	struct rect title, facts;      /* one row each */
	struct rect panes[PANE_COUNT]; /* boxes, with their borders */
};

/*
 * Place all panes of the run view in body. Without room for all plots, the focused plot and its
 * neighbours get it; zoomed: the focused pane fills body.
 */
void layout_run(struct rect body, enum run_pane focus, bool zoomed, struct run_layout *out);

#endif
