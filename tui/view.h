/*
 * view.h - what every screen of the workbench must offer.
 *
 * A view is a table of functions and a state of its own. The loop (app.c)
 * calls them in this order: open, then again and again update, act, draw, and
 * close at the end. NULL means that there is nothing to do.
 */
#ifndef WERKBANK_TUI_VIEW_H
#define WERKBANK_TUI_VIEW_H

#include <stddef.h>

#include "share/base/err.h"
#include "tui/grid.h"
#include "tui/keys.h"

/* What must happen next; several at once are fine. */
enum reaction {
	REACT_NOTHING  = 0,
	REACT_REDRAW   = 1,
	REACT_AGAIN    = 2,	/* update() has more to do: call it again without waiting */
	REACT_REPAINT  = 4,	/* the terminal may show something else: send everything */
	REACT_BACK     = 8,	/* leave this view */
	REACT_QUIT     = 16,	/* leave the workbench */
	REACT_UNKNOWN  = 32,	/* not an action of this view: the workbench's own turn */
};

/* What the workbench tells its views. */
struct view_world {
	const char *workspace;	/* folder; borrowed, lives as long as the view */
	const char *run;	/* the run to open; NULL: the newest */
	double now;		/* unix seconds */
};

struct view {
	const char *name;	/* for messages: "run" */
	const char *title;
	size_t state_size;	/* the state is zeroed before open() */

	int  (*open)(void *state, const struct view_world *w, struct err *e);
	/* Look whether something has changed, for at most a few tens of milliseconds. */
	unsigned (*update)(void *state, const struct view_world *w);
	/* Do what a key asks for. */
	unsigned (*act)(void *state, enum action action);
	/* Draw the whole view into a cleared grid; must not allocate, read files or wait. */
	void (*draw)(void *state, struct grid *g, const struct view_world *w);
	void (*close)(void *state);
};

extern const struct view view_run, view_help;

#endif
