/*
 * prompt.h - questions that stand over the screen until they are answered.
 *
 * Views ask through context_ask(); this is what app.c does with a question:
 *
 *	prompt_ask(&p, &q, e)
 *	prompt_key(&p, key) … PROMPT_ANSWERED: p.answer (NULL: called off)
 *	prompt_draw(&p, g)
 *	prompt_close(&p)
 */
#ifndef WERKBANK_TUI_APP_PROMPT_H
#define WERKBANK_TUI_APP_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "tui/term/edit.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"

enum question_kind {
	QUESTION_LINE,	 /* one line of text; the answer is what was typed */
	QUESTION_YES_NO, /* the answer is "yes", or NULL for no */
	QUESTION_CHOICE, /* one of the choices; typing narrows them; the answer is one */
	QUESTION_TEXT,	 /* something to read; the answer is NULL */
};

struct question {
	enum question_kind kind;
	int id;		   /* for the view's answer(); any number */
	const char *title; /* "Stop the run demo?" */
	/* LINE: what stands there at first; else: more words, lines apart by \n; NULL: none */
	const char *text;
	const char *const *choices; /* CHOICE: what there is to choose from */
	size_t n_choices;
};

enum prompt_state {
	PROMPT_OPEN,
	PROMPT_ANSWERED, /* answer holds it; prompt_close() is next */
	PROMPT_COPY,	 /* still open; the user wants text on the clipboard */
};

struct prompt {
	bool open;
	enum question_kind kind;
	int id;
	int owner;	    /* whoever asked; app.c's */
	char *title, *text; /* owned */
	char **choices;	    /* owned */
	size_t n_choices;
	struct edit line; /* what was typed: the line, or the filter of the choices */
	size_t chosen;	  /* of those that pass the filter */
	int top;	  /* TEXT: first line shown */
	char *answer;	  /* owned; NULL: called off */
};

int prompt_ask(struct prompt *p, const struct question *q, struct err *e);
enum prompt_state prompt_key(struct prompt *p, int key);
enum prompt_state prompt_paste(struct prompt *p, const char *text);
/*
 * The left button takes a choice, presses the keys that the foot names, moves the cursor; the
 * wheel scrolls. g is what it was drawn into.
 */
enum prompt_state prompt_mouse(struct prompt *p, struct grid *g, const struct mouse *m);
void prompt_draw(struct prompt *p, struct grid *g);
void prompt_close(struct prompt *p);

#endif
