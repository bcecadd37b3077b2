/* run_panes.h - the panes of the run view: what view_run.c draws. */
#ifndef WERKBANK_TUI_VIEWS_RUN_PANES_H
#define WERKBANK_TUI_VIEWS_RUN_PANES_H

#include <stdbool.h>

#include "tui/views/csv_export.h"
#include "tui/term/grid.h"
#include "tui/run/run_history.h"
#include "tui/term/layout.h"
#include "tui/plot/plot_viewport.h"

/* Where the user has moved to. */
struct run_view_state {
	enum run_pane focus;
	bool zoomed;
	int top;	      /* samples: first line shown */
	int up;		      /* log: lines between its end and the last one shown */
	int left[PANE_COUNT]; /* columns scrolled to the right */
	int page;	      /* rows of the focused pane when it was drawn */
	struct plot_viewport plots;
	struct rect boxes[PANE_COUNT];	       /* as drawn last: for the mouse */
	struct plot_mark marks[HISTORY_MARKS]; /* of the run, for its plots */
	size_t n_marks;
};

/* All draw into box, border included, and keep scrolling within bounds. */
void run_draw_plot(struct grid *g, struct rect box, enum run_pane pane, const struct run_history *h,
		   struct run_view_state *s);
void run_draw_samples(struct grid *g, struct rect box, const struct run_history *h,
		      struct run_view_state *s);
void run_draw_log(struct grid *g, struct rect box, const struct run_history *h,
		  struct run_view_state *s);

/* The name, what is trained where, and the state. */
void run_draw_title(struct grid *g, struct rect r, const struct run_history *h);
/* Step, progress, epoch, time, best BLEU; with a cursor, what was known and what happened there. */
void run_draw_facts(struct grid *g, struct rect r, const struct run_history *h,
		    const struct run_view_state *s, double now);

/* The marks of the run as its plots show them; once a draw. */
void run_collect_marks(const struct run_history *h, struct run_view_state *s);

/* The series of a pane's plot and their tags; how many. 0: it has none. */
#define RUN_LINES 6
size_t run_series(const struct run_history *h, enum run_pane pane,
		  struct csv_series items[RUN_LINES]);

#endif
