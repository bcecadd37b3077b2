/*
 * grid.h - a rectangle of character cells.
 *
 * Views draw into a grid and know nothing of the terminal; term.c turns one
 * into curses calls, grid_dump() turns one into text that a test compares.
 *
 *	struct grid g = { .charset = GRID_FULL };
 *	grid_resize(&g, 24, 80, e);
 *	grid_text(&g, 0, 0, 80, STYLE_TITLE, "werkbank"); …
 *	grid_free(&g);
 *
 * A grid holds nothing that could act on a terminal: control characters and
 * bytes that are not UTF-8 become a replacement character, marks that only
 * steer the direction or joining of text are dropped. Whatever a file holds
 * may therefore be given to grid_text() as it is. Everything outside the
 * rectangle is clipped, so callers need no bounds of their own.
 *
 * Widths come from wcwidth(), so setlocale(LC_CTYPE, …) comes before drawing
 * with any charset but GRID_ASCII.
 */
#ifndef WERKBANK_TUI_TERM_GRID_H
#define WERKBANK_TUI_TERM_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "tui/term/theme.h"

/* What the terminal can show; characters beyond it are replaced by simpler ones. */
enum grid_charset {
	GRID_ASCII, /* nothing but ASCII */
	GRID_PLAIN, /* UTF-8 with the few line and block glyphs of a console font */
	GRID_FULL,  /* UTF-8 with braille patterns and signs */
};

#define GRID_MARKS 2 /* combining marks a cell can hold; further ones are dropped */

struct cell {
	uint32_t ch;		    /* ' ' when empty; 0 in the right half of a wide character */
	uint32_t marks[GRID_MARKS]; /* combining marks on it, 0: none */
	uint8_t style;		    /* enum style */
	uint8_t width;		    /* columns: 1, 2, or 0 for a right half */
};

struct grid {
	enum grid_charset charset;
	int rows, cols;
	struct cell *cells; /* rows x cols, owned */
	/* Nothing is put outside; rows 0: no such bound. Kept by grid_resize() and grid_clear(). */
	struct {
		int row, col, rows, cols;
	} clip;
};

/* Give it this size (at least 1 x 1) and clear it. On failure it is as before. */
int grid_resize(struct grid *g, int rows, int cols, struct err *e);
void grid_clear(struct grid *g);
void grid_free(struct grid *g);

/* The cell there; NULL outside. Borrowed until the next grid_resize(). */
struct cell *grid_at(const struct grid *g, int row, int col);

/* Put one character; returns the columns it took: 0 (a mark, or dropped), 1 or 2. */
int grid_put(struct grid *g, int row, int col, enum style style, uint32_t codepoint);

/*
 * Put UTF-8 text into at most width columns; returns the columns used. Text that does not fit is
 * cut.
 */
int grid_text(struct grid *g, int row, int col, int width, enum style style, const char *text);

/* A stretch of one row. */
struct span {
	int row, col, width;
	enum style style;
};

/*
 * Put n bytes of text into the span, after leaving out their first skip columns; returns the
 * columns used.
 */
int grid_text_part(struct grid *g, struct span at, const char *text, size_t n, int skip);

/* Columns that text would take in this grid. */
int grid_text_width(const struct grid *g, const char *text);

/*
 * Bytes of the longest beginning of text that fits into width columns, and (NULL: not asked) the
 * columns it takes.
 */
size_t grid_text_fit(const struct grid *g, const char *text, int width, int *columns);

/* Append the grid as UTF-8 lines, blanks at their ends cut. */
void grid_dump(const struct grid *g, struct buf *out);

#endif
