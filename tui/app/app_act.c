/* app_act.c - effects of actions and of answers to questions; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/app/frame.h"
#include "tui/context/jobs.h"
#include "tui/context/run_requests.h"
#include "tui/overlay/overlays.h"
#include "tui/views/views.h"

static void start_command(struct app *a)
{
	struct view_requests *requests = a->requests;
	struct err e = { 0 };
	int id;

	if (!requests->command)
		return;
	id = jobs_start(a->context.jobs, requests->command_title,
			(const char *const *)requests->command, a->context.now, &e);
	requests->output_job = id > 0 && requests->shows_output ? id : 0;
	if (id < 0)
		context_notify(&a->context, STYLE_BAD, "%s", e.text);
	else
		context_notify(&a->context, STYLE_GOOD, "started: %s", requests->command_title);
	requests_clear_command(requests);
}

/* A view or an overlay gets its answer. false: there is no owner any more. */
static bool pass_answer(struct app *a, int owner, int question, const char *text,
			unsigned *reaction)
{
	app_set_caller(a, owner);
	if (owner >= 0 && a->tabs[owner].state)
		*reaction = view_answer(view_tabs[owner], a->tabs[owner].state, &a->context,
					question, text);
	else if (owner == CALLER_OVERLAY && a->overlay)
		*reaction = view_answer(a->overlay, a->overlay_state, &a->context, question, text);
	else
		return false;
	return true;
}

unsigned app_answer_typed(struct app *a, int owner, int question, const char *text)
{
	unsigned reaction = REACT_REDRAW;

	if (!a->is_typing && owner >= 0 && a->tabs[owner].state)
		app_undo_look(a, owner, a->asked_by, &a->before_typing);
	a->is_typing = true;
	pass_answer(a, owner, question, text, &reaction);
	return reaction;
}

/* The answer of a tab, whose changes undo can take back. */
static unsigned answer_tab(struct app *a, int tab, int question, const char *text)
{
	struct undo_step before = a->before_typing;
	unsigned reaction = REACT_REDRAW | REACT_AGAIN;

	if (!a->tabs[tab].state)
		return reaction;
	if (!a->is_typing)
		app_undo_look(a, tab, a->asked_by, &before);
	if (pass_answer(a, tab, question, text, &reaction))
		app_undo_keep(a, &before);
	return reaction;
}

unsigned app_answer(struct app *a, int owner, int question, const char *text)
{
	struct err e = { 0 };
	unsigned reaction = REACT_REDRAW | REACT_AGAIN;

	if (owner >= 0) {
		reaction = answer_tab(a, owner, question, text);
	} else if (owner == CALLER_OVERLAY) {
		pass_answer(a, owner, question, text, &reaction);
	} else if (owner == CALLER_COMMAND) {
		if (text)
			start_command(a);
		else
			requests_clear_command(a->requests);
	} else if (question == ASK_LEAVE) {
		reaction = text ? REACT_QUIT : REACT_REDRAW;
	} else if (question == ASK_RUN && text && context_choose_run(&a->context, text, &e)) {
		context_notify(&a->context, STYLE_BAD, "%s", e.text);
	}
	a->is_typing = false;
	return reaction;
}

/* ---- actions ---- */

/* What the first tab that has something loses; NULL: no tab loses anything. */
static const char *find_unsaved(const struct app *a)
{
	const char *loss = NULL;

	for (int i = 0; i < TAB_COUNT && !loss; i++)
		if (a->tabs[i].state && view_tabs[i]->unsaved)
			loss = view_tabs[i]->unsaved(a->tabs[i].state);
	return loss;
}

static unsigned ask_leave(struct app *a)
{
	size_t n = jobs_running(a->context.jobs);
	const char *unsaved = find_unsaved(a);
	char title[80], text[160];

	if (!n && !unsaved)
		return REACT_QUIT;
	snprintf(title, sizeof(title), "leave%s?",
		 n == 0	  ? ""
		 : n == 1 ? " and end the running job"
			  : " and end all running jobs");
	snprintf(text, sizeof(text), "%s%s%s", unsaved ? unsaved : "", unsaved && n ? " " : "",
		 n ? "Detached trainings go on." : "");
	app_set_caller(a, CALLER_APP);
	context_ask_text(&a->context, QUESTION_YES_NO, ASK_LEAVE, title, text);
	return REACT_REDRAW;
}

static unsigned ask_which_run(struct app *a)
{
	struct err e = { 0 };
	size_t n;
	char **names = context_run_names(&a->context, &n, &e);

	app_set_caller(a, CALLER_APP);
	if (names && n)
		context_ask_choice(&a->context, ASK_RUN, "run", (const char *const *)names, n);
	else
		context_notify(&a->context, STYLE_WARN, "%s",
			       names ? "there is no run yet" : e.text);
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	return REACT_REDRAW;
}

unsigned app_act_itself(struct app *a, enum action action)
{
	const struct run_history *h = a->context.history;

	if (action >= ACTION_GO_HOME && action < ACTION_GO_HOME + TAB_COUNT)
		return app_show_tab(a, (int)(action - ACTION_GO_HOME));
	switch (action) {
	case ACTION_NEXT_TAB:
		return app_show_tab(a, (a->front + 1) % TAB_COUNT);
	case ACTION_PREV_TAB:
		return app_show_tab(a, (a->front + TAB_COUNT - 1) % TAB_COUNT);
	case ACTION_CHOOSE_RUN:
		return ask_which_run(a);
	case ACTION_SCREENSHOT:
		context_screenshot(&a->context);
		return REACT_NOTHING;
	case ACTION_HELP:
		return app_show_overlay(a, &view_help);
	case ACTION_REPORT:
		return app_show_overlay(a, &view_report);
	case ACTION_PALETTE:
		/* a form keeps what was typed into it */
		return a->overlay == &view_wizard ? REACT_NOTHING
						  : app_show_overlay(a, &view_palette);
	case ACTION_UNDO:
		return a->overlay ? REACT_NOTHING : app_undo(a);
	case ACTION_TOUR:
		app_tour_restart(a);
		return REACT_REDRAW;
	case ACTION_REPAINT:
		return REACT_REDRAW | REACT_REPAINT;
	case ACTION_BACK:
		return REACT_BACK;
	case ACTION_QUIT:
		return ask_leave(a);
	default:
		return run_request_ask(&a->context, action, h ? h->name : NULL,
				       h && h->state == RUN_RUNNING,
				       h ? run_state_name(h->state) : "")
			       ? REACT_REDRAW
			       : REACT_NOTHING;
	}
}

unsigned app_view_act(struct app *a, const struct view *v, void *state, enum action action)
{
	bool is_tab = v == view_tabs[a->front] && !a->overlay;
	struct undo_step before;
	unsigned reaction;

	if (is_tab)
		app_undo_look(a, a->front, action, &before);
	reaction = view_act(v, state, &a->context, action);
	if (is_tab)
		app_undo_keep(a, &before);
	if (is_tab && !(reaction & REACT_UNKNOWN))
		a->asked_by = action;
	return reaction & REACT_UNKNOWN ? app_act_itself(a, action) : reaction;
}

unsigned app_act(struct app *a, enum action action)
{
	const char *group = action_infos[action].group;
	struct tab_state *t;

	for (int i = 0; i < TAB_COUNT; i++)
		if (i != a->front && !strcmp(view_tabs[i]->name, group)) {
			/* the view reads its data first: act at the end of the next update */
			a->requests->action = action;
			return app_show_tab(a, i);
		}
	t = &a->tabs[a->front];
	if (!t->state)
		return app_act_itself(a, action);
	app_set_caller(a, a->front);
	return app_view_act(a, view_tabs[a->front], t->state, action);
}
