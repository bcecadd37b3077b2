/*
 * app_internal.h - the workbench's own state, for the app*.c files only.
 *
 * app.c       starts it, and is the loop on a terminal
 * app_text.c  is the loop without one: --dump and --keys
 * app_turn.c  what goes on between keys: tabs, files, jobs, wishes, drawing
 * app_keys.c  what keys, pastes, the mouse and answers do
 * app_files.c what is kept outside: key map, themes, the last view
 */
#ifndef WERKBANK_TUI_APP_APP_INTERNAL_H
#define WERKBANK_TUI_APP_APP_INTERNAL_H

#include "share/conf/conf.h"
#include "tui/app/app.h"
#include "tui/term/term.h"
#include "tui/app/view.h"
#include "tui/app/view_requests.h"

/* Questions of the workbench itself. */
enum { ASK_LEAVE, ASK_RUN };

struct tab_state {
	void *state;	    /* owned; NULL: not open yet */
	unsigned news;	    /* what it has not heard of yet */
	struct err trouble; /* why it could not be opened; text "" when it could */
};

struct app {
	struct app_context context;
	struct view_requests *requests; /* of the world */
	struct tab_state tabs[TAB_COUNT];
	int front;
	const struct view *overlay; /* over the tab: help; NULL: none */
	void *overlay_state;	    /* owned */
	struct grid grid;
	struct keymap keymap;
	struct theme theme;
	struct terminal *term;	 /* NULL: --dump */
	bool colours, mouse;	 /* that the user wants */
	char terminal_text[160]; /* what term_describe() says */
	double fixed_now;	 /* WERKBANK_NOW; 0: the real clock */
	struct err trouble;	 /* of reading the run's files */
	double shown_second;	 /* of the clock, when it was drawn last */
};

/* ---- app_turn.c: each returns reaction bits of view.h ---- */

/* Bring a tab to the front, opened if it was not. */
unsigned app_show_tab(struct app *a, int tab);
/* Put a view over the tab; what was there goes. */
unsigned app_show_overlay(struct app *a, const struct view *v);
unsigned app_end_overlay(struct app *a);
/* Look at the run's files, at jobs, and let all open views do so. */
unsigned app_update(struct app *a);
/* Do what views have asked for. */
unsigned app_execute_requests(struct app *a);
/* Draw everything into the grid. */
void app_draw(struct app *a);
/* Say to the world who is called, so that answers find their way back. */
void app_set_caller(struct app *a, int tab);
void app_view_end(const struct view *v, void *state);

/* ---- app_keys.c ---- */

unsigned app_key(struct app *a, int key);
unsigned app_paste(struct app *a, const char *text);
unsigned app_mouse(struct app *a, const struct mouse *m);
/* Hand an answer (NULL: called off) to whoever asked. */
unsigned app_answer(struct app *a, int owner, int question, const char *text);

/* ---- app.c ---- */

/* Give the terminal the theme and the mouse that are wanted now. */
void app_set_look(struct app *a);
/* Close all views and the world. */
void app_close(struct app *a);

/* ---- app_text.c ---- */

int app_run_as_text(struct app *a, const struct conf *c, struct err *e);

/* ---- app_files.c ---- */

/* Read the user's key map, if there is one. ERR_CONFIG names file and line. */
int app_load_keymap(struct app *a, struct err *e);
/* Take a theme: a built-in one, NAME.theme of the user's, or a file. On failure it stays as it is. */
int app_load_theme(struct app *a, const char *name, struct err *e);
/* Read and write what is remembered; failures do not matter. */
void app_load_state(struct app *a);
void app_save_state(struct app *a);

#endif
