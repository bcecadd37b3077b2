/*
 * draw.h - the pieces that views are made of, drawn into a grid.
 */
#ifndef WERKBANK_TUI_TERM_DRAW_H
#define WERKBANK_TUI_TERM_DRAW_H

#include <stdbool.h>

#include "tui/term/grid.h"
#include "tui/term/layout.h"

/* A box with rounded corners and its name in the upper border; focused shows that keys go there. */
void draw_box(struct grid *g, struct rect r, const char *title, bool focused);

/*
 * Text in at most width columns, the end of what does not fit replaced by an
 * ellipsis; returns the columns used.
 */
int draw_text(struct grid *g, int row, int col, int width, enum style style, const char *text);

/* The same in a span, after leaving out the first skip columns. */
int draw_text_from(struct grid *g, struct span at, const char *text, int skip);

/* Text with its last character at column right; at most width columns. Returns the columns used. */
int draw_text_right(struct grid *g, int row, int right, int width, enum style style,
		    const char *text);

/*
 * Text broken at blanks into lines as wide as the span, from its row down, at
 * most rows of them and the first skip left out; returns the lines that the
 * whole text takes. rows 0 only counts.
 */
int draw_text_wrapped(struct grid *g, struct span at, int rows, int skip, const char *text);

/*
 * "label value" pairs laid out in a row from *col on, three blanks apart, labels dim
 * and values bright; false and nothing drawn when it does not fit before right.
 */
bool draw_fact(struct grid *g, int row, int *col, int right, const char *label, const char *value);

/* A bar of width columns filled to fraction (0..1; NaN: drawn empty). */
void draw_bar(struct grid *g, int row, int col, int width, double fraction);

/*
 * Several lines of text in the middle of r, flush left to each other; style is that of the first.
 */
void draw_message(struct grid *g, struct rect r, enum style style, const char *const *lines, int n);

/*
 * A piece of a legend: a sign (0: none) and a value, both in style, and a dim label between them.
 */
struct legend {
	uint32_t sign;
	enum style style;
	const char *label, *value;
};

/*
 * Pieces at the right end of a box's upper border, as many as there is room for beside its title.
 */
void draw_legend(struct grid *g, struct rect box, const char *title, const struct legend *pieces,
		 int n);

#endif
