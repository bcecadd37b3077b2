/* app.c - see app.h */
#include "tui/app.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "tui/grid.h"
#include "tui/keys.h"
#include "tui/term.h"
#include "tui/view.h"

#define TURN_MS   500	/* how often the run's files are looked at */
#define MAX_DEPTH 4	/* views on top of each other */
#define MAX_SIDE  1000	/* of --dump */

struct app {
	const struct view *views[MAX_DEPTH];	/* the last one is on the screen */
	void  *states[MAX_DEPTH];		/* owned */
	int    depth;
	struct view_world world;
	double fixed_now;			/* WERKBANK_NOW; 0: the real clock */
	struct grid grid;
};

static int app_push(struct app *a, const struct view *v, struct err *e)
{
	void *state;

	if (a->depth == MAX_DEPTH)
		return 0;
	if (!(state = mem_alloc(1, v->state_size, e)))
		return e->code;
	if (v->open && v->open(state, &a->world, e)) {
		free(state);
		return e->code;
	}
	a->views[a->depth] = v;
	a->states[a->depth++] = state;
	return 0;
}

static void app_pop(struct app *a)
{
	const struct view *v = a->views[--a->depth];

	if (v->close)
		v->close(a->states[a->depth]);
	free(a->states[a->depth]);
}

/* All views are kept up to date, also those under another. */
static unsigned app_update(struct app *a)
{
	unsigned reaction = REACT_NOTHING;

	a->world.now = a->fixed_now > 0 ? a->fixed_now : clock_wall_s();
	for (int i = 0; i < a->depth; i++)
		if (a->views[i]->update)
			reaction |= a->views[i]->update(a->states[i], &a->world);
	return reaction;
}

/* What no view has claimed. */
static unsigned app_act_itself(struct app *a, enum action action)
{
	struct err ignored;

	switch (action) {
	case ACTION_HELP:
		return app_push(a, &view_help, &ignored) ? REACT_NOTHING : REACT_REDRAW;
	case ACTION_REPAINT:
		return REACT_REDRAW | REACT_REPAINT;
	case ACTION_BACK:
		return REACT_BACK;
	case ACTION_QUIT:
		return REACT_QUIT;
	default:
		return REACT_NOTHING;
	}
}

static unsigned app_act(struct app *a, int key)
{
	enum action action = keys_action(key);
	const struct view *top = a->views[a->depth - 1];
	unsigned reaction = REACT_UNKNOWN;

	if (action == ACTION_NONE)
		return REACT_NOTHING;
	if (top->act)
		reaction = top->act(a->states[a->depth - 1], action);
	if (reaction & REACT_UNKNOWN)
		reaction = app_act_itself(a, action);
	if (reaction & REACT_BACK && a->depth > 1) {
		app_pop(a);
		reaction |= REACT_REDRAW;
	}
	return reaction;
}

static void app_draw(struct app *a)
{
	grid_clear(&a->grid);
	a->views[a->depth - 1]->draw(a->states[a->depth - 1], &a->grid, &a->world);
}

/* ---- on a terminal ---- */

static int app_resize(struct app *a, struct terminal *t, struct err *e)
{
	int rows, cols;

	term_size(t, &rows, &cols);
	if (a->grid.cells && rows == a->grid.rows && cols == a->grid.cols)
		return 0;
	return grid_resize(&a->grid, rows, cols, e);
}

static int app_loop(struct app *a, struct terminal *t, struct err *e)
{
	unsigned reaction = REACT_REDRAW;

	while (!(reaction & REACT_QUIT)) {
		int key;

		reaction |= app_update(a);
		if (app_resize(a, t, e))
			return e->code;
		if (reaction & REACT_REPAINT)
			term_repaint(t);
		if (reaction & REACT_REDRAW) {
			app_draw(a);
			term_show(t, &a->grid);
		}
		key = term_key(t, reaction & REACT_AGAIN ? 0 : TURN_MS);
		if (key == TERM_ENDED)
			break;
		reaction = key == TERM_RESIZED	 ? REACT_REDRAW
			   : key == TERM_NOTHING ? REACT_NOTHING
						 : app_act(a, key);
	}
	return 0;
}

static int run_on_terminal(struct app *a, const struct conf *c, struct err *e)
{
	bool bad, colours = theme_wants_colour(c->color, getenv("NO_COLOR"), &bad);
	struct terminal *t;
	int status;

	if (bad)
		return err_set(e, ERR_USAGE, "color: %s is none of auto, always, never", c->color);
	if (!(t = term_open(colours, e)))
		return e->code;
	status = app_loop(a, t, e);
	term_close(t);
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

/*
 * Press keys as --keys names them. Drawing in between keeps scrolling within bounds, as on a
 * terminal.
 */
static int press(struct app *a, const char *keys, struct err *e)
{
	while (*keys) {
		int key = keys_next(&keys);

		if (key < 0)
			return err_set(e, ERR_USAGE,
				       "keys: there is no key called as in \"%.50s\"; a key is "
				       "a character, <Tab>, <Down>, <Ctrl-L>, and < itself is <lt>",
				       keys);
		if (app_act(a, key) & REACT_QUIT)
			break;
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

int app_run(const struct conf *c, struct err *e)
{
	struct app a = { 0 };
	char *workspace = NULL;
	int status;

	setlocale(LC_CTYPE, "");
	if ((status = choose_charset(&a.grid.charset, e)) || (status = set_clock(&a, e)))
		return status;
	if (!(workspace = paths_workspace(c->workspace, e)))
		return e->code;
	a.world.workspace = workspace;
	a.world.run = c->n_arguments > 0 ? c->arguments[0] : c->run;
	status = app_push(&a, &view_run, e);
	if (!status)
		status = c->dump ? run_as_text(&a, c, e) : run_on_terminal(&a, c, e);
	while (a.depth)
		app_pop(&a);
	grid_free(&a.grid);
	free(workspace);
	if (!status && term_signal()) {
		signal(term_signal(), SIG_DFL);
		raise(term_signal());
	}
	return status;
}
