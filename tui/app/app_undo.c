/*
 * app_undo.c - takes back changes of toggles and filters; see app_internal.h.
 *
 * A view lists the members of its state that are toggles, orders, zooms or filters (view.h). The
 * members are copied before each action and answer; if they differ afterwards, the copy becomes a
 * step that can be undone. So no view records its changes itself.
 */
#include "tui/app/app_internal.h"
#include "tui/app/frame.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "data/text/text_filter.h"
#include "share/base/util.h"

static size_t toggle_bytes(const struct view_toggle *t)
{
	return t->is_filter ? TEXT_FILTER_BYTES : t->size;
}

void app_undo_look(const struct app *a, int tab, enum action action, struct undo_step *to)
{
	const struct view *v = view_tabs[tab];
	size_t n = 0;

	to->tab = tab;
	to->action = action;
	memset(to->bytes, 0, sizeof(to->bytes));
	for (size_t i = 0; i < v->n_toggles; i++) {
		const struct view_toggle *t = &v->toggles[i];
		const char *from = (const char *)a->tabs[tab].state + t->offset;

		assert(n + toggle_bytes(t) <= sizeof(to->bytes));
		/* of a filter its text, without the old bytes after the end */
		if (t->is_filter)
			snprintf((char *)to->bytes + n, TEXT_FILTER_BYTES, "%s",
				 ((const struct text_filter *)from)->text);
		else
			memcpy(to->bytes + n, from, t->size);
		n += toggle_bytes(t);
	}
}

void app_undo_keep(struct app *a, const struct undo_step *before)
{
	struct undo_step after;

	app_undo_look(a, before->tab, before->action, &after);
	if (!memcmp(before->bytes, after.bytes, sizeof(after.bytes)))
		return;
	if (a->n_undo == UNDO_STEPS) {
		memmove(a->undo, a->undo + 1, (UNDO_STEPS - 1) * sizeof(*a->undo));
		a->n_undo--;
	}
	a->undo[a->n_undo++] = *before;
}

static void restore_toggles(struct app *a, const struct undo_step *step)
{
	const struct view *v = view_tabs[step->tab];
	struct err ignored;
	size_t n = 0;

	for (size_t i = 0; i < v->n_toggles; i++) {
		const struct view_toggle *t = &v->toggles[i];
		char *to = (char *)a->tabs[step->tab].state + t->offset;

		if (t->is_filter)
			text_filter_set((struct text_filter *)to, (const char *)step->bytes + n,
					&ignored);
		else
			memcpy(to, step->bytes + n, t->size);
		n += toggle_bytes(t);
	}
	if (v->restored)
		v->restored(a->tabs[step->tab].state, &a->context);
}

unsigned app_undo(struct app *a)
{
	const char *help;

	for (size_t i = a->n_undo; i-- > 0;) {
		struct undo_step step = a->undo[i];

		if (step.tab != a->front || !a->tabs[a->front].state)
			continue;
		a->n_undo--;
		memmove(a->undo + i, a->undo + i + 1, (a->n_undo - i) * sizeof(*a->undo));
		app_set_caller(a, a->front);
		restore_toggles(a, &step);
		help = action_infos[step.action].help;
		context_notify(&a->context, STYLE_NORMAL, "undone: %.*s", (int)strcspn(help, ";:"),
			       help);
		a->requests->message_is_brief = true;
		return REACT_REDRAW | REACT_AGAIN;
	}
	context_notify(&a->context, STYLE_NORMAL,
		       "no toggle, order, zoom or filter of this view was changed");
	return REACT_REDRAW;
}
