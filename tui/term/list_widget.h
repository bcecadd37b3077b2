/*
 * list.h - a list of rows with one chosen: moving in it, and what of it is seen.
 *
 *	list_widget_act(&l, action, n)		moves; false: not an action of lists
 *	first = list_widget_top(&l, n, rows)	when drawing: row of the list in the first line
 */
#ifndef WERKBANK_TUI_TERM_LIST_WIDGET_H
#define WERKBANK_TUI_TERM_LIST_WIDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/layout.h"

struct list_widget {
	size_t at;  /* the chosen row */
	size_t top; /* the first one seen */
	int page;   /* rows seen when it was drawn */
};

bool list_widget_act(struct list_widget *l, enum action action, size_t n);
/* Keep at within n rows and in sight of rows lines; the row in the first line. */
size_t list_widget_top(struct list_widget *l, size_t n, int rows);

/* Fill a line with the style of the chosen row, and put a sign before it. */
void list_widget_draw_chosen(struct grid *g, struct rect r, int row, bool focused);

/* "3 of 120" in the lower border of a box, when not all rows are seen. */
void list_widget_draw_place(struct grid *g, struct rect box, const struct list_widget *l, size_t n);

#endif
