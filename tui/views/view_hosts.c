/*
 * view_hosts.c - the tab "hosts": hosts, GPUs, ranks and network of a run.
 *
 * All data comes from the journal (run_history.h), so finished runs have it too.
 */
#include <math.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/term/draw.h"
#include "tui/term/list_widget.h"
#include "tui/views/csv_export.h"
#include "tui/views/hosts_panes.h"
#include "tui/views/views.h"

#define MIN_ROWS 8
#define MIN_COLS 40
#define WIDE	 110 /* columns from which panes are side by side */

static void hosts_begin(void *state)
{
	struct hosts_view_state *s = state;

	*s = (struct hosts_view_state){ .focus = HOSTS_TABLE };
	viewport_init(&s->plots);
	s->plots.smooth = 0; /* the values are means over seconds already */
}

/* ---- keys ---- */

/* Choose another host in the map, which is in the fleet's own order. */
static void move_on_map(const struct fleet *f, struct hosts_view_state *s, int by)
{
	s->has_moved = true;
	s->chosen = MAX(MIN(s->chosen + by, (int)f->n_hosts - 1), 0);
}

static void hosts_moved(void *state, struct app_context *w, int pane, size_t before)
{
	const struct fleet *f = &w->history->fleet;
	struct hosts_view_state *s = state;

	(void)before;
	/* another run may have been chosen since the table was drawn */
	if (pane != HOSTS_TABLE || s->lists[pane].at >= f->n_hosts)
		return;
	s->has_moved = true;
	s->chosen = hosts_of_row(f, s, (int)s->lists[pane].at);
}

static void copy_table(struct app_context *w, const struct fleet *f)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < f->n_hosts; i++) {
		const struct fleet_host *h = &f->hosts[i];

		csv_put_field(&out, h->name, '\t');
		csv_put_number(&out, h->rx_bytes_s * 8, '\t');
		csv_put_number(&out, h->tx_bytes_s * 8, '\t');
		csv_put_number(&out, h->working.value, '\n');
	}
	context_copy_text(w, buf_text(&out));
	buf_free(&out);
}

/* Keys of the map of all GPUs: what a cell is, and the next host in a line of hosts. */
static bool act_on_map(const struct fleet *f, struct hosts_view_state *s, enum action action)
{
	if (s->focus != HOSTS_HEAT || s->over_time)
		return false;
	if (action == ACTION_PLOT_IN)
		s->scale = (enum map_scale)MIN((int)s->drawn + 1, (int)MAP_FIGURES);
	else if (action == ACTION_PLOT_OUT)
		s->scale = (enum map_scale)MAX((int)s->drawn - 1, (int)MAP_HOSTS);
	else if (action == ACTION_PLOT_ALL)
		s->scale = MAP_FITTING;
	else if (s->drawn == MAP_HOSTS && (action == ACTION_LEFT || action == ACTION_RIGHT))
		move_on_map(f, s, action == ACTION_LEFT ? -1 : 1);
	else if (s->drawn == MAP_HOSTS && (action == ACTION_UP || action == ACTION_DOWN))
		move_on_map(f, s, action == ACTION_UP ? -s->map_cols : s->map_cols);
	else
		return false;
	return true;
}

static size_t most_gpus(const struct fleet *f)
{
	size_t most = 0;

	for (size_t i = 0; i < f->n_hosts; i++)
		most = MAX(most, f->hosts[i].n_gpus);
	return most;
}

static unsigned act_on_hosts_pane(struct hosts_view_state *s, struct app_context *w,
				  enum action action)
{
	const struct fleet *f = &w->history->fleet;
	int by;

	if (act_on_map(f, s, action))
		return REACT_REDRAW;
	if (action == ACTION_END) {
		s->plots.cursor = NAN;
		if (s->focus == HOSTS_NET || s->focus == HOSTS_WORK)
			return REACT_REDRAW;
	}
	if (s->focus == HOSTS_HEAT && list_move_of(action, s->map_page, &by)) {
		move_on_map(f, s, by);
		return REACT_REDRAW;
	}
	switch (action) {
	case ACTION_BACK:
		s->zoomed = false;
		s->plots.cursor = NAN;
		break;
	case ACTION_HOSTS_METRIC:
	case ACTION_HOSTS_TIME:
		if (!most_gpus(f)) {
			context_notify(w, STYLE_NORMAL,
				       "no map: no host of this run has reported a GPU");
			break;
		}
		if (!s->boxes[HOSTS_HEAT].rows) { /* a small screen shows the map alone */
			s->focus = HOSTS_HEAT;
			break;
		}
		if (action == ACTION_HOSTS_TIME) {
			s->over_time = !s->over_time;
			break;
		}
		s->metric = (enum hosts_metric)((s->metric + 1) % HOSTS_METRICS);
		break;
	case ACTION_EXPORT:
		csv_export_hosts(w);
		break;
	case ACTION_PLOT_PICTURE:
		hosts_export_picture(w, s);
		break;
	case ACTION_COPY:
		copy_table(w, f);
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

static unsigned hosts_act(void *state, struct app_context *w, enum action action)
{
	struct hosts_view_state *s = state;
	unsigned reaction;

	hosts_settle_choice(&w->history->fleet, s);
	s->plots.cursor = w->plot_step;
	reaction = act_on_hosts_pane(s, w, action);
	hosts_settle_choice(&w->history->fleet, s);
	if (reaction & REACT_UNKNOWN)
		reaction = viewport_act(&s->plots, action,
					s->focus == HOSTS_NET ? HOSTS_NET : HOSTS_WORK,
					hosts_line(w->history, s));
	w->plot_step = s->plots.cursor;
	return reaction;
}

static unsigned hosts_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct hosts_view_state *s = state;
	const struct fleet *f = &w->history->fleet;
	unsigned reaction;
	size_t plot;

	if (!f->n_hosts)
		return REACT_UNKNOWN;
	reaction = viewport_mouse(&s->plots, m, &plot);
	if (!(reaction & REACT_UNKNOWN)) {
		w->plot_step = s->plots.cursor;
		return reaction;
	}
	for (int i = 0; i < HOSTS_PANES; i++)
		if (layout_has_cell(s->boxes[i], m->row, m->col)) {
			if (m->kind == MOUSE_PRESS || mouse_wheel_action(m))
				s->focus = (enum hosts_pane)i;
			return REACT_REDRAW | REACT_UNKNOWN; /* its list is moved by view.c */
		}
	return REACT_UNKNOWN;
}

/* ---- drawing ---- */

/* One column; the least important panes are hidden first. */
static void place_narrow(struct rect r, const struct fleet *f, size_t gpus, struct rect *boxes)
{
	int hosts = (int)MIN(f->n_hosts, 400) + 3, gpu_rows = (int)gpus + 3;
	const struct layout_part parts[] = {
		{ MIN(hosts, 8), hosts, 3, 0 },
		{ !gpus		    ? 0
		  : f->n_hosts == 1 ? MIN(gpu_rows, 9)
				    : 5,
		  gpu_rows, 3, 2 },
		{ f->n_ranks ? 4 : 0, 12, 1, 4 },
		{ 6, 0, 3, 1 },
		{ gpus && f->n_hosts > 1 ? 5 : 0, (int)MIN(f->n_hosts, 400) + 2, 1, 5 },
	};
	static const enum hosts_pane panes[] = { HOSTS_TABLE, HOSTS_GPUS, HOSTS_RANKS, HOSTS_NET,
						 HOSTS_HEAT };
	struct rect out[ARRAY_LEN(parts)];

	layout_rows(r, parts, ARRAY_LEN(parts), out);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (out[i].rows)
			boxes[panes[i]] = out[i];
	if (boxes[HOSTS_NET].rows && boxes[HOSTS_NET].cols >= 60) {
		struct rect left = boxes[HOSTS_NET], right = left;

		left.cols /= 2;
		right.col += left.cols;
		right.cols -= left.cols;
		boxes[HOSTS_NET] = left;
		boxes[HOSTS_WORK] = right;
	}
}

static void place_wide(struct rect r, const struct fleet *f, size_t gpus, struct rect *boxes)
{
	int hosts = (int)MIN(f->n_hosts, 400) + 3;
	const struct layout_part parts[] = {
		{ MIN(hosts, 6), hosts, 8, 0 },
		{ gpus ? 6 : 0, (int)MAX(gpus + 3, MIN(f->n_hosts + 2, 34)), 8, 2 },
		{ 8, 0, 3, 1 },
		{ f->n_events ? 5 : 0, 12, 1, 3 },
	};
	static const struct layout_part two[] = { { 60, 0, 3, 0 }, { 40, 0, 2, 1 } };
	static const struct layout_part three[] = { { 36, 0, 1, 0 },
						    { 36, 0, 1, 1 },
						    { 36, 0, 1, 2 } };
	struct rect rows[4], out[3];

	layout_rows(r, parts, 4, rows);
	if (rows[3].rows)
		boxes[HOSTS_EVENTS] = rows[3];
	boxes[HOSTS_TABLE] = rows[0];
	if (rows[1].rows) {
		layout_cols(rows[1], two, f->n_hosts > 1 ? 2 : 1, out);
		boxes[HOSTS_GPUS] = out[0];
		if (f->n_hosts > 1) /* the map of a single host would repeat a column of its GPUs */
			boxes[HOSTS_HEAT] = out[1];
	}
	if (rows[2].rows) {
		layout_cols(rows[2], three, 3, out);
		boxes[HOSTS_NET] = out[0];
		boxes[HOSTS_WORK] = out[1];
		boxes[HOSTS_RANKS] = out[2];
	}
}

static void draw_hosts_pane(struct grid *g, enum hosts_pane pane, struct hosts_view_state *s,
			    const struct app_context *w)
{
	static void (*const draw[HOSTS_PANES])(struct grid *, struct rect,
					       const struct run_history *,
					       struct hosts_view_state *) = {
		[HOSTS_GPUS] = hosts_draw_gpus,	  [HOSTS_HEAT] = hosts_draw_heat,
		[HOSTS_RANKS] = hosts_draw_ranks, [HOSTS_NET] = hosts_draw_net,
		[HOSTS_WORK] = hosts_draw_work,	  [HOSTS_EVENTS] = hosts_draw_events,
	};
	struct rect box = s->boxes[pane];

	if (!box.rows || !box.cols)
		return;
	if (pane == HOSTS_TABLE)
		hosts_draw_table(g, box, w->history, w->now, s);
	else
		draw[pane](g, box, w->history, s);
}

static void draw_no_hosts(struct grid *g, struct rect body, const struct app_context *w)
{
	draw_centred(g, body, STYLE_TITLE,
		     w->history ? "The journal of this run has no host records.\n\n"
				  "Training writes host records every ten seconds,\n"
				  "unless its recipe sets telemetry_every = 0."
				: "There is no run yet.");
}

static void hosts_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct hosts_view_state *s = state;
	struct rect verdict = body, rest = body;

	memset(s->boxes, 0, sizeof(s->boxes));
	viewport_clear_areas(&s->plots);
	s->plots.cursor = w->plot_step;
	if (!w->history || !w->history->fleet.n_hosts) {
		draw_no_hosts(g, body, w);
		return;
	}
	hosts_settle_choice(&w->history->fleet, s);
	verdict.rows = body.rows >= 18 ? 2 : 1;
	rest.row += verdict.rows;
	rest.rows -= verdict.rows;
	hosts_draw_verdict(g, verdict, &w->history->fleet);
	if (body.rows < MIN_ROWS || body.cols < MIN_COLS) {
		if (rest.rows >= 4)
			s->boxes[HOSTS_TABLE] = rest;
	} else if (s->zoomed) {
		s->boxes[s->focus] = rest;
	} else if (body.cols >= WIDE) {
		place_wide(rest, &w->history->fleet, most_gpus(&w->history->fleet), s->boxes);
	} else {
		place_narrow(rest, &w->history->fleet, most_gpus(&w->history->fleet), s->boxes);
	}
	/* A focused pane that has no room gets the whole body. */
	if (!s->zoomed && !s->boxes[s->focus].rows && body.rows >= MIN_ROWS) {
		memset(s->boxes, 0, sizeof(s->boxes));
		s->boxes[s->focus] = rest;
	}
	for (enum hosts_pane pane = 0; pane < HOSTS_PANES; pane++)
		draw_hosts_pane(g, pane, s, w);
}

static const enum action curve_actions[] = { ACTION_PLOT_IN, ACTION_PLOT_LOG_Y, ACTION_PLOT_PICTURE,
					     ACTION_LEFT,    ACTION_RIGHT,	ACTION_NONE };
static const enum action row_actions[] = { ACTION_DOWN, ACTION_UP, ACTION_NONE };

static const struct view_pane hosts_panes[HOSTS_PANES] = {
	[HOSTS_TABLE] = VIEW_PANE("table", ACTION_ORDER, ACTION_EXPORT, ACTION_COPY),
	[HOSTS_HEAT] = VIEW_PANE("map", ACTION_HOSTS_METRIC, ACTION_HOSTS_TIME, ACTION_PLOT_IN,
				 ACTION_PLOT_OUT),
	[HOSTS_NET] = { "curves", curve_actions },
	[HOSTS_WORK] = { "curves", curve_actions },
	[HOSTS_GPUS] = { "rows", row_actions },
	[HOSTS_RANKS] = { "rows", row_actions },
	[HOSTS_EVENTS] = { "rows", row_actions },
};

/* Until the user moves, the first row of the order stays chosen. */
static void use_host_order(void *state, struct app_context *w)
{
	struct hosts_view_state *s = state;

	(void)w;
	s->has_moved = false;
}

static const struct view_toggle hosts_toggles[] = {
	VIEW_KEY(struct hosts_view_state, zoomed, ACTION_ZOOM, 2, NULL),
	VIEW_TOGGLE(struct hosts_view_state, metric),
	VIEW_TOGGLE(struct hosts_view_state, over_time),
	VIEW_KEY(struct hosts_view_state, by_name, ACTION_ORDER, 2, use_host_order),
	VIEW_TOGGLE(struct hosts_view_state, scale),
	VIEWPORT_TOGGLES(VIEW_TOGGLE, struct hosts_view_state, plots),
};

const struct view view_hosts = {
	.name = "hosts",
	.title = "hosts",
	.state_size = sizeof(struct hosts_view_state),
	.begin = hosts_begin,
	.act = hosts_act,
	.draw = hosts_draw,
	.mouse = hosts_mouse,
	.needs_run = true,
	.panes = hosts_panes,
	.n_panes = HOSTS_PANES,
	.focus = offsetof(struct hosts_view_state, focus),
	.lists = offsetof(struct hosts_view_state, lists),
	.n_lists = HOSTS_PANES,
	.list_moved = hosts_moved,
	.hints = VIEW_ACTIONS(ACTION_NEXT_PANE, ACTION_ZOOM, ACTION_HOSTS_METRIC, ACTION_HOSTS_TIME,
			      ACTION_PLOT_IN, ACTION_ORDER, ACTION_EXPORT),
	.toggles = hosts_toggles,
	.n_toggles = ARRAY_LEN(hosts_toggles),
};
