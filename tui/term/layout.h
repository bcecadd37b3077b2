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

bool layout_has_cell(struct rect r, int row, int col);

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

#define LAYOUT_ALL_PANES  ((1u << PANE_COUNT) - 1)
#define LAYOUT_ONE_HEADER 200 /* columns from which title and facts share a row */

/* Sizes of screens, of which each has layouts of its own. */
enum layout_size { LAYOUT_NARROW, LAYOUT_MIDDLE, LAYOUT_WIDE, LAYOUT_SIZES };
enum layout_size layout_size_of(int cols); /* below 100 columns, below 150, more */

struct run_layout {
	bool too_small;		       /* below LAYOUT_MIN_*: the other fields are not set */
	struct rect title, facts;      /* one row each, or one for both */
	struct rect panes[PANE_COUNT]; /* boxes, with their borders */
};

/*
 * Place the shown panes of the run view in body (bits 1 << enum run_pane, that of focus among
 * them). Without room for all plots, the focused plot and its neighbours get it; zoomed: the
 * focused pane fills body. is_step_short: the step pane is one row without a border, unless it
 * has the focus or the screen is narrow.
 */
void layout_run(struct rect body, unsigned shown, enum run_pane focus, bool zoomed,
		bool is_step_short, struct run_layout *out);

/* Leave at most n rows to a rectangle, and give the others to the one of the same columns directly below it. */
void layout_shrink(struct rect *upper, struct rect *lower, int n);

#endif
