/*
 * prompt.h - questions in a box over the screen.
 *
 * Views ask through context_ask(). The workbench handles a question like this:
 *
 *	prompt_ask(&p, &q, e)
 *	prompt_key(&p, key) …		PROMPT_ANSWERED: p.answer (NULL: cancelled)
 *	prompt_draw(&p, g)
 *	prompt_close(&p)
 */
#ifndef WERKBANK_TUI_CONTEXT_PROMPT_H
#define WERKBANK_TUI_CONTEXT_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "data/text/text_filter.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "tui/term/edit.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/list_widget.h"

enum question_kind {
	QUESTION_LINE,	 /* a line of text; the answer is the line */
	QUESTION_SEARCH, /* the same; the answer is a valid text of text_filter.h */
	/* the same; each valid text is an answer while it is typed; cancelled: the initial text */
	QUESTION_FILTER,
	QUESTION_YES_NO, /* the answer is "yes", or NULL for no */
	QUESTION_CHOICE, /* a list; typed text filters it; the answer is one of the choices */
	QUESTION_TEXT,	 /* a text to read; the answer is NULL */
};

struct question {
	enum question_kind kind;
	int id;		   /* passed to the view's answer(); any number */
	const char *title; /* "Stop the run demo?" */
	/* LINE, SEARCH, FILTER: the initial text; others: explanation, lines separated by \n; NULL: none */
	const char *text;
	const char *const *choices; /* CHOICE: the choices */
	size_t n_choices;
	const char *chosen;   /* CHOICE: the one chosen at first; NULL: the first one */
	bool previews_themes; /* CHOICE: the screen is shown in the chosen theme */
	bool completes_paths; /* LINE: Tab completes the path of a file */
};

enum prompt_state {
	PROMPT_OPEN,
	PROMPT_ANSWERED, /* answer is set; call prompt_close() next */
	PROMPT_COPY,	 /* still open; the user wants text copied to the clipboard */
};

struct prompt {
	bool open;
	enum question_kind kind;
	int id;
	int owner;	    /* the caller that asked; set by app.c */
	char *title, *text; /* owned */
	char **choices;	    /* owned */
	size_t n_choices;
	struct edit line;	   /* typed text: the line, or the filter of the choices */
	struct text_filter filter; /* the latest valid filter */
	bool previews_themes, completes_paths;
	struct list_widget list; /* CHOICE: those that match the filter; TEXT: its lines */
	bool clicked;		 /* YES_NO: yes was clicked, which does not answer */
	char trouble[120]; /* SEARCH, FILTER, CHOICE: why the line is no filter; "": it is one */
	char typed[TEXT_FILTER_BYTES]; /* FILTER: the text that was passed on last */
	char *answer;		       /* owned; NULL: cancelled */
};

/* Open a question, copied; replaces an open one. ERR_NOMEM: no question is open. */
int prompt_ask(struct prompt *p, const struct question *q, struct err *e);
enum prompt_state prompt_key(struct prompt *p, int key);
enum prompt_state prompt_paste(struct prompt *p, const char *text);
/*
 * The left button chooses, presses the keys named in the last row, or moves the cursor; the wheel
 * scrolls. A yes needs the key, so that a stray click starts nothing. g is the grid that the question was drawn into.
 */
enum prompt_state prompt_mouse(struct prompt *p, struct grid *g, const struct mouse *m);
/* The chosen choice, borrowed; NULL: none matches the filter, or it is another kind of question. */
const char *prompt_choice(const struct prompt *p);
void prompt_draw(struct prompt *p, struct grid *g);
void prompt_close(struct prompt *p);

#endif
