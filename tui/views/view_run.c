/*
 * view_run.c - the tab "run": curves, speed, samples and log of one run.
 *
 * Without a run the view says how to start one.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/run/log_lines.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"
#include "tui/term/layout.h"
#include "tui/views/csv_export.h"
#include "tui/views/run_layouts.h"
#include "tui/views/run_panes.h"
#include "tui/views/views.h"

#define EMPTY_ROWS	 3  /* of a pane that says that it is empty */
#define LEFT_STRIDE	 8  /* columns per scroll step to the side */
#define WARNING_ROWS	 20 /* rows of the view that leave room for a warning ... */
#define WARNING_TWO_ROWS 30 /* ... and for two rows of it */

struct run_view {
	struct run_view_state view_state;
	struct run_layouts layouts;
	bool choosing; /* the menu of panes is open: keys are its letters */
};

static void run_begin(void *state)
{
	struct run_view *v = state;

	v->view_state = (struct run_view_state){ .focus = PANE_LOSS };
	viewport_init(&v->view_state.plots);
}

static int run_open(void *state, struct app_context *w, struct err *e)
{
	struct run_view *v = state;

	(void)e;
	run_layouts_read(&v->layouts, w);
	return 0;
}

/* ---- panes ---- */

static unsigned panes_shown(const struct run_view *v, int cols)
{
	return run_layouts_shown(&v->layouts, layout_size_of(cols));
}

/* The next shown pane, forwards or backwards; by 0: the focus itself if it is shown, or the next. */
static void move_run_focus(struct run_view *v, int cols, int by)
{
	unsigned shown = panes_shown(v, cols);
	int focus = (int)v->view_state.focus + by;

	for (int i = 0; i < PANE_COUNT; i++, focus += by ? by : 1) {
		focus = (focus + PANE_COUNT) % PANE_COUNT;
		if (shown >> focus & 1)
			break;
	}
	v->view_state.focus = (enum run_pane)(focus % PANE_COUNT);
}

static bool run_typing(void *state)
{
	const struct run_view *v = state;

	return v->choosing;
}

/* A key while the menu of panes is open: a digit chooses a layout and closes the menu. */
static unsigned run_key(void *state, struct app_context *w, int key)
{
	struct run_view *v = state;

	if (run_layouts_key(&v->layouts, layout_size_of(w->cols), key)) {
		v->choosing = key > '9';
		move_run_focus(v, w->cols, 0);
		run_layouts_save(&v->layouts, w);
		return REACT_REDRAW;
	}
	if (key_is_text(key))
		return REACT_NOTHING;
	v->choosing = false;
	return key == 0x1B || key == '\r' ? REACT_REDRAW : REACT_REDRAW | REACT_UNKNOWN;
}

static void run_restored(void *state, struct app_context *w)
{
	struct run_view *v = state;

	move_run_focus(v, w->cols, 0);
	run_layouts_save(&v->layouts, w);
}

/* ---- keys ---- */

static void scroll_right(struct run_view_state *s, int direction)
{
	s->left[s->focus] = MIN(MAX(s->left[s->focus] + direction * LEFT_STRIDE, 0), 4096);
}

/* Actions of text panes, and moves between panes. */
static unsigned act_on_run_pane(struct run_view *v, const struct app_context *w, enum action action)
{
	struct run_view_state *s = &v->view_state;
	bool text = s->focus >= PANE_SAMPLES;

	if (action == ACTION_HOME || action == ACTION_END) {
		s->plots.cursor = NAN;
		return text ? REACT_UNKNOWN : REACT_REDRAW;
	}
	switch (action) {
	case ACTION_LEFT:
	case ACTION_RIGHT:
		if (!text)
			return REACT_UNKNOWN;
		scroll_right(s, action == ACTION_LEFT ? -1 : 1);
		break;
	case ACTION_NEXT_PANE:
		move_run_focus(v, w->cols, 1);
		break;
	case ACTION_PREV_PANE:
		move_run_focus(v, w->cols, -1);
		break;
	case ACTION_RUN_LAYOUT:
		v->choosing = true;
		break;
	case ACTION_BACK:
		s->zoomed = false;
		s->plots.cursor = s->plots.from = s->plots.to = NAN;
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

static void copy_pane(const struct run_view_state *s, struct app_context *w)
{
	struct csv_series items[RUN_LINES];
	struct buf out = { 0 };

	if (run_series(w->history, s->focus, items)) {
		csv_put_series(w->history, items[0].series, &out);
	} else if (s->focus == PANE_LOG) {
		for (size_t i = 0; i < w->history->n_lines; i++)
			buf_printf(&out, "%s\n", history_line(w->history, i)->text);
	} else {
		for (size_t i = 0; i < w->history->n_samples; i++) {
			const char *text = w->history->samples[i].hypothesis;

			buf_printf(&out, "%s\n", text ? text : "");
		}
	}
	context_copy_text(w, buf_text(&out));
	buf_free(&out);
}

/* Moves the cursor to the next or former event. Without a cursor, events are searched from the end of the run backwards. */
static void move_to_event(struct plot_viewport *plots, struct app_context *w, bool is_next)
{
	const struct run_history *h = w->history;
	const double at = isfinite(plots->cursor) ? plots->cursor : (double)h->step + 1;
	double found = NAN;

	for (size_t i = 0; i < h->n_marks; i++) {
		const double x = h->marks[i].x;
		bool fits = is_next ? x > at && !isfinite(found) : x < at;

		if (fits && h->marks[i].kind != LINE_SAVE)
			found = x;
	}
	if (isfinite(found))
		plots->cursor = found;
	else
		context_notify(w, STYLE_WARN,
			       is_next ? "no event after this step" : "no event before this step");
}

static unsigned act_on_run(struct run_view *v, struct app_context *w, enum action action)
{
	struct run_view_state *s = &v->view_state;
	struct csv_series items[RUN_LINES];
	size_t n;
	unsigned reaction;

	if (action == ACTION_RUN_EVENT || action == ACTION_RUN_FORMER) {
		move_to_event(&s->plots, w, action == ACTION_RUN_EVENT);
		return REACT_REDRAW;
	}
	reaction = act_on_run_pane(v, w, action);
	if (!(reaction & REACT_UNKNOWN))
		return reaction;
	n = run_series(w->history, s->focus, items);
	if (action == ACTION_EXPORT && n)
		csv_export_series(w, items, n);
	else if (action == ACTION_EXPORT ||
		 (action == ACTION_PLOT_PICTURE && !run_export_picture(w, s->focus, s)))
		context_notify(w, STYLE_WARN,
			       "this pane has no curves; the log view exports its lines");
	else if (action == ACTION_COPY)
		copy_pane(s, w);
	else if (action != ACTION_PLOT_PICTURE)
		return viewport_act(&s->plots, action, s->focus,
				    n ? items[0].series : &w->history->loss);
	return REACT_REDRAW;
}

static unsigned run_act(void *state, struct app_context *w, enum action action)
{
	struct run_view *v = state;
	unsigned reaction;

	v->view_state.plots.cursor = w->plot_step;
	reaction = act_on_run(v, w, action);
	w->plot_step = v->view_state.plots.cursor;
	return reaction;
}

static unsigned run_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct run_view *v = state;
	struct run_view_state *s = &v->view_state;
	size_t plot = s->focus;
	unsigned reaction;

	reaction = viewport_mouse(&s->plots, m, &plot);
	w->plot_step = s->plots.cursor;
	if (m->kind == MOUSE_PRESS || mouse_wheel_action(m))
		for (int i = 0; i < PANE_COUNT; i++)
			if (layout_has_cell(s->boxes[i], m->row, m->col)) {
				s->focus = (enum run_pane)i;
				reaction |= REACT_REDRAW;
			}
	return reaction;
}

/* ---- drawing ---- */

static void draw_no_run(struct grid *g, struct rect body, const struct app_context *w)
{
	char text[480];

	snprintf(text, sizeof(text),
		 "There is no run yet in %.150s\n\n"
		 "werkbank prep demo                prepares a small English-German corpus\n"
		 "werkbank train demo --run first   trains a Transformer on it\n\n"
		 "The home view (1) runs these commands. The run then appears here.\n\n"
		 "q leaves",
		 w->workspace);
	draw_centred(g, body, STYLE_TITLE, text);
}

static void draw_too_small(struct grid *g, struct rect body, const struct run_history *h)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "%s: %s. The workbench needs %d x %d characters; this terminal has %d x %d.",
		 h->name, run_state_name(h->state), LAYOUT_MIN_COLS, LAYOUT_MIN_ROWS, g->cols,
		 g->rows);
	draw_text_wrapped(g, (struct span){ body.row, body.col, body.cols, STYLE_NORMAL },
			  body.rows, 0, text);
}

static void draw_run_pane(struct grid *g, struct rect box, enum run_pane pane,
			  struct run_view_state *s, const struct run_history *h)
{
	if (!box.rows)
		return;
	if (pane == PANE_SAMPLES)
		run_draw_samples(g, box, h, s);
	else if (pane == PANE_LOG)
		run_draw_log(g, box, h, s);
	else
		run_draw_plot(g, box, pane, h, s);
}

/* The newest warning about learning below the panes, on two lines if there is room; takes them from *body. */
static void draw_last_warning(struct grid *g, struct rect *body, const struct run_history *h)
{
	const struct history_line *l = &h->warning;
	const int rows = body->rows >= WARNING_TWO_ROWS ? 2 : 1;
	char step[NUMBER_TEXT_BYTES], text[HISTORY_TEXT + 80];

	if (!*l->text || body->rows < WARNING_ROWS)
		return;
	body->rows -= rows;
	snprintf(text, sizeof(text), "%s at step %s: %s", log_kind_name(l->kind),
		 format_count(step, l->step >= 0 ? l->step : h->step), l->text);
	draw_text_wrapped(g,
			  (struct span){ body->row + body->rows, body->col + 1, body->cols - 2,
					 log_style(l->kind) },
			  rows, 0, text);
}

/* The rectangle of all panes. */
static struct rect values_box(const struct run_layout *layout)
{
	struct rect all = { 0 };

	for (int i = 0; i < PANE_COUNT; i++) {
		const struct rect *r = &layout->panes[i];
		int bottom = MAX(all.row + all.rows, r->row + r->rows);
		int right = MAX(all.col + all.cols, r->col + r->cols);

		if (!r->rows)
			continue;
		if (!all.rows)
			all = *r;
		all.row = MIN(all.row, r->row);
		all.col = MIN(all.col, r->col);
		all.rows = bottom - all.row;
		all.cols = right - all.col;
	}
	return all;
}

static void run_draw(void *state, struct grid *g, struct rect body, const struct app_context *w)
{
	struct run_view *v = state;
	struct run_layout layout;

	if (!w->history) {
		draw_no_run(g, body, w);
		return;
	}
	viewport_clear_areas(&v->view_state.plots);
	v->view_state.plots.cursor = w->plot_step;
	memset(v->view_state.boxes, 0, sizeof(v->view_state.boxes));
	draw_last_warning(g, &body, w->history);
	move_run_focus(v, body.cols,
		       0); /* the size of the screen may have changed, and with it the layout */
	layout_run(body, panes_shown(v, body.cols), v->view_state.focus, v->view_state.zoomed,
		   run_step_is_short(w->history), &layout);
	/* without samples their pane gives its rows to the log below it */
	if (!w->history->n_samples && v->view_state.focus != PANE_SAMPLES)
		layout_shrink(&layout.panes[PANE_SAMPLES], &layout.panes[PANE_LOG], EMPTY_ROWS);
	if (layout.too_small) {
		draw_too_small(g, body, w->history);
		return;
	}
	run_draw_title(g, layout.title, w->history);
	run_draw_facts(g, layout.facts, w->history, &v->view_state, w->now);
	run_collect_marks(w->history, &v->view_state);
	memcpy(v->view_state.boxes, layout.panes, sizeof(v->view_state.boxes));
	for (enum run_pane pane = 0; pane < PANE_COUNT; pane++)
		draw_run_pane(g, layout.panes[pane], pane, &v->view_state, w->history);
	if (v->view_state.shows_values)
		run_draw_values(g, values_box(&layout), w->history, &v->view_state);
	if (v->choosing)
		run_layouts_draw_menu(&v->layouts, layout_size_of(body.cols), g, body);
}

static const struct view_pane run_panes[PANE_COUNT] = {
	[PANE_LOSS... PANE_GRAD] =
		VIEW_PANE("plots", ACTION_PLOT_IN, ACTION_PLOT_SMOOTHER, ACTION_PLOT_ROUGHER,
			  ACTION_RUN_VALUES, ACTION_EXPORT, ACTION_PLOT_PICTURE, ACTION_PLOT_OUT,
			  ACTION_PLOT_ALL, ACTION_PLOT_EARLIER, ACTION_PLOT_LATER, ACTION_LEFT,
			  ACTION_RIGHT, ACTION_PLOT_LOG_X, ACTION_PLOT_LOG_Y, ACTION_PLOT_TRIM,
			  ACTION_COPY, ACTION_ZOOM, ACTION_NEXT_PANE),
	[PANE_SAMPLES] = VIEW_PANE("samples", ACTION_COPY, ACTION_DOWN, ACTION_UP, ACTION_PAGE_DOWN,
				   ACTION_PAGE_UP, ACTION_HOME, ACTION_END, ACTION_LEFT,
				   ACTION_RIGHT, ACTION_ZOOM, ACTION_NEXT_PANE),
	[PANE_LOG] = VIEW_PANE("log", ACTION_COPY, ACTION_DOWN, ACTION_UP, ACTION_PAGE_DOWN,
			       ACTION_PAGE_UP, ACTION_HOME, ACTION_END, ACTION_LEFT, ACTION_RIGHT,
			       ACTION_ZOOM, ACTION_NEXT_PANE),
};

static const struct view_toggle run_toggles[] = {
	VIEW_KEY(struct run_view, view_state.zoomed, ACTION_ZOOM, 2, NULL),
	VIEW_KEY(struct run_view, view_state.shows_values, ACTION_RUN_VALUES, 2, NULL),
	VIEW_TOGGLE(struct run_view, layouts),
	VIEWPORT_TOGGLES(VIEW_TOGGLE, struct run_view, view_state.plots),
};

const struct view view_run = {
	.name = "run",
	.title = "run",
	.state_size = sizeof(struct run_view),
	.begin = run_begin,
	.open = run_open,
	.act = run_act,
	.draw = run_draw,
	.typing = run_typing,
	.key = run_key,
	.mouse = run_mouse,
	.needs_run = true,
	.panes = run_panes,
	.n_panes = PANE_COUNT,
	.focus = offsetof(struct run_view, view_state.focus),
	.lists = offsetof(struct run_view, view_state.lists),
	.n_lists = PANE_COUNT,
	.hints = VIEW_ACTIONS(ACTION_NEXT_PANE, ACTION_ZOOM, ACTION_SAVE, ACTION_EVALUATE,
			      ACTION_STOP, ACTION_RUN_LAYOUT, ACTION_PLOT_IN, ACTION_PLOT_SMOOTHER,
			      ACTION_EXPORT, ACTION_CHOOSE_RUN),
	.toggles = run_toggles,
	.n_toggles = ARRAY_LEN(run_toggles),
	.restored = run_restored,
};
