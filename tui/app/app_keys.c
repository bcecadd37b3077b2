/* app_keys.c - passes keys, pastes and the mouse to questions and views; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"
#include "tui/app/frame.h"
#include "tui/context/jobs.h"

#define MESSAGE_MIN_S 2 /* a message stays at least this long in spite of keys */

/* A filter takes effect while it is typed, as far as its text is valid. */
static unsigned apply_typed_filter(struct app *a)
{
	struct prompt *p = &a->requests->prompt;
	const char *text = edit_text(&p->line);

	if (p->kind != QUESTION_FILTER || *p->trouble || !strcmp(text, p->typed))
		return REACT_NOTHING;
	snprintf(p->typed, sizeof(p->typed), "%s", text);
	return app_answer_typed(a, p->owner, p->id, p->typed);
}

static unsigned prompt_reaction(struct app *a, enum prompt_state state)
{
	struct prompt *p = &a->requests->prompt;
	unsigned reaction;
	int owner = p->owner, id = p->id;
	char *answer = p->answer;

	if (state == PROMPT_COPY)
		context_copy_text(&a->context, p->text);
	if (state != PROMPT_ANSWERED) {
		if (p->previews_themes)
			app_preview_theme(a, prompt_choice(p));
		return apply_typed_filter(a) | REACT_REDRAW;
	}
	app_preview_theme(a, NULL);
	p->answer = NULL;
	if (!answer && a->is_typing) { /* cancelled: the filter of before */
		answer = p->text;
		p->text = NULL;
	}
	prompt_close(p);
	reaction = app_answer(a, owner, id, answer);
	free(answer);
	return reaction | REACT_REDRAW;
}

/*
 * Where sentences are typed, a letter may be meant as text, so it does not leave: say which keys
 * do. false: no other key leaves.
 */
static bool refuse_to_leave(struct app *a)
{
	char leave[32], type[32];

	frame_key_text(&a->keymap, ACTION_QUIT, true, leave, sizeof(leave));
	frame_key_text(&a->keymap, ACTION_TYPE, false, type, sizeof(type));
	if (!*leave)
		return false;
	context_notify(&a->context, STYLE_WARN,
		       "letters do not leave from here: %s leaves, %s types", leave, type);
	a->requests->message_is_brief = true;
	return true;
}

/* A letter without an action, whose upper case has one: say so, because upper case letters act. */
static unsigned explain_upper_case(struct app *a, int key, const char *view)
{
	enum action action = key >= 'a' && key <= 'z'
				     ? keys_action(&a->keymap, key - 'a' + 'A', view)
				     : ACTION_NONE;

	if (action == ACTION_NONE)
		return REACT_NOTHING;
	context_notify(&a->context, STYLE_NORMAL, "%c: %s (upper case letters act)",
		       key - 'a' + 'A', action_infos[action].help);
	a->requests->message_is_brief = true;
	return REACT_REDRAW;
}

/* Pass a key to a view: as text if the view reads text, then as an action. */
static unsigned view_key(struct app *a, const struct view *v, void *state, int key)
{
	enum action action = keys_action(&a->keymap, key, v->name);
	bool is_tab = v == view_tabs[a->front] && !a->overlay;
	unsigned reaction = REACT_UNKNOWN;
	struct undo_step before;

	const bool is_typing = v->typing && v->typing(state);

	if (v->key && (is_typing || !v->typing)) {
		if (is_tab)
			app_undo_look(a, a->front, a->asked_by, &before);
		reaction = v->key(state, &a->context, key);
		if (is_tab)
			app_undo_keep(a, &before);
		if (!(reaction & REACT_UNKNOWN) || (is_typing && key_is_text(key)))
			return reaction;
	}
	if (action == ACTION_NONE)
		return explain_upper_case(a, key, v->name);
	if (action == ACTION_QUIT && v->start_typing && key_is_text(key) && refuse_to_leave(a))
		return REACT_REDRAW;
	return app_view_act(a, v, state, action);
}

/* A key or a press of the mouse came: what the last row says may make way for its hints. */
static void end_message(struct app *a)
{
	struct view_requests *r = a->requests;

	if (!*r->message ||
	    (!r->message_is_brief && a->context.now - r->message_time < MESSAGE_MIN_S))
		return;
	*r->message = 0;
	r->redraw = true;
}

unsigned app_key(struct app *a, int key)
{
	unsigned reaction;

	app_tour_end_hint(a);
	end_message(a);
	if (a->requests->prompt.open) {
		bool leaves = !key_is_text(key) && key != 0x1B &&
			      keys_action(&a->keymap, key, NULL) == ACTION_QUIT;

		/* a key that is not text leaves in spite of a question, which is cancelled */
		reaction =
			prompt_reaction(a, prompt_key(&a->requests->prompt, leaves ? 0x1B : key));
		if (leaves)
			reaction |= app_act_itself(a, ACTION_QUIT);
	} else if (a->overlay) {
		app_set_caller(a, CALLER_OVERLAY);
		reaction = view_key(a, a->overlay, a->overlay_state, key);
		if (reaction & REACT_BACK)
			reaction |= app_end_overlay(a);
	} else if (a->tabs[a->front].state) {
		app_set_caller(a, a->front);
		reaction = view_key(a, view_tabs[a->front], a->tabs[a->front].state, key);
	} else {
		reaction = app_act_itself(a, keys_action(&a->keymap, key, NULL));
	}
	return reaction | app_execute_requests(a);
}

unsigned app_paste(struct app *a, const char *text)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	void *state = a->overlay ? a->overlay_state : a->tabs[a->front].state;
	unsigned reaction = REACT_NOTHING;

	app_tour_end_hint(a);
	app_set_caller(a, a->overlay ? CALLER_OVERLAY : a->front);
	if (a->requests->prompt.open)
		reaction = prompt_reaction(a, prompt_paste(&a->requests->prompt, text));
	else if (state && v->paste)
		reaction = v->paste(state, &a->context, text);
	else
		context_notify(&a->context, STYLE_WARN, "this view takes no pasted text");
	return reaction | app_execute_requests(a);
}

unsigned app_mouse(struct app *a, const struct mouse *m)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	void *state = a->overlay ? a->overlay_state : a->tabs[a->front].state;
	unsigned reaction = REACT_NOTHING;
	const bool had_hint = a->shows_hint;
	struct frame frame;
	int tab;

	app_tour_end_hint(a);
	if (had_hint) /* the panes have its rows now, and the mouse means these */
		app_draw(a);
	if (m->kind == MOUSE_PRESS)
		end_message(a);
	if (a->requests->prompt.open) {
		reaction = prompt_reaction(a, prompt_mouse(&a->requests->prompt, &a->grid, m));
		return reaction | app_execute_requests(a);
	}
	frame_layout(a->grid.rows, a->grid.cols, &frame);
	if (frame.tabs.rows && m->row == frame.tabs.row) {
		tab = frame_tab_at(frame.tabs, a->front, m->col);
		return m->kind == MOUSE_PRESS && tab >= 0 ? app_show_tab(a, tab) : REACT_NOTHING;
	}
	if (!a->overlay && layout_mouse_border(&a->borders, m))
		return REACT_REDRAW;
	app_set_caller(a, a->overlay ? CALLER_OVERLAY : a->front);
	if (state)
		reaction = view_mouse(v, state, &a->context, m);
	if (a->overlay && reaction & REACT_BACK)
		return app_end_overlay(a) | app_execute_requests(a);
	/* A view without mouse support scrolls by the wheel. */
	if (reaction & REACT_UNKNOWN && mouse_wheel_action(m))
		for (int i = 0; i < 3; i++)
			reaction |= view_act(v, state, &a->context, mouse_wheel_action(m));
	return (reaction & ~(unsigned)REACT_UNKNOWN) | app_execute_requests(a);
}
