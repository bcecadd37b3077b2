/*
 * view_requests.h - what views have asked of the workbench (app_context.h); between app_context.c and app.c only.
 */
#ifndef WERKBANK_TUI_APP_VIEW_REQUESTS_H
#define WERKBANK_TUI_APP_VIEW_REQUESTS_H

#include "tui/app/saved_state.h"
#include "tui/app/wizard.h"
#include "tui/app/app_context.h"

/* Who asks when it is not a tab. */
enum { CALLER_APP = -1, CALLER_COMMAND = -2, CALLER_OVERLAY = -3 };

struct called_off { int owner, id; };

struct world_wishes {
	int caller;		/* the tab that is being called, or CALLER_… */
	int go;			/* tab to show; -1: none */
	unsigned news;		/* enum world_news of the coming update */
	bool redraw;
	bool screenshot;

	char said[500];		/* in the last row; "" when nothing is */
	enum style said_style;
	double said_at;

	struct prompt prompt;
	struct called_off called_off[8];
	size_t n_called_off;

	struct buf copy;
	bool copies;		/* copy is for the clipboard */

	char **command;		/* owned, ends with NULL: waits for a yes; NULL: none */
	char *command_title;	/* owned */

	struct keep keep;	/* what is remembered from one time to the next */
	char *state_folder;	/* owned: where, with a slash at its end; NULL: nothing is */
	char look[40];		/* theme to take; "": as it is */
	int mouse;		/* 1 on, 0 off, -1 as it is */

	struct wizard *wizard;	/* owned: a form to open; NULL: none */

	int wakes[WORLD_WAKES];
	size_t n_wakes;
};

void wishes_forget_command(struct world_wishes *wish);

#endif
