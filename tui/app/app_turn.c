/* app_turn.c - work between keys: tabs, files, jobs, requests, drawing; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "share/workspace/workspace_names.h"
#include "tui/app/frame.h"
#include "tui/app/jobs.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"

#define FIRST_BUDGET_S 0.01
#define READ_BUDGET_S  0.05 /* time for one read of the run's files, so that keys stay responsive */
#define OUTPUT_MAX_S   10   /* a command of the palette that takes longer shows only a message */
#define MESSAGE_MAX_S  8    /* a message stays at most this long */

/* ---- tabs ---- */

/* Allocate and open the state of a view; NULL: e says why. */
static void *view_new(struct app *a, const struct view *v, struct err *e)
{
	void *state = mem_alloc(1, MAX(v->state_size, (size_t)1), e);

	if (state && v->open && v->open(state, &a->context, e)) {
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
	if (v->close)
		v->close(state);
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
	a->context.pane = t->state && front->pane ? front->pane(t->state) : NULL;
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
	if (!t->state || !view_tabs[tab]->update)
		return REACT_NOTHING;
	if (tab == a->front)
		return view_tabs[tab]->update(t->state, &a->context);
	return view_tabs[tab]->update(t->state, &a->context) & ~(unsigned)REACT_REDRAW;
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
	context_ask(&a->context, &(struct question){ .kind = QUESTION_TEXT,
						     .id = ASK_OUTPUT,
						     .title = job->title,
						     .text = buf_text(&text) });
	buf_free(&text);
}

void app_preview_theme(struct app *a, const char *name)
{
	struct err ignored;

	if (!a->has_preview && !name)
		return;
	if (!a->has_preview)
		a->before_preview = a->theme;
	a->has_preview = name != NULL;
	/* the settings show the chosen theme, not the one that is tried */
	a->context.theme = name ? a->before_preview.name : a->theme.name;
	if (!name)
		a->theme = a->before_preview;
	else if (app_load_theme(a, name, &ignored))
		return;
	if (a->term)
		app_set_look(a);
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
	if (*a->requests->message && w->now - a->requests->message_time > MESSAGE_MAX_S) {
		*a->requests->message = 0;
		reaction |= REACT_REDRAW;
	}
	return reaction | app_execute_requests(a);
}

/* ---- drawing ---- */

static void draw_view_error(struct grid *g, struct rect body, const char *text)
{
	struct span at = { body.row, body.col, body.cols, STYLE_BAD };

	draw_text_wrapped(g, at, body.rows, 0, text);
}

static void draw_foot(struct app *a, struct rect foot, const struct view *v, void *state)
{
	if (!foot.rows)
		return;
	if (*a->requests->message)
		draw_text(&a->grid, foot.row, 1, foot.cols - 2, a->requests->message_style,
			  a->requests->message);
	else
		frame_draw_foot(&a->grid, foot, &a->context, v,
				state && v->typing && v->typing(state));
}

static void set_grid_clip(struct grid *g, struct rect r)
{
	g->clip.row = r.row;
	g->clip.col = r.col;
	g->clip.rows = r.rows;
	g->clip.cols = r.cols;
}

void app_draw(struct app *a)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	struct tab_state *t = &a->tabs[a->front];
	struct app_context *w = &a->context;
	struct frame frame;

	w->rows = a->grid.rows;
	w->cols = a->grid.cols;
	w->charset = a->grid.charset;
	a->shown_second = floor(w->now);
	grid_clear(&a->grid);
	frame_layout(a->grid.rows, a->grid.cols, &frame);
	app_set_caller(a, a->overlay ? CALLER_OVERLAY : a->front);
	w->front = true;
	frame.body = app_tour_draw(a, frame.body);
	set_grid_clip(&a->grid, frame.body); /* no view can draw over the frame */
	if (a->overlay && !a->overlay->is_box)
		a->overlay->draw(a->overlay_state, &a->grid, frame.body, w);
	else if (t->state)
		view_tabs[a->front]->draw(t->state, &a->grid, frame.body, w);
	else
		draw_view_error(&a->grid, frame.body, t->trouble.text);
	if (a->overlay && a->overlay->is_box)
		a->overlay->draw(a->overlay_state, &a->grid, frame.body, w);
	set_grid_clip(&a->grid, (struct rect){ 0 });
	if (frame.tabs.rows)
		frame_draw_tabs(&a->grid, frame.tabs, w, a->front);
	draw_foot(a, frame.foot, v, a->overlay ? a->overlay_state : t->state);
	if (a->requests->prompt.open)
		prompt_draw(&a->requests->prompt, &a->grid);
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

static void save_screenshot(struct app *a)
{
	struct buf text = { 0 };

	a->requests->screenshot = false;
	app_draw(a);
	grid_dump(&a->grid, &text);
	context_write_file(&a->context, "werkbank-screen.txt", buf_text(&text));
	buf_free(&text);
}

static void apply_look_request(struct app *a)
{
	struct view_requests *requests = a->requests;
	struct err e = { 0 };

	if (*requests->new_theme && app_load_theme(a, requests->new_theme, &e))
		context_notify(&a->context, STYLE_BAD, "%s", e.text);
	else if (*requests->new_theme)
		saved_state_set(&requests->saved, "theme", requests->new_theme);
	*requests->new_theme = 0;
	if (requests->mouse >= 0) {
		a->mouse = requests->mouse;
		saved_state_set(&requests->saved, "mouse", a->mouse ? "yes" : "no");
	}
	requests->mouse = -1;
	if (a->term) {
		app_set_look(a);
		term_describe(a->term, a->terminal_text, sizeof(a->terminal_text));
	}
	a->context.mouse = a->mouse;
}

void app_show_picture_state(struct app *a)
{
	static const char *const words[] = {
		[TERM_PICTURES_OFF] = "off",
		[TERM_PICTURES_ASKED] = "the terminal is being asked",
		[TERM_PICTURES_KITTY] = "shown by the kitty graphics protocol",
		[TERM_PICTURES_SIXEL] = "shown as sixels",
		[TERM_PICTURES_NONE] = "not shown: this terminal answers that it cannot",
		[TERM_PICTURES_SILENT] = "not shown: this terminal does not answer",
		[TERM_PICTURES_SLOW] = "not shown: the line to this terminal is too slow",
		[TERM_PICTURES_INSIDE] = "not shown: not inside tmux or screen",
	};
	enum term_pictures now = a->term ? term_pictures(a->term) : TERM_PICTURES_OFF;

	if (a->context.pictures != words[now] && now > TERM_PICTURES_ASKED)
		context_notify(&a->context, now > TERM_PICTURES_SIXEL ? STYLE_WARN : STYLE_GOOD,
			       "pictures of plots: %s", words[now]);
	a->context.pictures = words[now];
}

static void apply_picture_request(struct app *a)
{
	struct app_context *w = &a->context;

	w->wants_pictures = a->requests->pictures;
	a->requests->pictures = -1;
	saved_state_set(&a->requests->saved, "pictures", w->wants_pictures ? "yes" : "no");
	if (a->term)
		term_want_pictures(a->term, w->wants_pictures);
	app_show_picture_state(a);
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
		apply_look_request(a);
	if (requests->pictures >= 0)
		apply_picture_request(a);
	if (requests->has_copy)
		copy_to_clipboard(a);
	if (requests->screenshot)
		save_screenshot(a);
	if (requests->redraw)
		reaction |= REACT_REDRAW;
	requests->redraw = false;
	a->context.has_question = requests->prompt.open;
	return reaction;
}
