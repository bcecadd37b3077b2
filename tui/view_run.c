/*
 * view_run.c - one run: what it learns, how fast, what it translates, what happened.
 *
 * Without a run the view says how to start one.
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

#define LEFT_STRIDE   8		/* columns that a step to the side scrolls */

struct run_view {
	struct run_sight sight;
};

static int run_open(void *state, struct world *w, struct err *e)
{
	struct run_view *v = state;

	(void)w;
	(void)e;
	v->sight.cursor = NAN;
	return 0;
}

static unsigned run_update(void *state, struct world *w)
{
	struct run_view *v = state;

	/* Another run: nothing of where we were in the old one counts. */
	if (w->news & NEWS_RUN)
		v->sight = (struct run_sight){ .cursor = NAN };
	return REACT_NOTHING;
}

/* ---- keys ---- */

static void move_cursor(struct run_sight *s, const struct history *h, int columns)
{
	double from = isfinite(s->cursor) ? s->cursor : (double)h->step, to;

	to = run_nearest_step(h, s->focus, from + columns * s->stride);
	/* Samples lie further apart than a column: go on until there is another one. */
	for (int i = 2; i < 500 && to == from; i++)
		to = run_nearest_step(h, s->focus, from + i * columns * s->stride);
	s->cursor = to;
}

static void scroll_down(struct run_sight *s, int lines)
{
	if (s->focus == PANE_SAMPLES)
		s->top = MAX(s->top + lines, 0);
	else if (s->focus == PANE_LOG)
		s->up = MAX(s->up - lines, 0);
}

static void scroll_right(struct run_sight *s, const struct history *h, int direction)
{
	if (s->focus < PANE_SAMPLES)
		move_cursor(s, h, direction);
	else
		s->left[s->focus] = MIN(MAX(s->left[s->focus] + direction * LEFT_STRIDE, 0), 4096);
}

static void scroll_to_end(struct run_sight *s, bool end)
{
	s->top = end ? 1 << 20 : 0;
	s->up = end ? 0 : 1 << 20;
	s->cursor = NAN;
}

static unsigned run_act(void *state, struct world *w, enum action action)
{
	struct run_view *v = state;
	struct run_sight *s = &v->sight;

	if (!w->history)
		return REACT_UNKNOWN;
	switch (action) {
	case ACTION_DOWN:      scroll_down(s, 1); break;
	case ACTION_UP:        scroll_down(s, -1); break;
	case ACTION_PAGE_DOWN: scroll_down(s, s->page); break;
	case ACTION_PAGE_UP:   scroll_down(s, -s->page); break;
	case ACTION_LEFT:      scroll_right(s, w->history, -1); break;
	case ACTION_RIGHT:     scroll_right(s, w->history, 1); break;
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

static void draw_no_run(struct grid *g, struct rect body, const struct world *w)
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
	draw_message(g, body, STYLE_TITLE, lines, ARRAY_LEN(lines));
}

static void draw_too_small(struct grid *g, struct rect body, const struct history *h)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "%s: %s. The workbench needs %d x %d characters; this terminal has %d x %d.",
		 h->name, run_state_name(h->state), LAYOUT_MIN_COLS, LAYOUT_MIN_ROWS, g->cols,
		 g->rows);
	draw_text_wrapped(g, (struct span){ body.row, body.col, body.cols, STYLE_NORMAL },
			  body.rows, 0, text);
}

static void draw_pane(struct grid *g, struct rect box, enum run_pane pane, struct run_sight *s,
		      const struct history *h)
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

static void run_draw(void *state, struct grid *g, struct rect body, const struct world *w)
{
	struct run_view *v = state;
	struct run_layout layout;

	if (!w->history) {
		draw_no_run(g, body, w);
		return;
	}
	layout_run(body, v->sight.zoomed ? v->sight.focus : PANE_COUNT, &layout);
	if (layout.too_small) {
		draw_too_small(g, body, w->history);
		return;
	}
	run_draw_title(g, layout.title, w->history);
	run_draw_facts(g, layout.facts, w->history, w->now);
	for (enum run_pane pane = 0; pane < PANE_COUNT; pane++)
		draw_pane(g, layout.panes[pane], pane, &v->sight, w->history);
}

static const enum action run_hints[] = {
	ACTION_NEXT_PANE, ACTION_ZOOM, ACTION_LEFT, ACTION_CHOOSE_RUN, ACTION_NONE,
};

const struct view view_run = {
	.name = "run",
	.title = "run",
	.state_size = sizeof(struct run_view),
	.open = run_open,
	.update = run_update,
	.act = run_act,
	.draw = run_draw,
	.hints = run_hints,
};
