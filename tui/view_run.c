/*
 * view_run.c - one run: what it learns, how fast, what it translates, what happened.
 *
 * Without a run the view says how to start one, and opens it as soon as it is there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/history.h"
#include "tui/layout.h"
#include "tui/run_panes.h"
#include "tui/view.h"

#define READ_BUDGET_S 0.05	/* of one update(): keys are answered in between */
#define LEFT_STRIDE   8		/* columns that a step to the side scrolls */

struct run_view {
	struct history *history;	/* owned; NULL: no run yet */
	struct run_sight sight;
	struct err trouble;		/* the last failure to read; text "" when there is none */
	double shown_second;		/* of the clock, when it was drawn last */
};

static int run_open(void *state, const struct view_world *w, struct err *e)
{
	struct run_view *v = state;
	char *newest;

	v->sight.cursor = NAN;
	if (w->run) {
		v->history = history_open(w->workspace, w->run, e);
		return v->history ? 0 : e->code;
	}
	newest = history_newest(w->workspace, e);
	if (!newest)
		return e->code;
	v->history = history_open(w->workspace, newest, e);
	free(newest);
	return v->history ? 0 : e->code;
}

static unsigned run_update(void *state, const struct view_world *w)
{
	struct run_view *v = state;
	struct err e = { 0 };
	int got;

	if (!v->history) {
		if (run_open(v, w, &e) || !v->history)
			return REACT_NOTHING;
	}
	got = history_update(v->history, w->now, READ_BUDGET_S, &e);
	if (got < 0) {
		bool news = strcmp(e.text, v->trouble.text) != 0;

		v->trouble = e;
		return news ? REACT_REDRAW : REACT_NOTHING;
	}
	if (v->trouble.text[0]) {
		v->trouble.text[0] = 0;
		got = MAX(got, HISTORY_CHANGED);
	}
	if (got == HISTORY_MORE)
		return REACT_AGAIN | REACT_REDRAW;
	/* While it runs, the clock in the second row goes on. */
	if (v->history->state == RUN_RUNNING && floor(w->now) != v->shown_second)
		return REACT_REDRAW;
	return got == HISTORY_CHANGED ? REACT_REDRAW : REACT_NOTHING;
}

/* ---- keys ---- */

static void move_cursor(struct run_view *v, int columns)
{
	struct run_sight *s = &v->sight;
	double from = isfinite(s->cursor) ? s->cursor : (double)v->history->step, to;

	to = run_nearest_step(v->history, s->focus, from + columns * s->stride);
	/* Samples lie further apart than a column: go on until there is another one. */
	for (int i = 2; i < 500 && to == from; i++)
		to = run_nearest_step(v->history, s->focus, from + i * columns * s->stride);
	s->cursor = to;
}

static void scroll_down(struct run_sight *s, int lines)
{
	if (s->focus == PANE_SAMPLES)
		s->top = MAX(s->top + lines, 0);
	else if (s->focus == PANE_LOG)
		s->up = MAX(s->up - lines, 0);
}

static void scroll_right(struct run_view *v, int direction)
{
	struct run_sight *s = &v->sight;

	if (s->focus < PANE_SAMPLES)
		move_cursor(v, direction);
	else
		s->left[s->focus] = MIN(MAX(s->left[s->focus] + direction * LEFT_STRIDE, 0), 4096);
}

static void scroll_to_end(struct run_sight *s, bool end)
{
	s->top = end ? 1 << 20 : 0;
	s->up = end ? 0 : 1 << 20;
	s->cursor = NAN;
}

static unsigned run_act(void *state, enum action action)
{
	struct run_view *v = state;
	struct run_sight *s = &v->sight;

	if (!v->history)
		return REACT_UNKNOWN;
	switch (action) {
	case ACTION_DOWN:      scroll_down(s, 1); break;
	case ACTION_UP:        scroll_down(s, -1); break;
	case ACTION_PAGE_DOWN: scroll_down(s, s->page); break;
	case ACTION_PAGE_UP:   scroll_down(s, -s->page); break;
	case ACTION_LEFT:      scroll_right(v, -1); break;
	case ACTION_RIGHT:     scroll_right(v, 1); break;
	case ACTION_HOME:      scroll_to_end(s, false); break;
	case ACTION_END:       scroll_to_end(s, true); break;
	case ACTION_NEXT_PANE: s->focus = (enum run_pane)((s->focus + 1) % PANE_COUNT); break;
	case ACTION_PREV_PANE:
		s->focus = (enum run_pane)((s->focus + PANE_COUNT - 1) % PANE_COUNT);
		break;
	case ACTION_ZOOM:      s->zoomed = !s->zoomed; break;
	case ACTION_BACK:
		s->zoomed = false;
		s->cursor = NAN;
		break;
	default:
		return REACT_UNKNOWN;
	}
	return REACT_REDRAW;
}

/* ---- drawing ---- */

static void draw_footer(struct grid *g, struct rect r, const struct run_view *v)
{
	static const struct { enum action action; const char *word;
	} hints[] = {
		{ACTION_QUIT, "leave"}, {ACTION_HELP, "keys"}, {ACTION_NEXT_PANE, "next pane"},
		{ACTION_ZOOM, "zoom"},	{ACTION_DOWN, "down"}, {ACTION_UP, "up"},
	};
	int at = r.col + 1;

	if (v->trouble.text[0]) {
		draw_text(g, r.row, at, r.cols - 2, STYLE_BAD, v->trouble.text);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		char key[32];

		keys_describe(hints[i].action, false, key, sizeof(key));
		at += grid_text(g, r.row, at, r.cols - 1 - at, STYLE_BRIGHT, key) + 1;
		at += grid_text(g, r.row, at, r.cols - 1 - at, STYLE_DIM, hints[i].word) + 3;
	}
}

static void draw_no_run(struct grid *g, const struct view_world *w)
{
	char where[200];
	const char *const lines[] = {
		where,
		"",
		"werkbank prep demo                a small English-German corpus is made",
		"werkbank train demo --run first   a Transformer is trained on it",
		"",
		"Type these in another terminal: the run appears here by itself.",
		"",
		"q leaves",
	};

	snprintf(where, sizeof(where), "There is no run yet in %.150s", w->workspace);
	draw_message(g, (struct rect){0, 0, g->rows, g->cols}, STYLE_TITLE, lines,
		     ARRAY_LEN(lines));
}

static void draw_too_small(struct grid *g, const struct history *h)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "%s: %s. The workbench needs %d x %d characters; this terminal has %d x %d.",
		 h->name, run_state_name(h->state), LAYOUT_MIN_COLS, LAYOUT_MIN_ROWS, g->cols,
		 g->rows);
	draw_text_wrapped(g, (struct span){ 0, 0, g->cols, STYLE_NORMAL }, g->rows, 0, text);
}

static void draw_pane(struct grid *g, struct rect box, enum run_pane pane, struct run_view *v)
{
	if (!box.rows)
		return;
	if (pane == PANE_SAMPLES)
		run_draw_samples(g, box, v->history, &v->sight);
	else if (pane == PANE_LOG)
		run_draw_log(g, box, v->history, &v->sight);
	else
		run_draw_plot(g, box, pane, v->history, &v->sight);
}

static void run_draw(void *state, struct grid *g, const struct view_world *w)
{
	struct run_view *v = state;
	struct run_layout layout;

	v->shown_second = floor(w->now);
	if (!v->history) {
		draw_no_run(g, w);
		return;
	}
	layout_run(g->rows, g->cols, v->sight.zoomed ? v->sight.focus : PANE_COUNT, &layout);
	if (layout.too_small) {
		draw_too_small(g, v->history);
		return;
	}
	run_draw_title(g, layout.title, v->history);
	run_draw_facts(g, layout.facts, v->history, w->now);
	for (enum run_pane pane = 0; pane < PANE_COUNT; pane++)
		draw_pane(g, layout.panes[pane], pane, v);
	draw_footer(g, layout.footer, v);
}

static void run_close(void *state)
{
	struct run_view *v = state;

	history_free(v->history);
}

const struct view view_run = {
	.name = "run",
	.title = "run",
	.state_size = sizeof(struct run_view),
	.open = run_open,
	.update = run_update,
	.act = run_act,
	.draw = run_draw,
	.close = run_close,
};
