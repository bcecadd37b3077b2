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

struct cancelled_question {
	int owner, id;
};

struct view_requests {
	int caller;    /* the tab that is being called, or CALLER_… */
	int show_tab;  /* tab to show; -1: none */
	unsigned news; /* enum context_news of the coming update */
	bool redraw;
	bool screenshot;

	char message[500]; /* in the last row; "" when nothing is */
	enum style message_style;
	double message_time;

	struct prompt prompt;
	struct cancelled_question cancelled[8];
	size_t n_cancelled;

	struct buf copy;
	bool has_copy; /* copy is for the clipboard */

	char **command;	     /* owned, ends with NULL: waits for a yes; NULL: none */
	char *command_title; /* owned */

	struct saved_state saved; /* what is remembered from one time to the next */
	char *state_folder;	  /* owned: where, with a slash at its end; NULL: nothing is */
	char new_theme[40];	  /* theme to take; "": as it is */
	int mouse;		  /* 1 on, 0 off, -1 as it is */

	struct wizard *wizard; /* owned: a form to open; NULL: none */

	int wake_fds[CONTEXT_WAKE_FDS];
	size_t n_wake_fds;
};

void requests_clear_command(struct view_requests *requests);

#endif
