/* draw.h - boxes, wrapped text, bars and legends, drawn into a grid. */
#ifndef WERKBANK_TUI_TERM_DRAW_H
#define WERKBANK_TUI_TERM_DRAW_H

#include <stdbool.h>

#include "tui/term/grid.h"
#include "tui/term/layout.h"

/* Blanks in all cells of r. */
void draw_blank(struct grid *g, struct rect r, enum style style);

/* A box with rounded corners and a title in the upper border; focused: with the focus style. */
void draw_box(struct grid *g, struct rect r, const char *title, bool focused);

/*
 * Say in the lower border of a box how many rows its scroll position hides: "3 above, 2 below".
 * Nothing is drawn if none are hidden (counts <= 0). Returns the columns used.
 */
int draw_hidden_rows(struct grid *g, struct rect box, int above, int below);

/*
 * Text in at most width columns; an ellipsis replaces the end of longer text. Returns the columns
 * used.
 */
int draw_text(struct grid *g, int row, int col, int width, enum style style, const char *text);

/* draw_text() in a span, without the first skip columns of the text. */
int draw_text_from(struct grid *g, struct span at, const char *text, int skip);

/*
 * Right-aligned text: the last character at column right, at most width columns. Returns the
 * columns used.
 */
int draw_text_right(struct grid *g, int row, int right, int width, enum style style,
		    const char *text);

/*
 * Word-wrapped text from the row of the span down: at most rows lines, without the first skip
 * lines; an ellipsis ends the last row if lines follow. Returns the lines of the whole text; rows 0
 * only counts.
 */
int draw_text_wrapped(struct grid *g, struct span at, int rows, int skip, const char *text);

/* Word-wrapped text in r, as far as it fits: why there is nothing else in a pane. */
void draw_note(struct grid *g, struct rect r, enum style style, const char *text);

/*
 * A "label value" pair (label dim, value bright) at *col, which moves three blanks past it. false:
 * it does not fit before column right and nothing is drawn.
 */
bool draw_fact(struct grid *g, int row, int *col, int right, const char *label, const char *value);

/* A progress bar of width columns, filled to fraction (0..1; NaN: empty). */
void draw_bar(struct grid *g, int row, int col, int width, double fraction);

/* Lines of text in the middle of r, left-aligned to each other; style applies to the first line. */
void draw_message(struct grid *g, struct rect r, enum style style, const char *const *lines, int n);
/* The same for the lines of a text, which \n separates: why there is nothing else in r. */
void draw_centred(struct grid *g, struct rect r, enum style style, const char *text);

/* One entry of a legend: a sign (0: none) and a value in style, and a dim label between them. */
struct legend {
	uint32_t sign;
	enum style style;
	const char *label, *value;
};

/* Draw the entries from col on, as many as fit into room columns. */
void draw_pieces(struct grid *g, int row, int col, int room, const struct legend *pieces, int n);

/* Draw the entries at the right end of a box's upper border, as many as fit beside its title. */
void draw_legend(struct grid *g, struct rect box, const char *title, const struct legend *pieces,
		 int n);
/*
 * Entries that explain the colours of a bar: their names matter more than their values, which are left out without room for both.
 * draw_bar_legend() does it for the entries from `first` on in the upper border, and returns false without room for the names.
 */
#define BAR_PIECES 8 /* greatest number of entries */
void draw_bar_pieces(struct grid *g, int row, int col, int room, const struct legend *pieces,
		     int n);
bool draw_bar_legend(struct grid *g, struct rect box, const char *title,
		     const struct legend *pieces, int n, int first);

/*
 * Cells of a heat map, for a share 0..1: from neutral to one strong colour; shade and colour have
 * the same meaning. Unknown is a question mark, lost a cross.
 */
#define HEAT_LEVELS 5
void draw_heat(struct grid *g, int row, int col, int width, double share, bool lost);
/* Cells for a deviation from a middle: one colour below, one above, neutral up to a fifth of the spread. */
#define HEAT_SPREAD 0.2 /* from here on, a deviation has the strongest colour */
void draw_deviation(struct grid *g, int row, int col, int width, double deviation, bool lost);
/* The same shades in the colours of sure and unsure tokens: 1 is good, and not hot. */
void draw_quality(struct grid *g, int row, int col, double share);
/* Their scales at the right end of the upper border of a box, if there is room beside its title. */
void draw_heat_scale(struct grid *g, struct rect box, const char *title);
void draw_deviation_scale(struct grid *g, struct rect box, const char *title, const char *low,
			  const char *high);
void draw_quality_scale(struct grid *g, struct rect box, const char *title);

#endif
