/*
 * view.h - the interface of a screen of the workbench.
 *
 * A view is a table of functions and a private state; one line in tabs.def makes it a tab. The
 * loop (app.c) calls open() when the tab is shown first, then update(), act() (or key, paste,
 * mouse, answer) and draw() repeatedly, and close() at the end. Optional functions are NULL.
 *
 * All views share one thread and never wait: work of more than a few milliseconds is done in
 * pieces (REACT_AGAIN) or by a child process (jobs.h).
 */
#ifndef WERKBANK_TUI_CONTEXT_VIEW_H
#define WERKBANK_TUI_CONTEXT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"
#include "tui/context/app_context.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/layout.h"
#include "tui/term/reaction.h"

/*
 * A member of a view's state that actions change and that can be undone: a toggle, an order, a zoom,
 * or a filter (struct text_filter). The key of a member chooses its next value, or asks for the text
 * of the filter, without further code of the view.
 */
struct view_toggle {
	size_t offset, size;
	bool is_filter;
	enum action action; /* ACTION_NONE: no key, the view changes the member itself */
	unsigned n_values;  /* of a toggle with a key: 0 to n_values - 1; of a bool 2 */
	int pane;	    /* of a filter: the only pane with this key; 0: every pane */
	const char *title;  /* of the question for a filter */
	/* Called after the key, or for each text that is typed; NULL: nothing follows. */
	void (*changed)(void *state, struct app_context *w);
};
#define VIEW_TOGGLE(type, member)                                                                  \
	{                                                                                          \
		.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)              \
	}
#define VIEW_KEY(type, member, key, n, after)                                                      \
	{                                                                                          \
		.offset = offsetof(type, member), .size = sizeof(((type *)0)->member),             \
		.action = (key), .n_values = (n), .changed = (after)                               \
	}
#define VIEW_FILTER(type, member, key, in, question, after)                                        \
	{                                                                                          \
		.offset = offsetof(type, member), .is_filter = true, .action = (key),              \
		.pane = (in), .title = (question), .changed = (after)                              \
	}

/* A list of actions, which ACTION_NONE ends. */
#define VIEW_ACTIONS(...)                                                                          \
	(const enum action[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, ACTION_NONE                                                           \
	}

/* A pane of a view, as its border and the help present it. */
struct view_pane {
	const char *name; /* the title of its box, unless the box says more */
	const enum action
		*actions; /* those that matter most there, in order; ends with ACTION_NONE */
};
#define VIEW_PANE(name, ...)                                                                       \
	{                                                                                          \
		name, VIEW_ACTIONS(__VA_ARGS__)                                                    \
	}

struct view {
	const char *name;  /* also the group of its rows in actions.def: "run" */
	const char *title; /* shown in the tab bar and in the help */
	size_t state_size; /* bytes of the state, zeroed before open() */
	bool is_box;	   /* an overlay that lets the tab be seen around it */
	bool needs_run;	   /* without a run it gets no actions, answers and mouse */

	/* Optional: set what belongs to a run, before open() and when another run was chosen. */
	void (*begin)(void *state);
	/* Optional. On failure the tab shows e->text. */
	int (*open)(void *state, struct app_context *w, struct err *e);
	/*
	 * Read new data: for at most a few tens of milliseconds in front (w->front), almost nothing
	 * otherwise. Called about twice a second, and sooner after a key or when a descriptor of
	 * context_wake_on_fd() is readable.
	 */
	unsigned (*update)(void *state, struct app_context *w);
	/* Handle the action of a key; what toggles and panes say is done without it. */
	unsigned (*act)(void *state, struct app_context *w, enum action action);
	/* Draw into body, which is cleared, of any size from 1 x 1. Must not read files or wait. */
	void (*draw)(void *state, struct grid *g, struct rect body, const struct app_context *w);
	void (*close)(void *state);

	/* ---- optional members ---- */

	/*
	 * true: keys are text and go to key(). A key that key() does not handle (REACT_UNKNOWN)
	 * becomes an action, unless it is a printable character. Without typing(), key() sees every
	 * key first, and each that it does not handle becomes an action.
	 */
	bool (*typing)(void *state);
	unsigned (*key)(void *state, struct app_context *w, int key);
	/* Pasted text: valid UTF-8, lines end with \n, possibly long. Borrowed. */
	unsigned (*paste)(void *state, struct app_context *w, const char *text);
	/*
	 * Start typing; called when a view leads here by context_go_to_tab(). A view with this
	 * function begins as a text field, so no printable key leaves the workbench from it.
	 */
	void (*start_typing)(void *state);
	/* Take a text of context_send_text(), instead of start_typing(). Borrowed. */
	void (*receive)(void *state, struct app_context *w, const char *text);
	/* Row and column are screen coordinates, like those of body. REACT_UNKNOWN: the list there gets the event. */
	unsigned (*mouse)(void *state, struct app_context *w, const struct mouse *m);
	/* The answer to a question of the view by context_ask(); text NULL: cancelled. Borrowed. */
	unsigned (*answer)(void *state, struct app_context *w, int question, const char *text);
	/* What the end of the workbench loses, as a sentence; NULL: nothing. Static. */
	const char *(*unsaved)(const void *state);
	/* What can be undone; restored() is called after members were set to earlier values. */
	const struct view_toggle *toggles;
	size_t n_toggles;
	void (*restored)(void *state, struct app_context *w);
	/*
	 * The panes. The border of the one with the keys shows its first actions, and the help begins with
	 * them. focus: offset of the number of that pane, an enum; unused with one pane. The keys for
	 * another pane go round, unless act() handles them.
	 */
	const struct view_pane *panes;
	int n_panes;
	size_t focus;
	/*
	 * Lists of panes that list_rows() draws. Their keys and mouse need no act() and mouse(): the offset of an array of struct
	 * list_widget, one for each of the first n_lists panes. A click on the chosen row is the action list_open.
	 */
	size_t lists;
	int n_lists;
	enum action list_open;
	/* Optional: whether a row can be chosen; false: a heading. */
	bool (*list_can_choose)(const void *state, size_t row);
	/* Optional: the user has chosen a row, instead of the row `before`. */
	void (*list_moved)(void *state, struct app_context *w, int pane, size_t before);
	/* Actions shown in the last row, but for those in the border of the pane, the most useful first; ends with ACTION_NONE. */
	const enum action *hints;
};

/* The functions of a view, and what its tables say. A view begins with a run before it is opened or updated. */
int view_open(const struct view *v, void *state, struct app_context *w, struct err *e);
unsigned view_update(const struct view *v, void *state, struct app_context *w);
void view_draw(const struct view *v, void *state, struct grid *g, struct rect body,
	       const struct app_context *w);
/* Release what the state owns, its filters too. */
void view_close(const struct view *v, void *state);

/* Carry out an action in a view: its own, or what its toggles and panes say. Returns reaction bits. */
unsigned view_act(const struct view *v, void *state, struct app_context *w, enum action action);
/* Give a view the answer to a question. Returns reaction bits. */
unsigned view_answer(const struct view *v, void *state, struct app_context *w, int question,
		     const char *text);
/* Give a view an event of the mouse; REACT_UNKNOWN: it has no use for it. */
unsigned view_mouse(const struct view *v, void *state, struct app_context *w,
		    const struct mouse *m);
/* Whether an action is among the first n of a list of actions (NULL: none). */
bool view_lists_action(const enum action *list, size_t n, enum action action);
/* Whether the key of a toggle or filter has an effect in a pane (NULL: the view has none); true for other actions. */
bool view_has_toggle(const struct view *v, const struct view_pane *pane, enum action action);
/* The pane with the keys; NULL: the view has none. Static. */
const struct view_pane *view_pane_in_front(const struct view *v, const void *state);

/* The tabs in order; TAB_HOME is 0. */
enum tab {
#define TAB(id, name) TAB_##id,
#include "tui/context/tabs.def"
#undef TAB
	TAB_COUNT
};

#endif
