/*
 * view.h - what every screen of the workbench must offer.
 *
 * A view is a table of functions and a state of its own; one line in tabs.def
 * makes it a tab. The loop (app.c) calls open when the tab is shown for the
 * first time, then again and again update, act (key, paste, mouse, answer) and
 * draw, and close at the end. NULL means that there is nothing to do.
 *
 * Views run on one thread and never wait: what takes longer than a few
 * milliseconds is done in pieces (REACT_AGAIN) or by a child (jobs.h).
 */
#ifndef WERKBANK_TUI_APP_VIEW_H
#define WERKBANK_TUI_APP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"
#include "tui/app/app_context.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/layout.h"
#include "tui/term/reaction.h"

struct view {
	const char *name;  /* also the group of its own rows in actions.def: "run" */
	const char *title; /* in the tab bar and in help */
	size_t state_size; /* the state is zeroed before open() */

	/* Failing is for trouble that the user must hear of; the tab then shows e->text. */
	int (*open)(void *state, struct app_context *w, struct err *e);
	/*
	 * Look whether something has changed, for at most a few tens of milliseconds in front
	 * (w->front) and next to nothing behind. It is called about twice a second, sooner after
	 * a key or when a descriptor given to context_wake_on_fd() can be read.
	 */
	unsigned (*update)(void *state, struct app_context *w);
	/* Do what a key asks for. */
	unsigned (*act)(void *state, struct app_context *w, enum action action);
	/*
	 * Draw into body, already cleared, of any size from 1 x 1; draw nothing outside it.
	 * Must not allocate much, read files or wait.
	 */
	void (*draw)(void *state, struct grid *g, struct rect body, const struct app_context *w);
	void (*close)(void *state);

	/* ---- all that follows may be NULL ---- */

	/*
	 * true: keys are text for the view and go to key() as they are. What key() does not know
	 * (REACT_UNKNOWN) is looked up as usual, unless it is a printable character.
	 */
	bool (*typing)(void *state);
	unsigned (*key)(void *state, struct app_context *w, int key);
	/* Pasted text, UTF-8 made valid, with its line ends as \n; may be long. Borrowed. */
	unsigned (*paste)(void *state, struct app_context *w, const char *text);
	/* Row and column count from the whole screen's upper left corner, as body does. */
	unsigned (*mouse)(void *state, struct app_context *w, const struct mouse *m);
	/* The answer to a question of context_ask(); text NULL: called off. Borrowed. */
	unsigned (*answer)(void *state, struct app_context *w, int question, const char *text);
	/* Actions whose keys the foot of the screen shows, the most useful first; ends with ACTION_NONE. */
	const enum action *hints;
};

/* The tabs, in order; TAB_HOME is 0. */
enum tab {
#define TAB(id, table) TAB_##id,
#include "tui/app/tabs.def"
#undef TAB
	TAB_COUNT
};

#define TAB(id, table) extern const struct view table;
#include "tui/app/tabs.def"
#undef TAB
extern const struct view view_help, view_report, view_wizard; /* over a tab */
extern const struct view *const view_tabs[TAB_COUNT];	      /* in frame.c */

#endif
