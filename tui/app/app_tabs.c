/* app_tabs.c - opens and shows tabs and what is drawn over them; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/util.h"
#include "tui/app/frame.h"

/* Allocate and open the state of a view; NULL: e says why. */
static void *view_new(struct app *a, const struct view *v, struct err *e)
{
	void *state = mem_alloc(1, MAX(v->state_size, (size_t)1), e);

	if (state && view_open(v, state, &a->context, e)) {
		free(state);
		return NULL;
	}
	return state;
}

void app_view_end(const struct view *v, void *state)
{
	assert(v || !state);
	if (!state)
		return;
	view_close(v, state);
	free(state);
}

void app_set_caller(struct app *a, int tab)
{
	a->requests->caller = tab;
	a->context.front = tab == a->front && !a->overlay;
}

unsigned app_show_tab(struct app *a, int tab)
{
	struct tab_state *t = &a->tabs[tab];

	assert(tab >= 0 && tab < TAB_COUNT);
	app_view_end(a->overlay, a->overlay_state);
	a->overlay = NULL;
	a->overlay_state = NULL;
	a->front = tab;
	a->context.view = view_tabs[tab]->name;
	app_set_caller(a, tab);
	if (!t->state) {
		t->trouble = (struct err){ 0 };
		t->state = view_new(a, view_tabs[tab], &t->trouble);
		t->news = NEWS_RUN | NEWS_HISTORY | NEWS_JOBS;
	}
	return REACT_REDRAW | REACT_AGAIN;
}

unsigned app_show_overlay(struct app *a, const struct view *v)
{
	const struct tab_state *t = &a->tabs[a->front];
	const struct view *front = view_tabs[a->front];
	struct err e = { 0 };

	app_view_end(a->overlay, a->overlay_state);
	app_set_caller(a, CALLER_OVERLAY);
	a->context.pane = t->state ? view_pane_in_front(front, t->state) : NULL;
	a->overlay = v;
	a->overlay_state = view_new(a, v, &e);
	if (!a->overlay_state) {
		a->overlay = NULL;
		context_notify(&a->context, STYLE_BAD, "%s", e.text);
	}
	return REACT_REDRAW;
}

unsigned app_end_overlay(struct app *a)
{
	if (!a->overlay)
		return REACT_NOTHING;
	app_view_end(a->overlay, a->overlay_state);
	a->overlay = NULL;
	a->overlay_state = NULL;
	return REACT_REDRAW;
}
