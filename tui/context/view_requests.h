/* view_requests.h - stored requests of views (app_context.h); for app_context.c, the form and tui/app only. */
#ifndef WERKBANK_TUI_CONTEXT_VIEW_REQUESTS_H
#define WERKBANK_TUI_CONTEXT_VIEW_REQUESTS_H

#include "tui/context/app_context.h"
#include "tui/context/saved_state.h"
#include "tui/context/wizard.h"

/* Callers that are not tabs. */
enum { CALLER_APP = -1, CALLER_COMMAND = -2, CALLER_OVERLAY = -3 };

struct cancelled_question {
	int owner, id;
};

struct view_requests {
	int caller;	/* the tab being called, or CALLER_… */
	int show_tab;	/* tab to show; -1: none */
	char *tab_text; /* owned: text for its view; NULL: none */
	unsigned news;	/* enum context_news of the next update */
	bool redraw;
	bool screenshot;

	char message[500]; /* message in the last row; "" */
	enum style message_style;
	double message_time;
	bool message_is_brief; /* the next key or press ends it: it is about the screen of now */

	struct prompt prompt;
	struct cancelled_question cancelled[8];
	size_t n_cancelled;

	struct buf copy;
	bool has_copy; /* copy waits for the clipboard */

	char **command; /* owned, ends with NULL: command that waits for confirmation; NULL: none */
	char *command_title; /* owned */
	bool shows_output;   /* of the command, if it ends soon */
	int output_job;	     /* id of the job whose output is shown at its end; 0: none */

	enum action action; /* to carry out; ACTION_NONE: none */

	struct saved_state saved; /* state that outlives the session */
	char *state_folder;	  /* owned: folder with a final slash; NULL: not saved */
	char new_theme[40];	  /* theme to load; "": unchanged */
	int mouse;		  /* 1 on, 0 off, -1 unchanged */
	int pictures;		  /* the same */

	struct wizard *wizard; /* owned: form to open; NULL: none */

	int wake_fds[CONTEXT_WAKE_FDS];
	size_t n_wake_fds;
};

/* Free the command that waits for confirmation. */
void requests_clear_command(struct view_requests *requests);

#endif
