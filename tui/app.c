/* app.c - see app.h */
#include "tui/app.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/draw.h"
#include "tui/frame.h"
#include "tui/grid.h"
#include "tui/history.h"
#include "tui/jobs.h"
#include "tui/keys.h"
#include "tui/term.h"
#include "tui/view.h"
#include "tui/wishes.h"

#define TURN_MS   500	/* how often the run's files are looked at */
#define SOON_MS   50	/* the same when a view asks for it */
#define MAX_SIDE  1000	/* of --dump */
#define READ_BUDGET_S 0.05	/* of one look at the run's files: keys are answered in between */
#define SAID_S    8	/* what was said stays at most so long */
#define SAID_MIN_S 2	/* and this long in spite of keys */
#define WAIT_S    60	/* <Wait> in --keys gives up after it */

/* Questions of the workbench itself. */
enum { ASK_LEAVE, ASK_RUN };

struct tab_state {
	void *state;		/* owned; NULL: not open yet */
	unsigned news;		/* what it has not heard of yet */
	struct err trouble;	/* why it could not be opened; text "" when it could */
};

struct app {
	struct world world;
	struct world_wishes *wish;	/* of the world */
	struct tab_state tabs[TAB_COUNT];
	int front;
	const struct view *overlay;	/* over the tab: help; NULL: none */
	void *overlay_state;		/* owned */
	struct grid grid;
	struct keymap keymap;
	struct theme theme;
	struct terminal *term;		/* NULL: --dump */
	double fixed_now;		/* WERKBANK_NOW; 0: the real clock */
	struct err trouble;		/* of reading the run's files */
	double shown_second;		/* of the clock, when it was drawn last */
};

static void app_draw(struct app *a);
static unsigned app_carry_out(struct app *a);

/* ---- tabs ---- */

/* The state of a view, opened; NULL: e says why not. */
static void *view_new(struct app *a, const struct view *v, struct err *e)
{
	void *state = mem_alloc(1, MAX(v->state_size, (size_t)1), e);

	if (state && v->open && v->open(state, &a->world, e)) {
		free(state);
		return NULL;
	}
	return state;
}

static void view_end(const struct view *v, void *state)
{
	if (!state)
		return;
	if (v->close)
		v->close(state);
	free(state);
}

/* Say to the world who is called, so that answers find their way back. */
static void call(struct app *a, int tab)
{
	a->wish->caller = tab;
	a->world.front = tab == a->front && !a->overlay;
}

static unsigned app_show_tab(struct app *a, int tab)
{
	struct tab_state *t = &a->tabs[tab];

	view_end(a->overlay, a->overlay_state);
	a->overlay = NULL;
	a->overlay_state = NULL;
	a->front = tab;
	a->world.view = view_tabs[tab]->name;
	call(a, tab);
	if (!t->state) {
		t->trouble = (struct err){ 0 };
		t->state = view_new(a, view_tabs[tab], &t->trouble);
		t->news = NEWS_RUN | NEWS_HISTORY | NEWS_JOBS;
	}
	return REACT_REDRAW | REACT_AGAIN;
}

static unsigned app_show_overlay(struct app *a, const struct view *v)
{
	struct err e = { 0 };

	view_end(a->overlay, a->overlay_state);
	call(a, CALLER_OVERLAY);
	a->overlay = v;
	a->overlay_state = view_new(a, v, &e);
	if (!a->overlay_state) {
		a->overlay = NULL;
		world_say(&a->world, STYLE_BAD, "%s", e.text);
	}
	return REACT_REDRAW;
}

static unsigned app_end_overlay(struct app *a)
{
	if (!a->overlay)
		return REACT_NOTHING;
	view_end(a->overlay, a->overlay_state);
	a->overlay = NULL;
	a->overlay_state = NULL;
	return REACT_REDRAW;
}

/* ---- what goes on ---- */

/* Without a chosen run the first that appears is it. */
static void find_run(struct app *a)
{
	struct err e = { 0 };
	char *newest = history_newest(a->world.workspace, &e);

	if (newest)
		world_choose_run(&a->world, newest, &e);
	free(newest);
}

static unsigned update_history(struct app *a)
{
	struct world *w = &a->world;
	struct err e = { 0 };
	int got;

	if (!w->history)
		find_run(a);
	if (!w->history)
		return REACT_NOTHING;
	got = history_update(w->history, w->now, READ_BUDGET_S, &e);
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
		a->wish->news |= NEWS_HISTORY;
	/* While it runs, clocks on the screen go on. */
	if (w->history->state == RUN_RUNNING && floor(w->now) != a->shown_second)
		return REACT_REDRAW;
	return got == HISTORY_MORE ? REACT_AGAIN : REACT_NOTHING;
}

static unsigned update_tab(struct app *a, int tab)
{
	struct tab_state *t = &a->tabs[tab];

	call(a, tab);
	a->world.news = t->news;
	t->news = 0;
	if (!t->state || !view_tabs[tab]->update)
		return REACT_NOTHING;
	if (tab == a->front)
		return view_tabs[tab]->update(t->state, &a->world);
	return view_tabs[tab]->update(t->state, &a->world) & ~(unsigned)REACT_REDRAW;
}

/* All open tabs are kept up to date, the one in front first. */
static unsigned app_update(struct app *a)
{
	struct world *w = &a->world;
	unsigned reaction = REACT_NOTHING, news;

	w->now = a->fixed_now > 0 ? a->fixed_now : clock_wall_s();
	a->wish->n_wakes = 0;
	reaction |= update_history(a);
	if (jobs_update(w->jobs, w->now))
		a->wish->news |= NEWS_JOBS;
	news = a->wish->news;
	a->wish->news = 0;
	if (news)
		reaction |= REACT_REDRAW;
	for (int i = 0; i < TAB_COUNT; i++)
		a->tabs[i].news |= news;
	reaction |= update_tab(a, a->front);
	for (int i = 0; i < TAB_COUNT; i++)
		if (i != a->front)
			reaction |= update_tab(a, i);
	if (*a->wish->said && w->now - a->wish->said_at > SAID_S) {
		*a->wish->said = 0;
		reaction |= REACT_REDRAW;
	}
	return reaction | app_carry_out(a);
}

/* ---- drawing ---- */

static void draw_trouble(struct grid *g, struct rect body, const char *text)
{
	struct span at = { body.row, body.col, body.cols, STYLE_BAD };

	draw_text_wrapped(g, at, body.rows, 0, text);
}

static void draw_foot(struct app *a, struct rect foot, const struct view *v)
{
	if (!foot.rows)
		return;
	if (*a->wish->said)
		draw_text(&a->grid, foot.row, 1, foot.cols - 2, a->wish->said_style, a->wish->said);
	else
		frame_draw_foot(&a->grid, foot, &a->world, v);
}

static void app_draw(struct app *a)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	struct tab_state *t = &a->tabs[a->front];
	struct world *w = &a->world;
	struct frame frame;

	w->rows = a->grid.rows;
	w->cols = a->grid.cols;
	w->charset = a->grid.charset;
	a->shown_second = floor(w->now);
	grid_clear(&a->grid);
	frame_layout(a->grid.rows, a->grid.cols, &frame);
	call(a, a->overlay ? CALLER_OVERLAY : a->front);
	w->front = true;
	if (a->overlay)
		v->draw(a->overlay_state, &a->grid, frame.body, w);
	else if (t->state)
		v->draw(t->state, &a->grid, frame.body, w);
	else
		draw_trouble(&a->grid, frame.body, t->trouble.text);
	if (frame.tabs.rows)
		frame_draw_tabs(&a->grid, frame.tabs, w, a->front);
	draw_foot(a, frame.foot, v);
	if (a->wish->prompt.open)
		prompt_draw(&a->wish->prompt, &a->grid);
}

/* ---- wishes ---- */

static void start_command(struct app *a)
{
	struct world_wishes *wish = a->wish;
	struct err e = { 0 };

	if (!wish->command)
		return;
	if (jobs_start(a->world.jobs, wish->command_title, (const char *const *)wish->command,
		       a->world.now, &e) < 0)
		world_say(&a->world, STYLE_BAD, "%s", e.text);
	else
		world_say(&a->world, STYLE_GOOD, "started: %s", wish->command_title);
	wishes_forget_command(wish);
}

static unsigned app_answer(struct app *a, int owner, int question, const char *text)
{
	struct err e = { 0 };

	if (owner >= 0) {
		call(a, owner);
		if (a->tabs[owner].state && view_tabs[owner]->answer)
			return view_tabs[owner]->answer(a->tabs[owner].state, &a->world, question,
						    text);
	} else if (owner == CALLER_OVERLAY) {
		call(a, owner);
		if (a->overlay && a->overlay->answer)
			return a->overlay->answer(a->overlay_state, &a->world, question, text);
	} else if (owner == CALLER_COMMAND) {
		if (text)
			start_command(a);
		else
			wishes_forget_command(a->wish);
	} else if (question == ASK_LEAVE) {
		return text ? REACT_QUIT : REACT_REDRAW;
	} else if (question == ASK_RUN && text && world_choose_run(&a->world, text, &e)) {
		world_say(&a->world, STYLE_BAD, "%s", e.text);
	}
	return REACT_REDRAW | REACT_AGAIN;
}

static void copy_out(struct app *a)
{
	const char *text = buf_text(&a->wish->copy);

	if (a->wish->copy.failed || !a->term || !term_copy(a->term, text))
		world_say(&a->world, STYLE_WARN,
			  "this terminal has no clipboard to write to; %zu bytes are not copied",
			  strlen(text));
	else
		world_say(&a->world, STYLE_GOOD, "copied (%zu bytes)", strlen(text));
	a->wish->copies = false;
}

static void screenshot(struct app *a)
{
	struct buf text = { 0 };

	a->wish->screenshot = false;
	app_draw(a);
	grid_dump(&a->grid, &text);
	world_export(&a->world, "werkbank-screen.txt", buf_text(&text));
	buf_free(&text);
}

/* Do what views have asked for. */
static unsigned app_carry_out(struct app *a)
{
	struct world_wishes *wish = a->wish;
	unsigned reaction = REACT_NOTHING;

	while (wish->n_called_off) {
		struct called_off c = wish->called_off[--wish->n_called_off];

		reaction |= app_answer(a, c.owner, c.id, NULL);
	}
	if (wish->go >= 0 && wish->go < TAB_COUNT)
		reaction |= app_show_tab(a, wish->go);
	wish->go = -1;
	if (wish->copies)
		copy_out(a);
	if (wish->screenshot)
		screenshot(a);
	if (wish->redraw)
		reaction |= REACT_REDRAW;
	wish->redraw = false;
	a->world.asking = wish->prompt.open;
	return reaction;
}

/* ---- keys ---- */

static unsigned ask_leave(struct app *a)
{
	size_t n = jobs_running(a->world.jobs);
	char title[80];

	if (!n)
		return REACT_QUIT;
	snprintf(title, sizeof(title), "leave, and end %s?",
		 n == 1 ? "the job that runs" : "the jobs that run");
	call(a, CALLER_APP);
	world_ask(&a->world, &(struct question){
			.kind = QUESTION_YES_NO, .id = ASK_LEAVE, .title = title,
			.text = "Trainings that run by themselves go on." });
	return REACT_REDRAW;
}

static unsigned ask_run(struct app *a)
{
	struct err e = { 0 };
	size_t n;
	char **names = world_runs(&a->world, &n, &e);

	call(a, CALLER_APP);
	if (names && n)
		world_ask(&a->world, &(struct question){
				.kind = QUESTION_CHOICE, .id = ASK_RUN, .title = "run",
				.choices = (const char *const *)names, .n_choices = n });
	else
		world_say(&a->world, STYLE_WARN, "%s", names ? "there is no run yet" : e.text);
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	return REACT_REDRAW;
}

/* What no view has claimed. */
static unsigned app_act_itself(struct app *a, enum action action)
{
	if (action >= ACTION_GO_HOME && action < ACTION_GO_HOME + TAB_COUNT)
		return app_show_tab(a, (int)(action - ACTION_GO_HOME));
	switch (action) {
	case ACTION_NEXT_TAB:	return app_show_tab(a, (a->front + 1) % TAB_COUNT);
	case ACTION_PREV_TAB:	return app_show_tab(a, (a->front + TAB_COUNT - 1) % TAB_COUNT);
	case ACTION_CHOOSE_RUN: return ask_run(a);
	case ACTION_SCREENSHOT: world_screenshot(&a->world); return REACT_NOTHING;
	case ACTION_HELP:	return app_show_overlay(a, &view_help);
	case ACTION_REPAINT:	return REACT_REDRAW | REACT_REPAINT;
	case ACTION_BACK:	return REACT_BACK;
	case ACTION_QUIT:	return ask_leave(a);
	default:		return REACT_NOTHING;
	}
}

static unsigned prompt_reaction(struct app *a, enum prompt_state state)
{
	struct prompt *p = &a->wish->prompt;
	unsigned reaction;
	int owner = p->owner, id = p->id;
	char *answer = p->answer;

	if (state == PROMPT_COPY)
		world_copy(&a->world, p->text);
	if (state != PROMPT_ANSWERED)
		return REACT_REDRAW;
	p->answer = NULL;
	prompt_close(p);
	reaction = app_answer(a, owner, id, answer);
	free(answer);
	return reaction | REACT_REDRAW;
}

/* A key for a view that is on the screen: as text first where it types, then as an action. */
static unsigned view_key(struct app *a, const struct view *v, void *state, int key)
{
	enum action action = keys_action(&a->keymap, key, v->name);
	unsigned reaction = REACT_UNKNOWN;

	if (v->typing && v->typing(state) && v->key) {
		reaction = v->key(state, &a->world, key);
		if (!(reaction & REACT_UNKNOWN) || key_is_text(key))
			return reaction;
	}
	if (action == ACTION_NONE)
		return REACT_NOTHING;
	if (v->act)
		reaction = v->act(state, &a->world, action);
	return reaction & REACT_UNKNOWN ? app_act_itself(a, action) : reaction;
}

static unsigned app_key(struct app *a, int key)
{
	unsigned reaction;

	if (*a->wish->said && a->world.now - a->wish->said_at >= SAID_MIN_S) {
		*a->wish->said = 0;
		a->wish->redraw = true;
	}
	if (a->wish->prompt.open) {
		reaction = prompt_reaction(a, prompt_key(&a->wish->prompt, key));
	} else if (a->overlay) {
		call(a, CALLER_OVERLAY);
		reaction = view_key(a, a->overlay, a->overlay_state, key);
		if (reaction & REACT_BACK)
			reaction |= app_end_overlay(a);
	} else if (a->tabs[a->front].state) {
		call(a, a->front);
		reaction = view_key(a, view_tabs[a->front], a->tabs[a->front].state, key);
	} else {
		reaction = app_act_itself(a, keys_action(&a->keymap, key, NULL));
	}
	return reaction | app_carry_out(a);
}

static unsigned app_paste(struct app *a, const char *text)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	void *state = a->overlay ? a->overlay_state : a->tabs[a->front].state;
	unsigned reaction = REACT_NOTHING;

	call(a, a->overlay ? CALLER_OVERLAY : a->front);
	if (a->wish->prompt.open)
		reaction = prompt_reaction(a, prompt_paste(&a->wish->prompt, text));
	else if (state && v->paste)
		reaction = v->paste(state, &a->world, text);
	else
		world_say(&a->world, STYLE_WARN, "there is nothing here to paste into");
	return reaction | app_carry_out(a);
}

static unsigned app_mouse(struct app *a, const struct mouse *m)
{
	const struct view *v = a->overlay ? a->overlay : view_tabs[a->front];
	void *state = a->overlay ? a->overlay_state : a->tabs[a->front].state;
	unsigned reaction = REACT_NOTHING;
	struct frame frame;
	int tab;

	if (a->wish->prompt.open)
		return REACT_NOTHING;
	frame_layout(a->grid.rows, a->grid.cols, &frame);
	if (frame.tabs.rows && m->row == frame.tabs.row) {
		tab = frame_tab_at(&a->grid, frame.tabs, &a->world, a->front, m->col);
		return m->kind == MOUSE_PRESS && tab >= 0 ? app_show_tab(a, tab) : REACT_NOTHING;
	}
	call(a, a->overlay ? CALLER_OVERLAY : a->front);
	if (state && v->mouse)
		reaction = v->mouse(state, &a->world, m);
	/* Without an idea of its own a view scrolls. */
	if (state && v->act && (!v->mouse || reaction & REACT_UNKNOWN) &&
	    (m->kind == MOUSE_WHEEL_UP || m->kind == MOUSE_WHEEL_DOWN))
		for (int i = 0; i < 3; i++)
			reaction |= v->act(state, &a->world, m->kind == MOUSE_WHEEL_UP
								     ? ACTION_UP
								     : ACTION_DOWN);
	return (reaction & ~(unsigned)REACT_UNKNOWN) | app_carry_out(a);
}

/* ---- on a terminal ---- */

static int app_resize(struct app *a, struct err *e)
{
	int rows, cols;

	term_size(a->term, &rows, &cols);
	if (a->grid.cells && rows == a->grid.rows && cols == a->grid.cols)
		return 0;
	return grid_resize(&a->grid, rows, cols, e);
}

static unsigned app_wait(struct app *a, int timeout_ms)
{
	int fds[WORLD_WAKES + 2 * JOB_MAX], key;
	size_t n = a->wish->n_wakes;
	struct mouse m;

	memcpy(fds, a->wish->wakes, n * sizeof(int));
	n += jobs_fds(a->world.jobs, fds + n, ARRAY_LEN(fds) - n);
	key = term_key(a->term, timeout_ms, fds, n);
	switch (key) {
	case TERM_ENDED:   return REACT_QUIT;
	case TERM_RESIZED: return REACT_REDRAW;
	case TERM_NOTHING: return REACT_NOTHING;
	case TERM_PASTE:   return app_paste(a, term_pasted(a->term));
	case TERM_MOUSE:
		m = term_mouse(a->term);
		return app_mouse(a, &m);
	default: return app_key(a, key);
	}
}

static int app_loop(struct app *a, struct err *e)
{
	unsigned reaction = REACT_REDRAW;

	while (!(reaction & REACT_QUIT)) {
		reaction |= app_update(a);
		if (app_resize(a, e))
			return e->code;
		if (reaction & REACT_REPAINT)
			term_repaint(a->term);
		if (reaction & REACT_REDRAW) {
			app_draw(a);
			term_show(a->term, &a->grid);
		}
		reaction = app_wait(a, reaction & REACT_AGAIN  ? 0
				       : reaction & REACT_SOON ? SOON_MS
							       : TURN_MS);
	}
	return 0;
}

static int run_on_terminal(struct app *a, const struct conf *c, struct err *e)
{
	struct term_look look = { .theme = &a->theme, .mouse = c->mouse };
	bool bad;
	int status;

	look.colours = theme_wants_colour(c->color, getenv("NO_COLOR"), &bad);
	if (bad)
		return err_set(e, ERR_USAGE, "color: %s is none of auto, always, never", c->color);
	if (!(a->term = term_open(&look, e)))
		return e->code;
	status = app_loop(a, e);
	term_close(a->term);
	a->term = NULL;
	return status;
}

/* ---- as text ---- */

static int parse_dump(const char *text, int *rows, int *cols, struct err *e)
{
	char first[16];
	const char *times = strpbrk(text, "xX");
	int64_t r, k;

	if (times && (size_t)(times - text) < sizeof(first)) {
		memcpy(first, text, (size_t)(times - text));
		first[times - text] = 0;
		if (text_to_int(first, &r) && text_to_int(times + 1, &k) && r >= 1 && k >= 1 &&
		    r <= MAX_SIDE && k <= MAX_SIDE) {
			*rows = (int)r;
			*cols = (int)k;
			return 0;
		}
	}
	return err_set(e, ERR_USAGE, "dump: \"%.50s\" is not ROWSxCOLUMNS, as 24x80, each in 1..%d",
		       text, MAX_SIDE);
}

/* Until nothing has more to do: no job runs, no view wants to be called again. */
static void come_to_rest(struct app *a)
{
	double end = clock_mono_s() + WAIT_S;

	while (clock_mono_s() < end) {
		unsigned reaction = app_update(a);

		if (reaction & REACT_AGAIN)
			continue;
		if (!(reaction & REACT_SOON) && !jobs_running(a->world.jobs))
			return;
		usleep(20000);
	}
}

/*
 * Press keys as --keys names them. Drawing in between keeps scrolling within bounds, as on a
 * terminal.
 */
static int press(struct app *a, const char *keys, struct err *e)
{
	while (*keys) {
		int key = keys_next(&keys);
		unsigned reaction;

		if (key < 0)
			return err_set(e, ERR_USAGE,
				       "keys: there is no key called as in \"%.50s\"; a key is "
				       "a character, <Tab>, <Down>, <Ctrl-L>, and < itself is <lt>",
				       keys);
		if (key == KEY_NAME_WAIT)
			come_to_rest(a);
		reaction = key == KEY_NAME_WAIT ? REACT_NOTHING : app_key(a, key);
		if (reaction & REACT_QUIT)
			break;
		while (app_update(a) & REACT_AGAIN)
			;
		app_draw(a);
	}
	return 0;
}

static int run_as_text(struct app *a, const struct conf *c, struct err *e)
{
	struct buf out = { 0 };
	int rows = 0, cols = 0, status;

	if (parse_dump(c->dump, &rows, &cols, e) || grid_resize(&a->grid, rows, cols, e))
		return e->code;
	while (app_update(a) & REACT_AGAIN)
		;
	app_draw(a);
	if (c->keys && press(a, c->keys, e))
		return e->code;
	app_draw(a);
	grid_dump(&a->grid, &out);
	status = buf_check(&out, e);
	if (!status && (fwrite(buf_text(&out), 1, out.len, stdout) != out.len || fflush(stdout)))
		status = err_set_errno(e, ERR_IO, "standard output cannot be written");
	buf_free(&out);
	return status;
}

/* ---- both ---- */

static int choose_charset(enum grid_charset *charset, struct err *e)
{
	const char *wish = getenv("WERKBANK_GLYPHS"), *term = getenv("TERM");
	bool utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");

	/* The console of Linux has a font of 256 or 512 glyphs, without braille. */
	*charset = !utf8 ? GRID_ASCII : term && !strcmp(term, "linux") ? GRID_PLAIN : GRID_FULL;
	if (!wish || !*wish)
		return 0;
	if (!strcmp(wish, "ascii"))
		*charset = GRID_ASCII;
	else if (strcmp(wish, "plain") && strcmp(wish, "full"))
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_GLYPHS: %.50s is none of ascii, plain, full", wish);
	else if (!utf8)
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_GLYPHS=%s needs a UTF-8 locale; LC_ALL=C.UTF-8 is one",
			       wish);
	else
		*charset = !strcmp(wish, "plain") ? GRID_PLAIN : GRID_FULL;
	return 0;
}

static int set_clock(struct app *a, struct err *e)
{
	const char *now = getenv("WERKBANK_NOW");

	if (now && *now && (!text_to_real(now, &a->fixed_now) || !(a->fixed_now > 0)))
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_NOW: %.50s is not a number of seconds since 1970", now);
	a->world.now = a->fixed_now > 0 ? a->fixed_now : clock_wall_s();
	return 0;
}

/* The tab to begin with: as the option says, the run for "watch", else home. */
static int first_tab(const struct conf *c, int *tab, struct err *e)
{
	*tab = c->command ? TAB_RUN : TAB_HOME;
	if (!c->view)
		return 0;
	for (int i = 0; i < TAB_COUNT; i++)
		if (!strcmp(view_tabs[i]->name, c->view)) {
			*tab = i;
			return 0;
		}
	return err_set(e, ERR_USAGE,
		       "view: %.40s is none of home, data, run, hosts, compare, samples, "
		       "translate, log, settings", c->view);
}

static int app_start(struct app *a, const struct conf *c, struct err *e)
{
	const char *run = c->n_arguments > 0 ? c->arguments[0] : c->run;
	int tab;

	a->world.keymap = &a->keymap;
	a->world.readonly = c->readonly;
	if (!theme_builtin(&a->theme, c->theme ? c->theme : "auto"))
		return err_set(e, ERR_USAGE,
			       "theme: there is no %.40s; there are auto, dark, light, safe, mono",
			       c->theme);
	if (first_tab(c, &tab, e) || (run && world_choose_run(&a->world, run, e)))
		return e->code;
	app_show_tab(a, tab);
	return c->dump ? run_as_text(a, c, e) : run_on_terminal(a, c, e);
}

int app_run(const struct conf *c, struct err *e)
{
	struct app a = { 0 };
	char *workspace = NULL;
	int status;

	setlocale(LC_CTYPE, "");
	if (!(workspace = paths_workspace(c->workspace, e)))
		return e->code;
	if ((status = world_open(&a.world, workspace, e)))
		goto out;
	a.wish = a.world.wishes;
	if (!(status = choose_charset(&a.grid.charset, e)) && !(status = set_clock(&a, e)))
		status = app_start(&a, c, e);
	app_end_overlay(&a);
	for (int i = 0; i < TAB_COUNT; i++)
		view_end(view_tabs[i], a.tabs[i].state);
	world_close(&a.world);
	keymap_free(&a.keymap);
	grid_free(&a.grid);
out:
	free(workspace);
	if (!status && term_signal()) {
		signal(term_signal(), SIG_DFL);
		raise(term_signal());
	}
	return status;
}
