/* run_panes.h - the panes of the run view: what view_run.c draws. */
#ifndef WERKBANK_TUI_RUN_PANES_H
#define WERKBANK_TUI_RUN_PANES_H

#include <stdbool.h>

#include "tui/grid.h"
#include "tui/history.h"
#include "tui/layout.h"

/* Where the user has moved to. */
struct run_sight {
	enum run_pane focus;
	bool   zoomed;
	int    top;		/* samples: first line shown */
	int    up;		/* log: lines between its end and the last one shown */
	int    left[PANE_COUNT];	/* columns scrolled to the right */
	double cursor;		/* step that the plots are read at; NaN: the latest */
	int    page;		/* rows of the focused pane when it was drawn */
	double stride;		/* steps that a column of a plot stands for, then */
};

/* All draw into box, border included, and keep scrolling within bounds. */
void run_draw_plot(struct grid *g, struct rect box, enum run_pane pane, const struct history *h,
		   struct run_sight *s);
void run_draw_samples(struct grid *g, struct rect box, const struct history *h,
		      struct run_sight *s);
void run_draw_log(struct grid *g, struct rect box, const struct history *h, struct run_sight *s);

/* The name, what is trained where, and the state. */
void run_draw_title(struct grid *g, struct rect r, const struct history *h);
/* Step, progress, epoch, time, best BLEU. */
void run_draw_facts(struct grid *g, struct rect r, const struct history *h, double now);

/* The step of the sample of the pane's first line that is nearest to x; NaN: there is none. */
double run_nearest_step(const struct history *h, enum run_pane pane, double x);

#endif
