/*
 * list_widget.h - a list of rows with one chosen row: moving and scrolling.
 *
 *	list_widget_act(&l, action, n)		move; false: not an action of lists
 *	first = list_widget_top(&l, n, rows)	when drawing: index of the first visible row
 */
#ifndef WERKBANK_TUI_TERM_LIST_WIDGET_H
#define WERKBANK_TUI_TERM_LIST_WIDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/layout.h"

struct list_widget {
	size_t at;  /* index of the chosen row */
	size_t top; /* index of the first visible row */
	int page;   /* visible rows at the last draw */
};

/*
 * The lines by which an action of lists moves: 1, a page, or LIST_ALL to the end; negative: up. false:
 * not an action of lists. *by is set to 0 then.
 */
#define LIST_ALL (1 << 20)
bool list_move_of(enum action action, int page, int *by);

/* Move the chosen row of n rows by an action; false: not an action of lists. */
bool list_widget_act(struct list_widget *l, enum action action, size_t n);
/* Clamp at to n rows, scroll it into the visible rows, and return the first visible row. */
size_t list_widget_top(struct list_widget *l, size_t n, int rows);

/*
 * Scroll text without a chosen row: *top is its first visible line of n. Drawing keeps the last page on
 * the screen. false: not an action of lists.
 */
bool list_widget_scroll(int *top, int page, int n, enum action action);

/* Draw the background of the chosen row, with a sign at its left. */
void list_widget_draw_chosen(struct grid *g, struct rect r, int row, bool focused);

/* Write "3 of 120" into the lower border of a box if some rows are hidden. */
void list_widget_draw_place(struct grid *g, struct rect box, const struct list_widget *l, size_t n);

#endif
