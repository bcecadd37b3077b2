/*
 * app_internal.h - the state of the workbench, for app*.c only.
 *
 *	app.c       starts the workbench; the loop on a terminal
 *	app_text.c  the loop without a terminal: --dump and --keys
 *	app_keys.c  passes keys, pastes and the mouse to questions and views
 *	app_turn.c  work between keys: files, jobs, updates of the tabs, requests of the views
 *	app_act.c   effects of actions and of answers to questions
 *	app_draw.c  draws the screen
 *	app_tabs.c  opens and shows tabs and what is drawn over them
 *	app_look.c  theme, mouse and pictures of the terminal
 *	app_files.c files of the user: key map, themes, saved state
 *	app_tour.c  hints that are shown once
 *	app_undo.c  undo of toggles and filters
 */
#ifndef WERKBANK_TUI_APP_APP_INTERNAL_H
#define WERKBANK_TUI_APP_APP_INTERNAL_H

#include "share/conf/conf.h"
#include "tui/app/app.h"
#include "tui/context/view.h"
#include "tui/context/view_requests.h"
#include "tui/run/contact.h"
#include "tui/run/run_history.h"
#include "tui/term/layout_borders.h"
#include "tui/term/term.h"

/* Questions that the workbench itself asks. */
enum { ASK_LEAVE, ASK_RUN, ASK_OUTPUT };

struct tab_state {
	void *state;	    /* owned; NULL: not open yet */
	unsigned news;	    /* news that update() has not seen yet */
	struct err trouble; /* why it could not be opened; text "" if it could */
};

/* The toggles and filters of a tab before an action changed them. */
#define UNDO_STEPS 32
struct undo_step {
	int tab;
	enum action action;
	unsigned char bytes[640];
};

struct app {
	struct app_context context;
	struct view_requests *requests; /* of context */
	struct tab_state tabs[TAB_COUNT];
	int front;
	const struct view *overlay; /* drawn over the tab: help, report, form; NULL: none */
	void *overlay_state;	    /* owned */
	struct grid grid;
	struct layout_borders borders; /* between the panes of the tab in front */
	struct keymap keymap;
	struct theme theme;
	struct theme before_preview; /* the theme, while others are previewed */
	bool has_preview;
	struct terminal *term;	 /* NULL: --dump */
	bool colours, mouse;	 /* settings of the user */
	char terminal_text[160]; /* text of term_describe() */
	double fixed_now;	 /* WERKBANK_NOW; 0: use the real clock */
	struct err trouble;	 /* error of reading the run's files */
	struct contact contact;	 /* with the hosts of a watched copy */
	double contact_read;	 /* clock second of its last update */
	double shown_second;	 /* clock second of the last draw */
	double drawn_at;	 /* monotonic second of the last draw */
	bool draw_late;		 /* something changed while nobody looked */
	enum term_toast toast;	 /* how the end of a run is told; TOAST_NONE: not at all */
	char noticed_run[101];	 /* the run and its state at the last turn */
	enum run_state noticed_state;
	struct undo_step undo[UNDO_STEPS]; /* the latest last */
	size_t n_undo;
	struct undo_step before_typing; /* the toggles before a filter was typed */
	bool is_typing;			/* it takes effect already */
	bool has_tour;			/* hints that were not seen yet are shown */
	bool shows_hint;		/* one is on the screen */
	enum action asked_by; /* the last action of a view, which may have asked a question */
};

/* ---- app_keys.c, app_turn.c, app_act.c, app_tabs.c: functions return reaction bits of reaction.h ---- */

/* Handle a key, pasted text, a mouse event. */
unsigned app_key(struct app *a, int key);
unsigned app_paste(struct app *a, const char *text);
unsigned app_mouse(struct app *a, const struct mouse *m);

/* Update the run's files, the jobs and all open views. */
unsigned app_update(struct app *a);
/* Execute the requests of the views. */
unsigned app_execute_requests(struct app *a);

/* Carry out an action in the tab in front, or in the tab of its group. */
unsigned app_act(struct app *a, enum action action);
/* Carry out an action in a view that is shown, or, if it does not know the action, in the workbench. */
unsigned app_view_act(struct app *a, const struct view *v, void *state, enum action action);
/* Carry out an action of the workbench, which no view handled. */
unsigned app_act_itself(struct app *a, enum action action);
/* Pass an answer (NULL: cancelled) to the view that asked. */
unsigned app_answer(struct app *a, int owner, int question, const char *text);
/* The same for a filter that is being typed; app_answer() follows, and undo takes back both. */
unsigned app_answer_typed(struct app *a, int owner, int question, const char *text);

/* Show a tab and open its view if necessary. */
unsigned app_show_tab(struct app *a, int tab);
/* Show a view over the tab; replaces another overlay. */
unsigned app_show_overlay(struct app *a, const struct view *v);
unsigned app_end_overlay(struct app *a);
/* Record which tab is being called, so that answers return to it. */
void app_set_caller(struct app *a, int tab);
void app_view_end(const struct view *v, void *state);

/* ---- app_draw.c ---- */

/* Draw the whole screen into the grid. */
void app_draw(struct app *a);
/* Draw it and write it to a file of text. */
void app_save_screenshot(struct app *a);

/* ---- app_look.c ---- */

/* Apply the current theme and mouse setting to the terminal. */
void app_set_look(struct app *a);
/* Give the theme "auto" the colours that suit the terminal's background, as far as it is known. */
void app_suit_ground(struct app *a);
/* Show the screen in another theme, or (NULL) in the theme of before; a theme that fails is not shown. */
void app_preview_theme(struct app *a, const char *name);
/* Tell the user when it changes whether the terminal shows pictures. */
void app_show_picture_state(struct app *a);
/* Carry out what a view requested of theme and mouse, or of pictures, and save it. */
void app_apply_look(struct app *a);
void app_apply_pictures(struct app *a);

/* ---- app_notice.c ---- */

/* The value of --notify (NULL: off). ERR_USAGE. */
int app_choose_toast(const char *name, enum term_toast *kind, struct err *e);
/* Whether a run ended between two polls of it. */
bool app_run_has_ended(enum run_state before, enum run_state now);
/* Show title and progress of the chosen run, and a message at its end. */
void app_show_notices(struct app *a);

/* ---- app_undo.c ---- */

/* Copy toggles and filters of an open tab; keep the copy as a step if an action changed them. */
void app_undo_look(const struct app *a, int tab, enum action action, struct undo_step *to);
void app_undo_keep(struct app *a, const struct undo_step *before);
/* Undo the last step of the tab in front. */
unsigned app_undo(struct app *a);

/* ---- app_tour.c ---- */

/*
 * Draw the hint of the tab in front at the lower end of body, if it was not seen yet. Returns the rest
 * of body, which is for the tab.
 */
struct rect app_tour_draw(struct app *a, struct rect body);
/* A key came: the hint on the screen, if there is one, was seen. */
void app_tour_end_hint(struct app *a);
/* Show all hints again. */
void app_tour_restart(struct app *a);

/* ---- app.c ---- */

/* Close all views and the context. */
void app_close(struct app *a);

/* ---- app_text.c ---- */

/* Run --dump: read the files, press --keys, write the screen to standard output. ERR_USAGE, ERR_IO, ERR_NOMEM. */
int app_run_as_text(struct app *a, const struct conf *c, struct err *e);

/* ---- app_files.c ---- */

/* Read the user's key map, if it exists. ERR_CONFIG names file and line. */
int app_load_keymap(struct app *a, struct err *e);
/* Load a theme: built-in, NAME.theme of the user, or a path. On failure the old theme stays. */
int app_load_theme(struct app *a, const char *name, struct err *e);
/* Read and write the saved state; failures are ignored. */
void app_load_state(struct app *a);
void app_save_state(struct app *a);

#endif
