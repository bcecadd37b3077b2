/*
 * app_context.h - what the workbench gives to its views, and what they may ask of it.
 *
 * Fields are for reading. Requests (world_…) are noted and carried out by the
 * loop (app.c) once the view has returned, so nothing of them happens under a
 * view's feet - except context_choose_run(), which changes run and history at once.
 */
#ifndef WERKBANK_TUI_APP_APP_CONTEXT_H
#define WERKBANK_TUI_APP_APP_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/util.h"
#include "tui/term/grid.h"
#include "tui/app/prompt.h"
#include "tui/term/theme.h"

struct run_history;
struct jobs;
struct keymap;

/* What has happened since the last turn; the screen is redrawn for these by itself. */
enum context_news {
	NEWS_RUN = 1,	  /* another run was chosen: forget positions in the old one */
	NEWS_HISTORY = 2, /* the history took in something */
	NEWS_JOBS = 4,	  /* a job began, said something or ended */
};

#define CONTEXT_WAKE_FDS 32

struct app_context {
	const char *workspace; /* folder; borrowed, lives as long as the workbench */
	double now;	       /* unix seconds */
	bool readonly;	       /* nothing may be started, stopped or changed; looking is free */
	bool front;	       /* the view that is called is the one on the screen */
	bool has_question;     /* a question stands over the screen: keys go there */
	unsigned news;	       /* enum context_news, for update() */
	int rows, cols;	       /* of the screen; 0 before the first draw */
	enum grid_charset charset;

	/* The chosen run: NULL while there is none. The newest is chosen when the first appears. */
	const char *run;
	struct run_history *history; /* of it, kept up to date by the workbench; never keep it */
	const char *trouble;	     /* why its files cannot be read; "" when they can */

	struct jobs *jobs; /* what was started from here (jobs.h) */
	char corpus[101];  /* the chosen corpus; "": none was chosen. Views may write it */

	const struct keymap *keymap; /* for keys_describe(); borrowed */
	const char *view;	     /* name of the tab in front; borrowed */
	const char *theme;	     /* name of the theme; borrowed */
	const char *terminal;	     /* what it can do, for people; borrowed */
	bool mouse;		     /* it is listened to */

	struct view_requests *requests; /* private to app_context.c and app.c */
};

/* Choose another run. On failure (ERR_NOINPUT, …) the old one stays. */
int context_choose_run(struct app_context *w, const char *name, struct err *e);

/* The names of all runs, sorted; *n of them, strings and array owned by the caller. NULL: ERR_NOINPUT, ERR_NOMEM. */
char **context_run_names(const struct app_context *w, size_t *n, struct err *e);

/* Bring a tab to the front: enum tab of view.h. */
void context_go_to_tab(struct app_context *w, int tab);

/* Say something in the last row for some seconds, or until the next key after two. */
void context_notify(struct app_context *w, enum style style, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/*
 * Ask the user (prompt.h); the asking view's answer() hears of it later. The question is copied.
 * A question that still stands is called off first.
 */
void context_ask(struct app_context *w, const struct question *q);

/*
 * Put text on the clipboard of the user's terminal, also over ssh (OSC 52). The last row says so,
 * or that this terminal cannot. At most 100,000 bytes.
 */
void context_copy_text(struct app_context *w, const char *text);

/*
 * Write text to a new file NAME (NAME-2, … where there is one) in the folder the workbench was
 * started in; the last row says its name, or what failed. Allowed with --readonly.
 */
void context_write_file(struct app_context *w, const char *name, const char *text);

/*
 * Run a werkbank command as a job (jobs.h) after showing its line and asking; argv[0] is
 * "werkbank", argv ends with NULL. title is what the job list calls it. With --readonly the line is shown
 * and can be copied, not run.
 */
void context_run_command(struct app_context *w, const char *title, const char *const *argv);

/* Open the form for a command (wizard.h); with --readonly it shows and copies only. */
struct wizard_form;
void context_open_wizard(struct app_context *w, const struct wizard_form *form);

/*
 * What a view wants to find again the next time the workbench is opened, as its layout: keys are
 * "VIEW.WHAT". NULL: nothing known. Nothing is read or written with --dump.
 */
const char *context_get_saved(const struct app_context *w, const char *key);
void context_set_saved(struct app_context *w, const char *key, const char *value);

/*
 * The path of a file of the user's for what is remembered beside that ("sentences"), owned by the
 * caller; NULL: nothing is to be remembered.
 */
char *context_state_path(const struct app_context *w, const char *name);

/* Take another theme (NULL: stay), listen to the mouse (1), do not (0), or as it is (-1); remembered. */
void context_set_look(struct app_context *w, const char *theme, int mouse);

/* During update(): end the loop's wait when fd can be read. Holds until the next update(). */
void context_wake_on_fd(struct app_context *w, int fd);

/* Write a text screenshot of the whole screen to a file, as context_write_file() does. */
void context_screenshot(struct app_context *w);

/* ---- for app.c and tests ---- */

/* The rest NULL, false and 0. ERR_NOMEM. */
int context_open(struct app_context *w, const char *workspace, struct err *e);
void context_close(struct app_context *w);

#endif
