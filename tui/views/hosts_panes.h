/* hosts_panes.h - the panes of the hosts view: what view_hosts.c draws. */
#ifndef WERKBANK_TUI_VIEWS_HOSTS_PANES_H
#define WERKBANK_TUI_VIEWS_HOSTS_PANES_H

#include <stdbool.h>

#include "tui/term/grid.h"
#include "tui/run/run_history.h"
#include "tui/term/layout.h"
#include "tui/plot/plot_viewport.h"

enum hosts_pane {
	HOSTS_TABLE, /* a row a host */
	HOSTS_GPUS,  /* the processors of the chosen host */
	HOSTS_HEAT,  /* a cell a processor; or the chosen host's over time */
	HOSTS_RANKS, /* the ranks of the chosen host */
	HOSTS_NET,   /* its network over steps */
	HOSTS_WORK,  /* work and waiting over steps */
	HOSTS_PANES
};

enum hosts_metric {
	METRIC_WORKING,
	METRIC_UTIL,
	METRIC_MEMORY,
	METRIC_POWER,
	METRIC_TEMPERATURE,
	METRIC_CLOCK,
	HOSTS_METRICS
};

/* Where the user has moved to. */
struct hosts_view_state {
	enum hosts_pane focus;
	bool zoomed;
	int chosen;		  /* which host */
	int top[HOSTS_PANES];	  /* first row shown */
	int page;		  /* rows of the focused pane when it was drawn */
	enum hosts_metric metric; /* of the heat map */
	bool over_time;		  /* it shows the chosen host's processors over the run */
	struct plot_viewport plots;
	struct rect boxes[HOSTS_PANES]; /* as drawn last: for the mouse */
	int first_row;			/* screen row of the first host */
};

/* All draw into box, border included, and keep scrolling within bounds. */
void hosts_draw_table(struct grid *g, struct rect box, const struct run_history *h, double now,
		      struct hosts_view_state *s);
void hosts_draw_gpus(struct grid *g, struct rect box, const struct run_history *h,
		     struct hosts_view_state *s);
void hosts_draw_heat(struct grid *g, struct rect box, const struct run_history *h,
		     struct hosts_view_state *s);
void hosts_draw_ranks(struct grid *g, struct rect box, const struct run_history *h,
		      struct hosts_view_state *s);
void hosts_draw_net(struct grid *g, struct rect box, const struct run_history *h,
		    struct hosts_view_state *s);
void hosts_draw_work(struct grid *g, struct rect box, const struct run_history *h,
		     struct hosts_view_state *s);

/* What the network was judged to be, in a row; in a second one (rows permitting) the figures. */
void hosts_draw_verdict(struct grid *g, struct rect r, const struct fleet *f);

/* The series of a pane's first line: what the cursor goes by. NULL: none. */
const struct series *hosts_line(const struct run_history *h, const struct hosts_view_state *s);

/* The chosen host; NULL: there is none. */
const struct fleet_host *hosts_chosen(const struct run_history *h,
				      const struct hosts_view_state *s);

#endif
