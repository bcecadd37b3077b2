/* hosts_panes.h - drawing of the panes of the hosts view. */
#ifndef WERKBANK_TUI_VIEWS_HOSTS_PANES_H
#define WERKBANK_TUI_VIEWS_HOSTS_PANES_H

#include <stdbool.h>

#include "tui/context/app_context.h"
#include "tui/plot/plot_viewport.h"
#include "tui/run/run_history.h"
#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/term/list_widget.h"

enum hosts_pane {
	HOSTS_TABLE,  /* one row per host */
	HOSTS_GPUS,   /* GPUs of the chosen host */
	HOSTS_HEAT,   /* one cell per GPU; or the GPUs of the chosen host over time */
	HOSTS_RANKS,  /* ranks of the chosen host */
	HOSTS_NET,    /* network of the chosen host over steps */
	HOSTS_WORK,   /* work and waiting over steps */
	HOSTS_EVENTS, /* events of hosts on a time line */
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

/* What a cell of the heat map is. */
enum map_scale {
	MAP_FITTING, /* GPUs, or hosts if these are far too many */
	MAP_HOSTS,   /* a host: its lowest GPU, or the highest for memory, power and temperature */
	MAP_GPUS,    /* a GPU */
	MAP_FIGURES, /* a GPU, with its number */
};

/* Position of the user. */
struct hosts_view_state {
	enum hosts_pane focus;
	bool zoomed;
	int chosen;	/* index of the chosen host in the fleet */
	bool has_moved; /* the user chose it; else it is the first row of the table */
	bool by_name;	/* order of the table; else odd hosts first */
	struct list_widget lists[HOSTS_PANES]; /* of all but the map and the curves */
	int map_top, map_page;	  /* first visible row of the map, and its rows as drawn last */
	enum hosts_metric metric; /* metric of the heat map */
	enum map_scale scale;	  /* of the heat map, as chosen … */
	enum map_scale drawn;	  /* … and as drawn last */
	int map_cols;		  /* hosts in a row of the map as drawn last */
	bool over_time;		  /* heat map over the run instead of all hosts */
	struct plot_viewport plots;
	struct rect boxes[HOSTS_PANES]; /* as drawn last, for the mouse */
};

/* All functions draw into box, border included, and clamp the scroll positions. */
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
void hosts_draw_events(struct grid *g, struct rect box, const struct run_history *h,
		       struct hosts_view_state *s);

/* The host of a row of the table, and the row of the chosen host. The fleet has hosts. */
int hosts_of_row(const struct fleet *f, const struct hosts_view_state *s, int row);
int hosts_chosen_row(const struct fleet *f, const struct hosts_view_state *s);

/* Choose the first row until the user has moved, and keep the choice inside of the fleet. */
void hosts_settle_choice(const struct fleet *f, struct hosts_view_state *s);

/* Draw the verdict on the network in one row, and its numbers in a second one if there is room. */
void hosts_draw_verdict(struct grid *g, struct rect r, const struct fleet *f);

/*
 * Write the network of the chosen host as SVG if its pane has the focus, else the work of its GPUs.
 */
void hosts_export_picture(struct app_context *w, struct hosts_view_state *s);

/* The series of the first line of the focused pane, for the cursor. NULL: none. */
const struct series *hosts_line(const struct run_history *h, const struct hosts_view_state *s);

/* The chosen host; NULL: none. */
const struct fleet_host *hosts_chosen(const struct run_history *h,
				      const struct hosts_view_state *s);

#endif
