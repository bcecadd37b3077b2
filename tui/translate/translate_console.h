/*
 * translate_console.h - the translate console without its screen: what is asked of whom, and what is chosen.
 *
 *	console_open(&c, workspace, e)
 *	console_set_checkpoint(&c, 0, run, step, e)	a side translates with a checkpoint
 *	edit_key(&c.input, key) … console_text_changed(&c, now)
 *	console_update(&c, now)			each turn
 *	… console_shown_translation(&c, side) …
 *	console_close(&c)
 *
 * One text is translated by one or two sides, each a service of its own. A
 * translation may be made to begin with chosen words (prefix), to contain terms and to do without
 * others. The cursor stands on a token of the side that is looked at; the
 * service is asked what else could stand there.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "tui/term/edit.h"
#include "tui/translate/service.h"
#include "tui/translate/translate_file.h"

#define CONSOLE_SIDES	     2
#define CONSOLE_TERMS	     8 /* of each kind */
#define CONSOLE_ALTERNATIVES 12
#define CONSOLE_DEBOUNCE_S   0.12 /* after a key, before the text is sent */

enum console_pane {
	CONSOLE_INPUT,
	CONSOLE_WORDS,
	CONSOLE_N_BESTS,
	CONSOLE_PANE_ALTERNATIVES,
	CONSOLE_PANES
};

struct console_side {
	char *run;		 /* owned; NULL: this side is not in use */
	int64_t step;		 /* of its checkpoint; -1: none */
	bool is_best;		 /* the best of its run, when it was chosen */
	struct service *service; /* owned; NULL: none */
	/* the newer checkpoint that is being loaded, to take its place when it is ready; NULL: none */
	struct service *next;
	int64_t next_step;
	int64_t failed_step; /* a newer checkpoint that could not be loaded; -1: none */
};

struct console_terms {
	char *terms[CONSOLE_TERMS];
	size_t n;
}; /* owned */

struct console {
	char *workspace;     /* owned */
	const char *program; /* what translates; NULL: the werkbank that runs. Borrowed */
	struct edit input;
	struct console_side sides[CONSOLE_SIDES];
	int side;     /* the one that is looked at */
	bool follow;  /* side 0 goes on to the newest checkpoint of its run */
	char *prefix; /* owned: how translations must begin; NULL: no matter */
	struct console_terms force, forbid;
	enum console_pane focus;
	int choice;		     /* number of the translation that is shown, from 0 */
	int token;		     /* the cursor: of its tokens; as many as there are: its end */
	int other;		     /* number of the alternative that is chosen */
	char *asked_text;	     /* owned: the text that was asked last; NULL: none */
	bool wants_alternatives;     /* alternatives were asked for at the cursor */
	struct translate_file *file; /* owned; NULL: none */
	double looked;		     /* when the newest checkpoint was looked for */
	int slow_seconds;	     /* seconds for which a translator has not answered */
	char trouble[300];	     /* of the last checkpoint that could not be followed; "" */
};

int console_open(struct console *c, const char *workspace, struct err *e);
void console_close(struct console *c);

/*
 * Translate with a checkpoint of a run on a side (run NULL: the side is not used any
 * more). ERR_UNAVAILABLE, ERR_NOMEM.
 */
int console_set_checkpoint(struct console *c, int side, const char *run, int64_t step,
			   struct err *e);

/* The text, the prefix or the terms are other ones: ask, after the debounce when typing. */
int console_ask(struct console *c, double when, struct err *e);
/* The text is another one: cursor and prefix go back to the start. */
int console_text_changed(struct console *c, double now, struct err *e);

/* Look at the other side. */
void console_select_side(struct console *c, int side);
/* Choose another translation, token or alternative; they stay within what there is. */
void console_choose(struct console *c, int choice);
void console_move(struct console *c, int token, double now);
/* Ask what else could stand at the cursor. */
int console_ask_alternatives(struct console *c, double now, struct err *e);
/* Begin the translation with the chosen alternative. */
int console_use_alternative(struct console *c, double now, struct err *e);
/* Begin it with all before the cursor, as it is shown; at the beginning: no prefix. */
int console_fix_prefix(struct console *c, double now, struct err *e);
/* Neither prefix nor terms any more. */
int console_clear_constraints(struct console *c, double now, struct err *e);
/* Add a term. ERR_USAGE: it is there, or there are too many. */
int console_add_term(struct console *c, struct console_terms *to, const char *term, double now,
		     struct err *e);

/* Services, the newest checkpoint, the file: true when the screen must be drawn again. */
bool console_update(struct console *c, double now);
/* Seconds until it wants to be called without anything to read; NaN: it need not. */
double console_due(const struct console *c, double now);
/* Whether an answer is awaited or a model is being loaded. */
bool console_busy(const struct console *c);
size_t console_fds(const struct console *c, int *fds, size_t n);

/* Translate a file with what side 0 translates. */
int console_start_file(struct console *c, const char *in, const char *out, double now,
		       struct err *e);

/* The answer of a side, and the translation of it that is shown; NULL: none. */
const struct service_answer *console_answer(const struct console *c, int side);
const struct service_translation *console_shown_translation(const struct console *c, int side);
/* The alternatives at the cursor, when they are those of the cursor; NULL: not (yet). */
const struct service_answer *console_alternatives(const struct console *c);
/* Whether a side shows the answer to an older text. */
bool console_is_outdated(const struct console *c, int side);

/*
 * Tokens from first to last (excluded) as running text: pieces joined to words, words with blanks
 * between them. For BPE (pieces that go on end in @@) and SentencePiece (words begin with U+2581).
 */
void console_join(const struct service_translation *t, size_t first, size_t last, struct buf *out);

#endif
