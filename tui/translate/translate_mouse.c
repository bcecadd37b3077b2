/* translate_mouse.c - the mouse in the tab "translate"; see translate_view.h. */
#include "tui/translate/translate_view.h"

#include "share/base/clock.h"
#include "tui/translate/translate_undo.h"

static bool is_mouse_within(struct rect r, const struct mouse *m)
{
	return layout_has_cell(r, m->row, m->col);
}

static void press_words(struct translate_view *v, const struct mouse *m)
{
	struct console *c = &v->console;

	c->focus = CONSOLE_WORDS;
	for (int i = 0; i < v->screen.n_spots; i++)
		if (is_mouse_within(v->screen.spots[i], m))
			console_move(c, v->screen.first_spot + i, clock_mono_s());
}

/* A press on the chosen row uses it. */
static void press_list(struct translate_view *v, struct app_context *w, const struct mouse *m)
{
	struct console *c = &v->console;
	const struct console_screen *s = &v->screen;
	const struct service_answer *o = console_alternatives(c);

	if (is_mouse_within(s->n_best, m)) {
		c->focus = CONSOLE_N_BESTS;
		console_choose(c, s->n_best_top + m->row - s->n_best.row - 1);
	} else if (o) {
		int row = s->others_top + m->row - s->others.row - 1;
		bool again = c->focus == CONSOLE_PANE_ALTERNATIVES && row == c->other;

		c->focus = CONSOLE_PANE_ALTERNATIVES;
		c->other = MAX(MIN(row, (int)o->n_alternatives - 1), 0);
		if (again)
			translate_accept(v, w);
	}
}

/* The side pane under the pointer; -1: none. */
static int extra_at_mouse(const struct translate_view *v, const struct mouse *m)
{
	for (int i = 0; i < CONSOLE_EXTRAS; i++)
		if (is_mouse_within(v->screen.extras[i], m))
			return i;
	return -1;
}

/* A press on the chosen sentence of the history translates it. */
static void press_extra(struct translate_view *v, struct app_context *w, const struct mouse *m)
{
	enum console_extra extra = (enum console_extra)extra_at_mouse(v, m);
	enum console_pane pane = (enum console_pane)(CONSOLE_PANE_MAP + (int)extra);
	struct console *c = &v->console;
	int row = m->row - v->screen.extras[extra].row - 1;
	bool again = c->focus == pane;
	struct list_widget *l = extra == EXTRA_EARLIER ? &c->earlier : &c->terms;
	size_t at = l->top + (size_t)MAX(row, 0);

	c->focus = pane;
	if (extra == EXTRA_MAP || row < 0 || row >= l->page)
		return;
	again &= at == l->at;
	l->at = at; /* drawing keeps it within the list */
	if (again && extra == EXTRA_EARLIER && console_earlier_sentence(c))
		translate_accept(v, w);
}

static unsigned handle_mouse(struct translate_view *v, struct app_context *w, const struct mouse *m)
{
	struct console *c = &v->console;

	if (m->kind == MOUSE_WHEEL_UP || m->kind == MOUSE_WHEEL_DOWN) {
		if (is_mouse_within(v->screen.others, m))
			c->focus = CONSOLE_PANE_ALTERNATIVES;
		else if (is_mouse_within(v->screen.n_best, m))
			c->focus = CONSOLE_N_BESTS;
		else if (extra_at_mouse(v, m) >= 0)
			c->focus = (enum console_pane)(CONSOLE_PANE_MAP + extra_at_mouse(v, m));
		if (c->focus != CONSOLE_INPUT &&
		    !console_move_list(c, m->kind == MOUSE_WHEEL_UP ? ACTION_UP : ACTION_DOWN))
			translate_move_row(c, m->kind == MOUSE_WHEEL_UP ? -1 : 1);
		return REACT_REDRAW;
	}
	if (m->kind != MOUSE_PRESS || m->button != 1)
		return REACT_NOTHING;
	if (is_mouse_within(v->screen.input, m)) {
		struct grid plain = { .charset = w->charset };

		c->focus = CONSOLE_INPUT;
		edit_point(&c->input, &plain, layout_inside(v->screen.input), m->row, m->col);
	} else if (extra_at_mouse(v, m) >= 0) {
		press_extra(v, w, m);
	} else if (is_mouse_within(v->screen.n_best, m) || is_mouse_within(v->screen.others, m)) {
		press_list(v, w, m);
	} else {
		for (int i = 0; i < CONSOLE_SIDES; i++)
			if ((is_mouse_within(v->screen.words[i], m) ||
			     is_mouse_within(v->screen.text[i], m)) &&
			    c->side != i && c->sides[i].run) {
				console_select_side(c, i);
				c->focus = CONSOLE_WORDS;
				return REACT_REDRAW;
			}
		if (is_mouse_within(v->screen.words[c->side], m))
			press_words(v, m);
	}
	return REACT_REDRAW | REACT_SOON;
}

unsigned translate_mouse(void *state, struct app_context *w, const struct mouse *m)
{
	struct translate_view *v = state;

	console_undo_look(&v->console, false, &v->before);
	return translate_keep_change(v, 0, handle_mouse(v, w, m));
}
