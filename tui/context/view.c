/* view.c - what views leave to their tables: toggles, filters and panes; see view.h. */
#include "tui/context/view.h"

#include <assert.h>

#include "data/text/text_filter.h"
#include "share/base/util.h"

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

unsigned view_act(const struct view *v, void *state, struct app_context *w, enum action action)
{
	unsigned reaction = REACT_UNKNOWN;

	if (lacks_run(v, w))
		return REACT_UNKNOWN;
	if (v->act)
		reaction = v->act(state, w, action);
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

unsigned view_mouse(const struct view *v, void *state, struct app_context *w, const struct mouse *m)
{
	return v->mouse && !lacks_run(v, w) ? v->mouse(state, w, m) : REACT_UNKNOWN;
}
