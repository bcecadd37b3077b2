/* view.c - what views leave to their tables: toggles, filters, panes and lists; see view.h. */
#include "tui/context/view.h"

#include <assert.h>

#include "data/text/text_filter.h"
#include "tui/term/list_widget.h"

#define ASK_FILTER                                                                                 \
	1000 /* and more: the question for the filter of a toggle; views use lower numbers */

int view_open(const struct view *v, void *state, struct app_context *w, struct err *e)
{
	if (v->begin)
		v->begin(state);
	return v->open ? v->open(state, w, e) : 0;
}

unsigned view_update(const struct view *v, void *state, struct app_context *w)
{
	if (v->begin && w->news & NEWS_RUN)
		v->begin(state);
	return v->update ? v->update(state, w) : REACT_NOTHING;
}

/* The list of a pane; NULL: it has none. */
static struct list_widget *list_of(const struct view *v, void *state, int pane)
{
	return pane < v->n_lists ? (struct list_widget *)((char *)state + v->lists) + pane : NULL;
}

void view_draw(const struct view *v, void *state, struct grid *g, struct rect body,
	       const struct app_context *w)
{
	for (int i = 0; i < v->n_lists; i++)
		list_of(v, state, i)->drawn = (struct rect){ 0 };
	v->draw(state, g, body, w);
}

void view_close(const struct view *v, void *state)
{
	for (size_t i = 0; i < v->n_toggles; i++)
		if (v->toggles[i].is_filter)
			text_filter_clear((void *)((char *)state + v->toggles[i].offset));
	if (v->close)
		v->close(state);
}

static bool lacks_run(const struct view *v, const struct app_context *w)
{
	return v->needs_run && !w->history;
}

/* The number of the pane with the keys. */
static int focused_pane(const struct view *v, const void *state)
{
	return v->n_panes > 1 ? *(const int *)((const char *)state + v->focus) : 0;
}

const struct view_pane *view_pane_in_front(const struct view *v, const void *state)
{
	if (!v->n_panes)
		return NULL;
	assert(focused_pane(v, state) < v->n_panes);
	return &v->panes[focused_pane(v, state)];
}

bool view_lists_action(const enum action *list, size_t n, enum action action)
{
	for (; list && *list && n > 0; list++, n--)
		if (*list == action)
			return true;
	return false;
}

static bool is_toggle_of(const struct view_toggle *t, enum action action, int pane)
{
	return t->action == action && (!t->pane || t->pane == pane);
}

bool view_has_toggle(const struct view *v, const struct view_pane *pane, enum action action)
{
	bool is_elsewhere = false;

	for (size_t i = 0; i < v->n_toggles; i++) {
		if (is_toggle_of(&v->toggles[i], action, pane ? (int)(pane - v->panes) : 0))
			return true;
		is_elsewhere |= v->toggles[i].action == action;
	}
	return !is_elsewhere;
}

/* Choose the next value of a toggle, or ask for the text of a filter. */
static unsigned change_toggle(const struct view *v, void *state, struct app_context *w, size_t i)
{
	const struct view_toggle *t = &v->toggles[i];
	char *member = (char *)state + t->offset;

	if (t->is_filter) {
		context_ask_text(w, QUESTION_FILTER, ASK_FILTER + (int)i, t->title,
				 ((const struct text_filter *)member)->text);
		return REACT_REDRAW;
	}
	assert(t->size == sizeof(bool) || t->size == sizeof(unsigned));
	if (t->size == sizeof(bool))
		*(bool *)member = !*(bool *)member;
	else
		*(unsigned *)member = (*(unsigned *)member + 1) % t->n_values;
	if (t->changed)
		t->changed(state, w);
	return REACT_REDRAW | REACT_AGAIN;
}

static unsigned act_by_tables(const struct view *v, void *state, struct app_context *w,
			      enum action action)
{
	const int pane = focused_pane(v, state);

	if (v->n_panes > 1 && (action == ACTION_NEXT_PANE || action == ACTION_PREV_PANE)) {
		*(int *)((char *)state + v->focus) =
			(pane + (action == ACTION_NEXT_PANE ? 1 : v->n_panes - 1)) % v->n_panes;
		return REACT_REDRAW;
	}
	for (size_t i = 0; i < v->n_toggles && action != ACTION_NONE; i++)
		if (is_toggle_of(&v->toggles[i], action, pane))
			return change_toggle(v, state, w, i);
	return REACT_UNKNOWN;
}

/* From a row that cannot be chosen to the next one that can, by a step of 1 or -1; else to one before it. */
static void skip_headings(const struct view *v, const void *state, struct list_widget *l, int step)
{
	for (int turn = 0; turn < 2 && v->list_can_choose; turn++, step = -step)
		for (size_t at = l->at; at < l->n; at += (size_t)step)
			if (v->list_can_choose(state, at)) {
				l->at = at;
				return;
			}
}

/* Choose the next rows of the list of the pane with the keys. */
static unsigned act_on_list(const struct view *v, void *state, struct app_context *w,
			    enum action action)
{
	const int pane = focused_pane(v, state);
	struct list_widget *l = list_of(v, state, pane);
	size_t before;
	int by;

	if (!l || !l->n || !list_move_of(action, l->page, &by)) /* n 0: empty, or not drawn yet */
		return REACT_UNKNOWN;
	before = l->at;
	list_widget_act(l, action, l->n);
	skip_headings(v, state, l, by < 0 ? -1 : 1);
	if (v->list_moved)
		v->list_moved(state, w, pane, before);
	return REACT_REDRAW | REACT_AGAIN;
}

unsigned view_act(const struct view *v, void *state, struct app_context *w, enum action action)
{
	unsigned reaction = REACT_UNKNOWN;

	if (lacks_run(v, w))
		return REACT_UNKNOWN;
	if (v->act)
		reaction = v->act(state, w, action);
	if (reaction & REACT_UNKNOWN)
		reaction = act_on_list(v, state, w, action);
	return reaction & REACT_UNKNOWN ? act_by_tables(v, state, w, action) : reaction;
}

unsigned view_answer(const struct view *v, void *state, struct app_context *w, int question,
		     const char *text)
{
	const struct view_toggle *t;
	struct err ignored;

	if (lacks_run(v, w))
		return REACT_REDRAW;
	if (question < ASK_FILTER)
		return v->answer ? v->answer(state, w, question, text) : REACT_REDRAW;
	t = &v->toggles[question - ASK_FILTER];
	if (text &&
	    !text_filter_set((struct text_filter *)((char *)state + t->offset), text, &ignored) &&
	    t->changed)
		t->changed(state, w);
	return REACT_REDRAW | REACT_AGAIN;
}

/*
 * A click chooses a row; a click on the chosen row opens it. The wheel brings the keys to the list, which the workbench
 * then moves.
 */
static unsigned mouse_on_list(const struct view *v, void *state, struct app_context *w, int pane,
			      const struct mouse *m)
{
	struct list_widget *l = list_of(v, state, pane);
	const size_t before = l->at, row = l->top + (size_t)(m->row - l->drawn.row);
	const bool was_front = pane == focused_pane(v, state);
	const bool is_press = m->kind == MOUSE_PRESS && m->button == 1;

	if (!is_press && !mouse_wheel_action(m))
		return REACT_NOTHING;
	if (is_press && (row >= l->n || (v->list_can_choose && !v->list_can_choose(state, row))))
		return REACT_NOTHING;
	if (v->n_panes > 1)
		*(int *)((char *)state + v->focus) = pane;
	if (!is_press)
		return REACT_UNKNOWN;
	if (was_front && row == before)
		return view_act(v, state, w, v->list_open);
	l->at = row;
	if (v->list_moved)
		v->list_moved(state, w, pane, before);
	return REACT_REDRAW | REACT_AGAIN;
}

unsigned view_mouse(const struct view *v, void *state, struct app_context *w, const struct mouse *m)
{
	unsigned reaction = REACT_UNKNOWN;

	if (lacks_run(v, w))
		return REACT_UNKNOWN;
	if (v->mouse)
		reaction = v->mouse(state, w, m);
	for (int i = 0; i < v->n_lists && reaction & REACT_UNKNOWN; i++)
		if (layout_has_cell(list_of(v, state, i)->drawn, m->row, m->col))
			return (reaction & REACT_REDRAW) | mouse_on_list(v, state, w, i, m);
	return reaction;
}
