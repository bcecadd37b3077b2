/* app.c - starts the workbench and runs its loop on a terminal; see app.h. */
#include "tui/app/app.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"
#include "tui/app/app_internal.h"
#include "tui/app/frame.h"
#include "tui/context/jobs.h"

#define TURN_MS	    500 /* interval of a turn without keys */
#define AWAY_DRAW_S 5	/* between draws of a window without focus */
#define SOON_MS	    50	/* the same after REACT_SOON */

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
	int fds[CONTEXT_WAKE_FDS + 2 * JOB_MAX], key;
	size_t n = a->requests->n_wake_fds;
	struct mouse m;

	memcpy(fds, a->requests->wake_fds, n * sizeof(int));
	n += jobs_fds(a->context.jobs, fds + n, ARRAY_LEN(fds) - n);
	key = term_key(a->term, timeout_ms, fds, n);
	switch (key) {
	case TERM_ENDED:
		return REACT_QUIT;
	case TERM_RESIZED:
		return REACT_REDRAW;
	case TERM_NOTHING:
		return REACT_NOTHING;
	case TERM_FOCUS:
		return REACT_REDRAW;
	case TERM_PICTURES:
		app_show_picture_state(a);
		return REACT_REDRAW;
	case TERM_GROUND:
		app_suit_ground(a);
		app_set_look(a);
		return REACT_REDRAW;
	case TERM_PASTE:
		return app_paste(a, term_pasted(a->term));
	case TERM_MOUSE:
		m = term_mouse(a->term);
		return app_mouse(a, &m);
	default:
		return app_key(a, key);
	}
}

static int app_loop(struct app *a, struct err *e)
{
	unsigned reaction = REACT_REDRAW;

	while (!(reaction & REACT_QUIT)) {
		bool asked = reaction & REACT_REDRAW;

		reaction |= app_update(a) | (a->draw_late ? REACT_REDRAW : 0);
		app_show_notices(a);
		/* of a window that nobody looks at, only every few seconds; a key draws at once */
		a->draw_late = reaction & REACT_REDRAW && !asked && term_is_away(a->term) &&
			       clock_mono_s() - a->drawn_at < AWAY_DRAW_S;
		if (a->draw_late)
			reaction &= ~(unsigned)REACT_REDRAW;
		if (app_resize(a, e))
			return e->code;
		if (reaction & REACT_REPAINT)
			term_repaint(a->term);
		if (reaction & REACT_REDRAW) {
			app_draw(a);
			term_show(a->term, &a->grid);
			a->drawn_at = clock_mono_s();
		}
		reaction = app_wait(a, reaction & REACT_AGAIN  ? 0
				       : reaction & REACT_SOON ? SOON_MS
							       : TURN_MS);
	}
	return 0;
}

static int run_on_terminal(struct app *a, const struct conf *c, struct err *e)
{
	bool bad;
	int status;

	a->colours = theme_wants_colour(c->color, getenv("NO_COLOR"), &bad);
	if (bad)
		return err_set(e, ERR_USAGE, "color: \"%s\" is not auto, always or never",
			       c->color);
	if (app_choose_toast(c->notify, &a->toast, e))
		return e->code;
	a->term = term_open(&(struct term_look){ &a->theme, a->colours, a->mouse }, e);
	if (!a->term)
		return e->code;
	app_suit_ground(a);
	if (term_ground(a->term) != THEME_GROUND_UNKNOWN)
		app_set_look(a);
	term_describe(a->term, a->terminal_text, sizeof(a->terminal_text));
	term_set_tones(a->term, &a->grid);
	a->has_tour = !c->readonly;
	if (a->context.wants_pictures)
		term_want_pictures(a->term, true);
	app_show_picture_state(a);
	status = app_loop(a, e);
	term_close(a->term);
	a->term = NULL;
	a->grid.pictures = NULL;
	app_save_state(a);
	return status;
}

/* ---- with and without a terminal ---- */

static int choose_charset(enum grid_charset *charset, struct err *e)
{
	const char *requests = getenv("WERKBANK_GLYPHS"), *term = getenv("TERM");
	bool utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");

	/* The Linux console has a font of 256 or 512 glyphs, without braille. */
	*charset = !utf8 ? GRID_ASCII : term && !strcmp(term, "linux") ? GRID_PLAIN : GRID_FULL;
	if (!requests || !*requests)
		return 0;
	if (!strcmp(requests, "ascii"))
		*charset = GRID_ASCII;
	else if (strcmp(requests, "plain") && strcmp(requests, "full"))
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_GLYPHS: \"%.50s\" is not ascii, plain or full", requests);
	else if (!utf8)
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_GLYPHS=%s needs a UTF-8 locale; set LC_ALL=C.UTF-8",
			       requests);
	else
		*charset = !strcmp(requests, "plain") ? GRID_PLAIN : GRID_FULL;
	return 0;
}

static int set_clock(struct app *a, struct err *e)
{
	const char *now = getenv("WERKBANK_NOW");

	if (now && *now && (!text_to_real(now, &a->fixed_now) || !(a->fixed_now > 0)))
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_NOW: %.50s is not a number of seconds since 1970", now);
	a->context.now = a->fixed_now > 0 ? a->fixed_now : clock_wall_s();
	return 0;
}

/*
 * The first tab: from --view, else the run view for "watch", else home, which says what there is and
 * what to do next.
 */
static int first_tab(const struct conf *c, int *tab, struct err *e)
{
	const char *name = c->view ? c->view : c->command ? "run" : NULL;

	*tab = TAB_HOME;
	for (int i = 0; name && i < TAB_COUNT; i++)
		if (!strcmp(view_tabs[i]->name, name)) {
			*tab = i;
			return 0;
		}
	if (!c->view)
		return 0;
	return err_set(e, ERR_USAGE,
		       "--view: no view is called \"%.40s\"; use home, data, run, hosts, compare, "
		       "samples, "
		       "translate, log or settings",
		       c->view);
}

/* A switch that is on: as its option says if it is given, else as it was saved under key. */
static bool first_switch(const struct app *a, const struct conf *c, const char *option, bool value,
			 const char *key)
{
	const char *saved = context_get_saved(&a->context, key);

	return value &&
	       !(saved && !strcmp(saved, "no") && !strcmp(conf_origin(c, option), "default"));
}

/* Pictures as their option says if it is given, else as they were saved. */
static bool first_pictures(const struct app *a, const struct conf *c)
{
	const char *saved = context_get_saved(&a->context, "pictures");

	return strcmp(conf_origin(c, "pictures"), "default") ? c->pictures
							     : saved && !strcmp(saved, "yes");
}

/* The theme of --theme, else the saved one, whose file may be gone. */
static int first_look(struct app *a, const struct conf *c, struct err *e)
{
	const char *kept = context_get_saved(&a->context, "theme");
	struct err ignored;

	a->context.theme = a->theme.name;
	a->context.terminal = a->terminal_text;
	a->mouse = a->context.mouse = first_switch(a, c, "mouse", c->mouse, "mouse");
	a->context.wants_pictures = first_pictures(a, c);
	a->context.saves_sentences =
		first_switch(a, c, "save_sentences", c->save_sentences, "translate.save-sentences");
	if (c->theme)
		return app_load_theme(a, c->theme, e);
	if (!kept || app_load_theme(a, kept, &ignored))
		theme_builtin(&a->theme, "auto");
	return 0;
}

static int app_start(struct app *a, const struct conf *c, struct err *e)
{
	const char *run = c->n_arguments > 0 ? c->arguments[0] : c->run;
	int tab;

	a->context.keymap = &a->keymap;
	a->context.readonly = c->readonly;
	if (!c->dump)
		app_load_state(a);
	if (app_load_keymap(a, e) || first_look(a, c, e) || first_tab(c, &tab, e) ||
	    (run && context_choose_run(&a->context, run, e)))
		return e->code;
	app_show_tab(a, tab);
	return c->dump ? app_run_as_text(a, c, e) : run_on_terminal(a, c, e);
}

void app_close(struct app *a)
{
	app_end_overlay(a);
	for (int i = 0; i < TAB_COUNT; i++)
		app_view_end(view_tabs[i], a->tabs[i].state);
	context_close(&a->context);
	keymap_free(&a->keymap);
	grid_free(&a->grid);
}

int app_run(const struct conf *c, struct err *e)
{
	struct app a = { 0 };
	char *workspace = NULL;
	int status;

	setlocale(LC_CTYPE, "");
	if (!(workspace = paths_workspace(c->workspace, e)))
		return e->code;
	if ((status = context_open(&a.context, workspace, e)))
		goto out;
	a.requests = a.context.requests;
	if (!(status = choose_charset(&a.grid.charset, e)) && !(status = set_clock(&a, e)))
		status = app_start(&a, c, e);
	app_close(&a);
out:
	free(workspace);
	if (!status && term_signal()) {
		signal(term_signal(), SIG_DFL);
		raise(term_signal());
	}
	return status;
}
