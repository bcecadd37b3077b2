/* app_turn.c - work between keys: files, jobs, updates of the tabs, requests of the views; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/util.h"
#include "share/workspace/workspace_names.h"
#include "tui/app/frame.h"
#include "tui/context/jobs.h"
#include "tui/overlay/overlays.h"
#include "tui/run/run_history.h"

#define FIRST_BUDGET_S 0.01
#define READ_BUDGET_S  0.05 /* time for one read of the run's files, so that keys stay responsive */
#define OUTPUT_MAX_S   10   /* a command of the palette that takes longer shows only a message */
#define MESSAGE_MAX_S  8    /* a message stays at most this long */

/* ---- updates ---- */

/* Choose the first run that appears. */
static void choose_newest_run(struct app *a)
{
	struct err e = { 0 };
	char *newest = workspace_newest_run(a->context.workspace, &e);

	if (newest)
		context_choose_run(&a->context, newest, &e);
	free(newest);
	if (strcmp(e.text, a->trouble.text))
		a->requests->redraw = true;
	a->trouble = e;
	a->context.trouble = a->trouble.text;
}

static unsigned update_history(struct app *a)
{
	struct app_context *w = &a->context;
	unsigned reaction = REACT_NOTHING;
	struct err e = { 0 };
	int got;

	if (!w->history)
		choose_newest_run(a);
	if (!w->history)
		return REACT_NOTHING;
	/* Keep the first read short: a screen that fills later is better than none. */
	got = history_update(w->history, w->now, w->rows ? READ_BUDGET_S : FIRST_BUDGET_S, &e);
	if (got < 0) {
		bool news = strcmp(e.text, a->trouble.text) != 0;

		a->trouble = e;
		w->trouble = a->trouble.text;
		return news ? REACT_REDRAW : REACT_NOTHING;
	}
	if (*w->trouble) {
		w->trouble = "";
		got = MAX(got, HISTORY_CHANGED);
	}
	if (got != HISTORY_SAME)
		a->requests->news |= NEWS_HISTORY;
	if (got == HISTORY_MORE)
		reaction |= REACT_AGAIN;
	/* Clocks on the screen run while the run trains. */
	if (w->history->state == RUN_RUNNING && floor(w->now) != a->shown_second)
		reaction |= REACT_REDRAW;
	return reaction;
}

/* Once a second: is there contact with the hosts of a watched copy? */
static unsigned update_contact(struct app *a)
{
	struct app_context *w = &a->context;

	if (floor(w->now) == a->contact_read)
		return REACT_NOTHING;
	a->contact_read = floor(w->now);
	w->addresses = a->contact.addresses;
	w->silence = a->contact.trouble;
	return contact_update(&a->contact, w->workspace, w->now) ? REACT_REDRAW : REACT_NOTHING;
}

static unsigned update_tab(struct app *a, int tab)
{
	struct tab_state *t = &a->tabs[tab];

	app_set_caller(a, tab);
	a->context.news = t->news;
	t->news = 0;
	if (!t->state)
		return REACT_NOTHING;
	return view_update(view_tabs[tab], t->state, &a->context) &
	       ~(tab == a->front ? 0u : (unsigned)REACT_REDRAW);
}

/* Show the output of a command of the palette, if it ended while nothing else was opened. */
static void show_ended_job(struct app *a)
{
	const struct job *job = jobs_find(a->context.jobs, a->requests->output_job);
	struct buf text = { 0 };

	if (!job || job->state == JOB_RUNNING)
		return;
	a->requests->output_job = 0;
	if (job->ended - job->started > OUTPUT_MAX_S || a->requests->prompt.open || a->overlay) {
		context_notify(&a->context, job->state == JOB_DONE ? STYLE_GOOD : STYLE_BAD,
			       "%s: %s  %s", job_state_name(job->state), job->title, job->last);
		return;
	}
	jobs_output_text(job, &text);
	app_set_caller(a, CALLER_APP);
	context_ask_text(&a->context, QUESTION_TEXT, ASK_OUTPUT, job->title, buf_text(&text));
	buf_free(&text);
}

/* Update all open tabs, the one in front first. */
unsigned app_update(struct app *a)
{
	struct app_context *w = &a->context;
	unsigned reaction = REACT_NOTHING, news;

	w->now = a->fixed_now > 0 ? a->fixed_now : clock_wall_s();
	a->requests->n_wake_fds = 0;
	if (!a->requests->prompt.previews_themes)
		app_preview_theme(a, NULL); /* another question has replaced the list of themes */
	reaction |= update_contact(a) | update_history(a);
	if (jobs_update(w->jobs, w->now))
		a->requests->news |= NEWS_JOBS;
	if (a->requests->output_job)
		show_ended_job(a);
	news = a->requests->news;
	a->requests->news = 0;
	if (news)
		reaction |= REACT_REDRAW;
	for (int i = 0; i < TAB_COUNT; i++)
		a->tabs[i].news |= news;
	reaction |= update_tab(a, a->front);
	for (int i = 0; i < TAB_COUNT; i++)
		if (i != a->front)
			reaction |= update_tab(a, i);
	if (a->overlay) {
		app_set_caller(a, CALLER_OVERLAY);
		reaction |= view_update(a->overlay, a->overlay_state, w);
	}
	if (*a->requests->message && w->now - a->requests->message_time > MESSAGE_MAX_S) {
		*a->requests->message = 0;
		reaction |= REACT_REDRAW;
	}
	return reaction | app_execute_requests(a);
}

/* ---- requests ---- */

static void copy_to_clipboard(struct app *a)
{
	const char *text = buf_text(&a->requests->copy);

	if (a->requests->copy.failed || !a->term || !term_copy(a->term, text))
		context_notify(&a->context, STYLE_WARN,
			       "%zu bytes are not copied: this terminal offers no clipboard",
			       strlen(text));
	else
		context_notify(&a->context, STYLE_GOOD, "copied (%zu bytes)", strlen(text));
	a->requests->has_copy = false;
}

/* Give the view in front the text that another view sends, or else the keys. */
static void give_keys_or_text(struct app *a, const struct view *v)
{
	void *state = a->tabs[a->front].state;

	if (a->requests->tab_text && v->receive)
		v->receive(state, &a->context, a->requests->tab_text);
	else if (v->start_typing)
		v->start_typing(state);
}

unsigned app_execute_requests(struct app *a)
{
	struct view_requests *requests = a->requests;
	unsigned reaction = REACT_NOTHING;

	while (requests->n_cancelled) {
		struct cancelled_question c = requests->cancelled[--requests->n_cancelled];

		reaction |= app_answer(a, c.owner, c.id, NULL);
	}
	if (requests->show_tab >= 0 && requests->show_tab < TAB_COUNT) {
		const struct view *v = view_tabs[requests->show_tab];

		reaction |= app_show_tab(a, requests->show_tab);
		if (a->tabs[a->front].state)
			give_keys_or_text(a, v);
	}
	requests->show_tab = -1;
	free(requests->tab_text);
	requests->tab_text = NULL;
	if (requests->action != ACTION_NONE) {
		enum action action = requests->action;

		requests->action = ACTION_NONE;
		reaction |= app_act(a, action);
	}
	if (requests->wizard)
		reaction |= app_show_overlay(a, &view_wizard);
	if (*requests->new_theme || requests->mouse >= 0)
		app_apply_look(a);
	if (requests->pictures >= 0)
		app_apply_pictures(a);
	if (requests->has_copy)
		copy_to_clipboard(a);
	if (requests->screenshot)
		app_save_screenshot(a);
	if (requests->redraw)
		reaction |= REACT_REDRAW;
	requests->redraw = false;
	a->context.has_question = requests->prompt.open;
	return reaction;
}
