/*
 * list_widget.h - a list of rows with one chosen row: moving and scrolling.
 *
 *	list_widget_act(&l, action, n)		move; false: not an action of lists
 *
 *	struct list_row row = list_rows(g, in, &l, n, is_focused);
 *	while (list_row_next(&row)) {		the visible rows, from the first one
 *		row_text(&row, 2, 10, STYLE_NORMAL, name(row.i));
 *		row_text_right(&row, 20, 8, STYLE_DIM, count(row.i));
 *	}
 */
#ifndef WERKBANK_TUI_TERM_LIST_WIDGET_H
#define WERKBANK_TUI_TERM_LIST_WIDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/layout.h"

struct list_widget {
	size_t at;	   /* index of the chosen row */
	size_t top;	   /* index of the first visible row */
	int page;	   /* visible rows at the last draw */
	struct rect drawn; /* where list_rows() drew it last, ... */
	size_t n;	   /* ... and how many rows it has: for keys and the mouse */
	bool is_text; /* it has no chosen row: it scrolls, and keeps its last page on the screen */
	bool follows; /* at the end of the list, it stays there when rows are added */
};

/*
 * The lines by which an action of lists moves: 1, a page, or LIST_ALL to the end; negative: up. false:
 * not an action of lists. *by is set to 0 then.
 */
#define LIST_ALL (1 << 20)
bool list_move_of(enum action action, int page, int *by);

/* The action of lists that a key stands for below a text field, whose letters and Home and End it leaves alone. */
enum action list_field_action(int key);

/* Move the chosen row of n rows by an action; false: not an action of lists. */
bool list_widget_act(struct list_widget *l, enum action action, size_t n);
/* Clamp at to n rows, scroll it into the visible rows, and return the first visible row. */
size_t list_widget_top(struct list_widget *l, size_t n, int rows);

/* A row of a list while it is drawn, or another row with texts in columns. */
struct list_row {
	struct grid *g;
	int row, col, cols; /* its cells */
	bool chosen;	    /* drawn as the chosen one: it has one style for all of its texts */
	size_t i;	    /* the number of its entry ... */
	bool is_at;	    /* ... which is the chosen one, also of a list without the focus */
	/* private */
	const struct list_widget *list;
	size_t n;
	int end;
	bool focused;
};

/* Begin to draw the n entries of a list into r; list_row_next() goes to the first visible one. */
struct list_row list_rows(struct grid *g, struct rect r, struct list_widget *l, size_t n,
			  bool focused);
/* Begin to draw a list that fills a box: the box with its title, too. */
struct list_row list_box(struct grid *g, struct rect box, const char *title, struct list_widget *l,
			 size_t n, bool focused);
/* Begin to draw n lines of text into r, and say in the lower border of a box how many of them are hidden. */
struct list_row list_text(struct grid *g, struct rect box, struct rect r, struct list_widget *l,
			  size_t n);
/* Go to the next row, and mark it if it is the chosen one and the list has the focus. false: no more. */
bool list_row_next(struct list_row *r);
/* Make the row the chosen one, as lists of questions and forms draw it: with a triangle at its left. */
void row_choose(struct list_row *r);
/* A row of cells that belongs to no list. */
struct list_row list_row_at(struct grid *g, struct rect r, int row);

/* Text in column col of the row, at most width columns; 0: up to the end. Returns the columns used. */
int row_text(const struct list_row *r, int col, int width, enum style style, const char *text);
/* Text that ends in column end of the row; it may have width columns. Returns the columns used. */
int row_text_right(const struct list_row *r, int end, int width, enum style style,
		   const char *text);
/* One character in column col of the row. */
void row_sign(const struct list_row *r, int col, enum style style, uint32_t sign);
/* A source and a target beside each other, from column col on, if both have room. */
void row_pair(const struct list_row *r, int col, enum style style, const char *source,
	      const char *target);

/* Draw the background of the chosen row, with a sign at its left. */
void list_widget_draw_chosen(struct grid *g, struct rect r, int row, bool focused);

/* Say in the lower border of a box how many rows of the list are hidden: "3 above, 2 below". Returns the columns used. */
int list_widget_draw_hidden(struct grid *g, struct rect box, const struct list_widget *l);

/* Write "3 of 120" into the lower border of a box if some rows of the list are hidden, as list_box() does. */
void list_widget_draw_place(struct grid *g, struct rect box, const struct list_widget *l);

#endif
