/*
 * grid.h - a rectangle of character cells, the drawing surface of all views.
 *
 * Views draw into a grid and know nothing of the terminal. term.c sends a grid to the
 * terminal, grid_dump() turns it into text that a test compares.
 *
 *	struct grid g = { .charset = GRID_FULL };
 *	grid_resize(&g, 24, 80, e);
 *	grid_text(&g, 0, 0, 80, STYLE_TITLE, "werkbank"); …
 *	grid_free(&g);
 *
 * A grid is safe to show: control characters and invalid UTF-8 become a replacement
 * character; characters that control direction or joining are dropped. So grid_text() accepts
 * text from any file. Everything outside the rectangle is clipped.
 *
 * Widths come from wcwidth(): call setlocale(LC_CTYPE, …) before drawing with any charset
 * but GRID_ASCII.
 */
#ifndef WERKBANK_TUI_TERM_GRID_H
#define WERKBANK_TUI_TERM_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "tui/term/theme.h"

struct picture_list;

/* The characters that the terminal can show; others are replaced by simpler ones. */
enum grid_charset {
	GRID_ASCII, /* only ASCII */
	GRID_PLAIN, /* UTF-8 with the few line and block glyphs of a console font */
	GRID_FULL,  /* UTF-8 with braille patterns and signs */
};

#define GRID_MARKS 2 /* combining marks per cell; further marks are dropped */

struct cell {
	uint32_t ch;		    /* ' ' when empty; 0 in the right half of a wide character */
	uint32_t marks[GRID_MARKS]; /* combining marks of the cell, 0: none */
	uint8_t style;		    /* enum style */
	uint8_t width;		    /* columns: 1, 2, or 0 for the right half of a wide character */
};

struct grid {
	enum grid_charset charset;
	int tones; /* tones of an area that the terminal can tell apart; 0: draw no areas */
	int ramp;  /* steps of heat that it can tell apart: THEME_RAMP, or 0: HEAT_0 to HEAT_4 */
	int rows, cols;
	struct cell *cells;	       /* (rows x cols) owned */
	struct picture_list *pictures; /* borrowed; NULL: the terminal shows none (picture.h) */
	/*
	 * Clip rectangle: cells outside are not changed; rows 0: no clipping. grid_resize() and
	 * grid_clear() keep it.
	 */
	struct grid_part {
		int row, col, rows, cols;
	} clip;
	struct grid_part focus; /* the focused box that was drawn last; rows 0: none */
};

/* Resize to at least 1 x 1 and clear. On failure (ERR_NOMEM) the grid is unchanged. */
int grid_resize(struct grid *g, int rows, int cols, struct err *e);
void grid_clear(struct grid *g);
void grid_free(struct grid *g);

/* The cell at row, col; NULL outside. Borrowed until the next grid_resize(). */
struct cell *grid_at(const struct grid *g, int row, int col);

/* Put one character. Returns its columns: 0 (a combining mark, or dropped), 1 or 2. */
int grid_put(struct grid *g, int row, int col, enum style style, uint32_t codepoint);

/* Put UTF-8 text into at most width columns, cut to fit. Returns the columns used. */
int grid_text(struct grid *g, int row, int col, int width, enum style style, const char *text);

/* Part of one row. */
struct span {
	int row, col, width;
	enum style style;
};

/*
 * Put n bytes of text into the span, without the first skip columns of the text. Returns the
 * columns used.
 */
int grid_text_part(struct grid *g, struct span at, const char *text, size_t n, int skip);

/* Columns of text in this grid. */
int grid_text_width(const struct grid *g, const char *text);

/*
 * Bytes of the longest prefix of text that fits into width columns; *columns (if not NULL) gets its
 * columns.
 */
size_t grid_text_fit(const struct grid *g, const char *text, int width, int *columns);

/* The same two of n bytes of text. */
int grid_part_width(const struct grid *g, const char *text, size_t n);
size_t grid_part_fit(const struct grid *g, const char *text, size_t n, int width, int *columns);

/* Append the grid as UTF-8 lines without trailing blanks. */
void grid_dump(const struct grid *g, struct buf *out);

#endif
