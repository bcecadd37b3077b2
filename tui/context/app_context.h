/*
 * app_context.h - what the workbench gives its views, and what views may request.
 *
 * Views only read the fields. Requests (context_…) are stored and executed by the loop
 * (app.c) after the view has returned, so no view is closed or replaced while it runs. The
 * exception is context_choose_run(), which changes run and history at once.
 */
#ifndef WERKBANK_TUI_CONTEXT_APP_CONTEXT_H
#define WERKBANK_TUI_CONTEXT_APP_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/base/util.h"
#include "tui/context/prompt.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/theme.h"

struct run_history;
struct jobs;
struct keymap;
struct view_pane;
struct workspace_index;

/* Changes since the last turn; each of them redraws the screen. */
enum context_news {
	NEWS_RUN = 1,	  /* another run was chosen: reset positions */
	NEWS_HISTORY = 2, /* the history has new records */
	NEWS_JOBS = 4,	  /* a job started, wrote output or ended */
};

#define CONTEXT_WAKE_FDS 32

struct app_context {
	const char *workspace; /* folder; borrowed for the life of the workbench */
	const char *addresses; /* of the workspaces that it is a copy of; "": it is no copy */
	const char *silence;   /* which of their hosts is silent, since when and why; "": none */
	double now;	       /* unix seconds */
	bool readonly;	       /* nothing may be started, stopped or changed */
	bool front;	       /* the called view is on the screen */
	bool has_question;     /* a question is open and receives the keys */
	unsigned news;	       /* enum context_news, for update() */
	int rows, cols;	       /* size of the screen; 0 before the first draw */
	enum grid_charset charset;

	/* The chosen run; NULL while there is none. The first run that appears is chosen. */
	const char *run;
	struct run_history *history; /* of the chosen run; valid during a call only */
	const char *trouble;	     /* why the files of the run cannot be read; "" if they can */

	/* the step that all plots of the run are read at; NaN: the latest. Views may write it */
	double plot_step;

	struct jobs *jobs; /* jobs started here (jobs.h) */
	const struct workspace_index
		*index;	  /* of Home, whose state lives as long; NULL: not shown yet */
	char corpus[101]; /* the chosen corpus; "": none. Views may write it */

	const struct keymap *keymap;  /* for keys_describe(); borrowed */
	const char *view;	      /* name of the tab in front; borrowed */
	const struct view_pane *pane; /* its pane with the keys, for the help; NULL: unknown */
	const char *theme;	      /* name of the theme; borrowed */
	const char *terminal;	      /* description of the terminal; borrowed */
	bool mouse;		      /* mouse reports are on */
	bool wants_pictures;	      /* plots as pictures, where the terminal can */
	const char *pictures;	      /* what became of that, for people; borrowed */
	bool saves_sentences;	      /* those of Translate go to a file of the user */

	struct view_requests *requests; /* private to app_context.c and app.c */
};

/* Choose another run. On failure (ERR_NOINPUT, …) the old run stays. */
int context_choose_run(struct app_context *w, const char *name, struct err *e);

/*
 * The names of all runs, sorted; array and strings are owned by the caller, *n is their number.
 * NULL: ERR_NOINPUT, ERR_NOMEM.
 */
char **context_run_names(const struct app_context *w, size_t *n, struct err *e);

/* Show a tab: enum tab of view.h. */
void context_go_to_tab(struct app_context *w, int tab);

/* The latest step of the run in front; -1: none. */
int64_t context_last_step(const struct app_context *w);

/* Show the run in front with the cursor of its plots at a step. */
void context_show_step(struct app_context *w, int64_t step);

/* Show a tab and give its view a text, copied; the view takes it by receive() of view.h. */
void context_send_text(struct app_context *w, int tab, const char *text);

/* Show a message in the last row for some seconds, or until the next key after two seconds. */
void context_notify(struct app_context *w, enum style style, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/*
 * Ask the user (prompt.h); the view gets the answer later through its answer(). The question is
 * copied and replaces an open question, which gets a NULL answer.
 */
void context_ask(struct app_context *w, const struct question *q);

/* Ask the user to choose one of n texts. */
void context_ask_choice(struct app_context *w, int id, const char *title,
			const char *const *choices, size_t n);
/* The same with the members that most questions have; id 0: the view has one question only. */
void context_ask_text(struct app_context *w, enum question_kind kind, int id, const char *title,
		      const char *text);

/*
 * Copy text to the clipboard of the user's terminal, also over ssh (OSC 52). The last row reports
 * success or failure. At most 100,000 bytes.
 */
void context_copy_text(struct app_context *w, const char *text);

/*
 * Write text to a new file NAME (or NAME-2, …) in the folder where the workbench was started. The
 * last row reports the name or the failure. Allowed with --readonly.
 */
void context_write_file(struct app_context *w, const char *name, const char *text);

/*
 * Run a werkbank command as a job (jobs.h) after the user has confirmed its command line. argv[0]
 * is "werkbank", argv ends with NULL; title names the job in lists. With --readonly the command
 * line can only be copied.
 */
void context_run_command(struct app_context *w, const char *title, const char *const *argv);

/* context_run_command() with "-C WORKSPACE" after the name of the command; at most 20 words. */
void context_run_in_workspace(struct app_context *w, const char *title, const char *const *argv);

/*
 * context_run_command(), with "-C WORKSPACE" if the command takes it. words[0] is the command; at most
 * 18 words. If the job ends within some seconds, its output is shown.
 */
void context_run_line(struct app_context *w, const char *title, const char *const *words);

/*
 * Carry out an action as its key does, in the tab in front. An action of another tab's group shows
 * that tab first.
 */
void context_act(struct app_context *w, enum action action);

/* Open the form of a command (wizard.h); with --readonly it only shows and copies the command. */
struct wizard_form;
void context_open_wizard(struct app_context *w, const struct wizard_form *form);

/*
 * Settings that a view saves for the next session, such as its layout; keys are "VIEW.NAME". NULL:
 * not saved. --dump neither reads nor writes them.
 */
const char *context_get_saved(const struct app_context *w, const char *key);
void context_set_saved(struct app_context *w, const char *key, const char *value);

/*
 * The path of another state file of the user ("sentences"), owned by the caller; NULL: nothing is
 * saved.
 */
char *context_state_path(const struct app_context *w, const char *name);

/*
 * Use another theme (NULL: unchanged) and switch the mouse on (1), off (0) or leave it (-1); both
 * are saved.
 */
void context_set_look(struct app_context *w, const char *theme, int mouse);

/* Show plots as pictures from now on if the terminal can, or no more; this is saved too. */
void context_set_pictures(struct app_context *w, bool on);

/* Save the sentences of Translate to a file of the user from now on, or no more; this is saved too. */
void context_save_sentences(struct app_context *w, bool saves);

/* During update(): the loop wakes up when fd is readable. Valid until the next update(). */
void context_wake_on_fd(struct app_context *w, int fd);

/* Write the screen as text to a file, like context_write_file(). */
void context_screenshot(struct app_context *w);

/* ---- for app.c and tests ---- */

/* Initialise w with the workspace; all other fields are zero or unknown. ERR_NOMEM. */
int context_open(struct app_context *w, const char *workspace, struct err *e);
void context_close(struct app_context *w);

#endif
