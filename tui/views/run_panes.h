/* run_panes.h - drawing of the panes of the run view. */
#ifndef WERKBANK_TUI_VIEWS_RUN_PANES_H
#define WERKBANK_TUI_VIEWS_RUN_PANES_H

#include <stdbool.h>

#include "tui/plot/plot_viewport.h"
#include "tui/run/run_history.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/term/list_widget.h"
#include "tui/views/csv_export.h"

/* Position of the user. */
struct run_view_state {
	enum run_pane focus;
	bool zoomed;
	bool shows_values;		      /* the table of run_draw_values() */
	struct list_widget lists[PANE_COUNT]; /* of samples and log */
	int left[PANE_COUNT];		      /* columns scrolled out at the left */
	struct plot_viewport plots;
	struct rect boxes[PANE_COUNT];	       /* as drawn last, for the mouse */
	struct plot_mark marks[HISTORY_MARKS]; /* events of the run, for its plots */
	size_t n_marks, n_saves; /* all marks; those of checkpoints, which come first */
};

/* All functions draw into box, border included, and clamp the scroll positions. */
void run_draw_plot(struct grid *g, struct rect box, enum run_pane pane, const struct run_history *h,
		   struct run_view_state *s);
/* Is there little to see in the step pane: no parts are known, or computing is nearly all? */
bool run_step_is_short(const struct run_history *h);
void run_draw_ops(struct grid *g, struct rect box, const struct run_history *h);
void run_draw_samples(struct grid *g, struct rect box, const struct run_history *h,
		      struct run_view_state *s);
void run_draw_log(struct grid *g, struct rect box, const struct run_history *h,
		  struct run_view_state *s);

/*
 * Draw a table over a part of body: the values of all curves at the cursor's step, smoothed as drawn
 * and raw, and the steps of the samples that they come from.
 */
void run_draw_values(struct grid *g, struct rect body, const struct run_history *h,
		     const struct run_view_state *s);

/* Draw the name, model size, backend, host and state. */
void run_draw_title(struct grid *g, struct rect r, const struct run_history *h);
/* Draw step, progress, epoch, time, best BLEU; with a cursor, the values and events at its step. */
void run_draw_facts(struct grid *g, struct rect r, const struct run_history *h,
		    const struct run_view_state *s, double now);

/* Collect the event marks of the run for its plots, once per draw. */
void run_collect_marks(const struct run_history *h, struct run_view_state *s);

/* Write the series of a pane's plot with their tags; returns their number, 0: none. */
#define RUN_LINES 6
size_t run_series(const struct run_history *h, enum run_pane pane,
		  struct csv_series items[RUN_LINES]);

/* Write the plot of a pane as SVG. false: the pane is no plot. */
bool run_export_picture(struct app_context *w, enum run_pane pane, struct run_view_state *s);

#endif
