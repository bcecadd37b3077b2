/*
 * home_runs.h - the table of runs in the home view: columns, order, rows.
 *
 * Columns are left out by rank where the table is narrow; the last one gets the rest of the width.
 */
#ifndef WERKBANK_TUI_VIEWS_HOME_RUNS_H
#define WERKBANK_TUI_VIEWS_HOME_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/run/workspace_index.h"
#include "tui/term/grid.h"
#include "tui/term/list_widget.h"

enum home_order {
	ORDER_ACTIVITY, /* alive first, then the newest */
	ORDER_NAME,
	ORDER_BLEU, /* best first, like the following; unknown values last */
	ORDER_CHANGE,
	ORDER_LOSS,
	ORDER_PROGRESS,
	ORDER_LEFT,
	ORDER_GPU,
	HOME_ORDERS
};

const char *home_order_name(enum home_order order);

/* Sort the indices rows[0..n-1] of runs of the index. */
void home_sort_runs(const struct workspace_index *p, size_t *rows, size_t n, enum home_order order,
		    double now);

/* The names of the columns; the one that the rows are sorted by has a sign. */
void home_draw_heads(struct grid *g, struct rect r, enum home_order order);
void home_draw_run(const struct list_row *row, const struct indexed_run *run, double now);

#endif
