/* frame.c - tab bar and key hints; see frame.h. */
#include "tui/app/frame.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/context/jobs.h"
#include "tui/overlay/overlays.h"
#include "tui/run/run_look.h"
#include "tui/term/draw.h"
#include "tui/translate/translate_view.h"
#include "tui/views/views.h"

#define SHORT_TITLE 4  /* letters of a shortened tab title */
#define NAME_ROOM   7  /* columns of the name of the run together with whole titles */
#define BORDER_ROOM 24 /* columns of a border that have room for hints */
#define STATE_ROOM  14 /* columns: two blanks, sign, blank, longest name of a state */

const struct view *const view_tabs[TAB_COUNT] = {
#define TAB(id, name) [TAB_##id] = &view_##name,
#include "tui/context/tabs.def"
#undef TAB
};

void frame_layout(int rows, int cols, struct frame *out)
{
	bool bars = rows >= 5;

	out->tabs = (struct rect){ 0, 0, bars, bars ? cols : 0 };
	out->body = (struct rect){ bars, 0, rows - 2 * bars, cols };
	out->foot = (struct rect){ rows - 1, 0, bars, bars ? cols : 0 };
}

/* ---- tabs ---- */

/* How much of the tab titles is shown. */
enum titles { TITLES_WHOLE, TITLES_SHORT, TITLES_NONE, TITLES_COUNT };

/*
 * The columns of a tab: " 1 home". A label has the same place whether its tab is in front or not,
 * except where there is room for the title of the tab in front only.
 */
static int tab_width(const char *title, enum titles how, bool front)
{
	int n = (int)strlen(title);

	if (how == TITLES_SHORT)
		n = MIN(n, SHORT_TITLE);
	return how == TITLES_NONE && !front ? 2 : 3 + n;
}

static int all_width(enum titles how, int front)
{
	int all = 1;

	for (int i = 0; i < TAB_COUNT; i++)
		all += tab_width(view_tabs[i]->title, how, i == front);
	return all;
}

/*
 * By the width of the screen alone, so that labels do not change with the chosen run. The name of
 * the run is cut, or left out, rather than the word for its state.
 */
static enum titles choose_titles(int cols, int front)
{
	for (enum titles how = TITLES_WHOLE; how < TITLES_NONE; how++)
		if (all_width(how, front) + (how == TITLES_WHOLE ? NAME_ROOM : 0) + STATE_ROOM +
			    1 <=
		    cols)
			return how;
	return all_width(TITLES_SHORT, front) <= cols - 8 ? TITLES_SHORT : TITLES_NONE;
}

int frame_tab_at(struct rect r, int front, int col)
{
	enum titles how = choose_titles(r.cols, front);
	int at = r.col;

	for (int i = 0; i < TAB_COUNT; i++) {
		int width = tab_width(view_tabs[i]->title, how, i == front);

		if (col >= at && col < at + width)
			return i;
		at += width;
	}
	return -1;
}

static void draw_run_state(struct grid *g, struct rect r, int left, const struct app_context *w)
{
	static const struct run_health none = { 0 };
	const struct run_history *h = w->history;
	const struct run_health *health = h ? &h->health : &none;
	struct run_look look = run_look_of(h ? h->state : RUN_UNKNOWN, health);
	const char *state = h ? run_state_name(h->state) : "";
	int right = r.col + r.cols - 2, n, room;
	char text[24];

	if (!w->run || right - left < 3)
		return;
	if (h && h->is_gone) {
		state = "gone";
		look = run_state_look(RUN_LOST);
	} else if (h && h->read_share < 1) {
		snprintf(text, sizeof(text), "reading %.0f %%", floor(100 * h->read_share));
		state = text;
		look = (struct run_look){ 0x2026, STYLE_WARN };
	} else if (run_health_is_bad(health)) {
		state = grid_text_width(g, health->text) + NAME_ROOM + 3 <= right - left
				? health->text
				: run_health_name(health->state);
	}
	n = grid_text_width(g, state);
	room = right - left - n - 3;
	if (room < 0) {
		/* no room for the word: the sign alone */
		grid_put(g, r.row, right, look.style, look.sign);
		draw_text_right(g, r.row, right - 2, right - 2 - left, STYLE_TITLE, w->run);
		return;
	}
	draw_text_right(g, r.row, right, n, look.style, state);
	grid_put(g, r.row, right - n - 1, look.style, look.sign);
	if (room >= 3)
		draw_text_right(g, r.row, right - n - 3, room, STYLE_TITLE, w->run);
}

void frame_draw_tabs(struct grid *g, struct rect r, const struct app_context *w, int front)
{
	enum titles how = choose_titles(r.cols, front);
	int at = r.col;

	for (int i = 0; i < TAB_COUNT; i++) {
		const char *title = view_tabs[i]->title;
		int width = tab_width(title, how, i == front);
		enum style style = i == front ? STYLE_TAB_FRONT : STYLE_TAB;

		if (at + width > r.cols)
			break;
		if (i == front)
			for (int k = 1; k < width; k++)
				grid_put(g, r.row, at + k, style, ' ');
		grid_put(g, r.row, at + 1, style, (uint32_t)('1' + i));
		if (width > 2)
			grid_text(g, r.row, at + 3, width - 3, style, title);
		at += width;
	}
	draw_run_state(g, r, at + 1, w);
}

/* ---- key hints ---- */

/* The label of an action: its help up to ; or : */
static void label_of(enum action action, char *out, size_t size)
{
	const char *help = action_infos[action].help;

	assert(action > ACTION_NONE && action < ACTION_COUNT);
	snprintf(out, size, "%.*s", (int)strcspn(help, ";:"), help);
}

void frame_key_text(const struct keymap *map, enum action action, bool no_text, char *out,
		    size_t size)
{
	const char *p = keymap_keys(map, action);

	*out = 0;
	if (!no_text) {
		keys_describe(map, action, out, size);
		return;
	}
	while (*p) {
		const char *start = p;
		int key = *p == ' ' ? ' ' : keys_next(&p), named;

		if (key <= 0)
			return;
		if (p == start)
			p++;
		if (key_is_text(key) || key == '\r')
			continue;
		named = *start == '<';
		snprintf(out, size, "%.*s", (int)(p - start) - 2 * named, start + named);
		return;
	}
}

/* Can the action do something now? Requests need a run that trains. */
static bool is_offered(const struct app_context *w, enum action action)
{
	const struct run_history *h = w->history;

	return strcmp(action_infos[action].group, "Training") != 0 ||
	       (!w->readonly && h && h->state == RUN_RUNNING && !h->is_gone);
}

/* Does an action of the workbench have an effect in the view? Undo works in tabs only; the palette cannot replace a form. */
static bool has_effect(const struct view *v, enum action action)
{
	bool is_tab = false;

	for (int i = 0; i < TAB_COUNT; i++)
		is_tab |= view_tabs[i] == v;
	return is_tab || (action != ACTION_UNDO && (action != ACTION_PALETTE || v != &view_wizard));
}

/* Draw "key label" if it fits before column right; false: no room. */
static bool draw_hint(struct grid *g, struct span *at, const struct app_context *w,
		      enum action action, bool no_text)
{
	char key[32], label[48];
	int need;

	frame_key_text(w->keymap, action, no_text, key, sizeof(key));
	if (!*key)
		return true;
	label_of(action, label, sizeof(label));
	need = grid_text_width(g, key) + 1 + grid_text_width(g, label);
	if (need > at->width)
		return false;
	grid_text(g, at->row, at->col, need, STYLE_BRIGHT, key);
	grid_put(g, at->row, at->col + grid_text_width(g, key), STYLE_DIM, ' ');
	grid_text(g, at->row, at->col + grid_text_width(g, key) + 1, need, STYLE_DIM, label);
	at->col += need + 3;
	at->width -= need + 3;
	return true;
}

/* The first cell and the number of cells of the longest free part of a row of the focused border. */
static struct span free_border(const struct grid *g, int row)
{
	const struct grid_part *f = &g->focus;
	const struct cell *line = grid_at(g, row, f->col);
	struct span best = { row, 0, 0, STYLE_FOCUS };

	for (int i = 2, run = 0; line && i < f->cols - 1; i++) {
		const struct cell *corner = &line[f->cols - 1];

		run = line[i].ch == corner[-1].ch && line[i].style == corner->style ? run + 1 : 0;
		if (run > best.width)
			best = (struct span){ row, f->col + i - run + 1, run, STYLE_FOCUS };
	}
	return best;
}

size_t frame_draw_border_hints(struct grid *g, const struct app_context *w,
			       const struct view_pane *pane, bool typing)
{
	const struct grid_part *f = &g->focus;
	struct span at;
	size_t n = 0;

	if (!pane || f->rows < 2 || f->cols < BORDER_ROOM)
		return 0;
	at = free_border(g, f->row + f->rows - 1);
	if (at.width < BORDER_ROOM)
		at = free_border(g, f->row);
	at.col++;
	at.width -= 2;
	for (; pane->actions[n] > ACTION_ZOOM; n++) { /* keys that only move are last */
		struct span to = { at.row, at.col + 1, at.width - 2, STYLE_FOCUS };

		if (!is_offered(w, pane->actions[n]) || to.width <= 0 ||
		    !draw_hint(g, &to, w, pane->actions[n], typing))
			break;
		grid_put(g, at.row, at.col, STYLE_FOCUS, ' ');
		grid_put(g, at.row, to.col - 3, STYLE_FOCUS, ' ');
		at.width -= to.col - 1 - at.col;
		at.col = to.col - 1;
	}
	return n;
}

void frame_draw_foot(struct grid *g, struct rect r, const struct app_context *w,
		     const struct view *v, const struct view_pane *pane, size_t n_shown,
		     bool typing)
{
	static const enum action common[] = { ACTION_HELP, ACTION_QUIT, ACTION_NONE };
	static const enum action last[] = { ACTION_PALETTE, ACTION_REPORT, ACTION_UNDO,
					    ACTION_NONE };
	struct span at = { r.row, r.col + 1, r.cols - 2, STYLE_NORMAL };
	size_t jobs = jobs_running(w->jobs);
	char text[40];

	if (*w->trouble || *w->silence) {
		draw_text(g, r.row, at.col, at.width, STYLE_BAD,
			  *w->silence ? w->silence : w->trouble);
		return;
	}
	if (jobs) {
		snprintf(text, sizeof(text), "%zu job%s", jobs, text_plural(jobs));
		at.width -= draw_text_right(g, r.row, r.col + r.cols - 2, r.cols - 2, STYLE_FIRST,
					    text) +
			    2;
	}
	if (typing) {
		int used =
			draw_text(g, at.row, at.col, at.width, STYLE_TITLE, "typing: Esc ends it") +
			3;

		at.col += used;
		at.width -= used;
	}
	/* A view that begins as a text field is not left by a letter. */
	for (const enum action *a = common; *a; a++)
		if (!draw_hint(g, &at, w, *a, typing || (*a == ACTION_QUIT && v->start_typing)))
			return;
	for (const enum action *a = v->hints; a && *a; a++)
		if (!view_lists_action(pane ? pane->actions : NULL, n_shown, *a) &&
		    is_offered(w, *a) && view_has_toggle(v, pane, *a) &&
		    !draw_hint(g, &at, w, *a, typing))
			return;
	for (const enum action *a = last; *a; a++)
		if (!view_lists_action(v->hints, SIZE_MAX, *a) && has_effect(v, *a) &&
		    !draw_hint(g, &at, w, *a, typing))
			return;
}
