/*
 * translate_view.h - the tab "translate": what its files share.
 *
 * view_translate.c has its keys and actions, translate_questions.c its questions, translate_choices.c chooses
 * checkpoints, translate_mouse.c handles the mouse.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_VIEW_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_VIEW_H

#include "tui/context/view.h"
#include "tui/translate/translate_console.h"
#include "tui/translate/translate_console_panes.h"
#include "tui/translate/typed_texts.h"

extern const struct view view_translate; /* the tab: tabs.def */

enum question_id {
	ASK_CHECKPOINT,
	ASK_SECOND,
	ASK_SEARCH,
	ASK_FORCE,
	ASK_FORBID,
	ASK_FILE,
	ASK_OUTPUT,
	ASK_GLOSSARY,
	ASK_DOCUMENT,
	ASK_DOCUMENT_OUTPUT
};

struct translate_view {
	struct console console;
	struct console_screen screen;
	bool chosen;	   /* the user chose the checkpoint: a change of run keeps it */
	char *run;	   /* owned: the run that side 0 was opened for */
	char *file;	   /* owned: file to translate, while the question for its output is open */
	double checked_at; /* when a checkpoint was last looked for */
	struct typed_texts texts;
	struct console_step before; /* a change of the user, while it is handled */
	char *other;		    /* owned: "RUN STEP" of another run, to offer; NULL: none */
};

/* Show the sentence of a failure, if rc says that there was one. */
void translate_notify_failure(struct app_context *w, int rc, const struct err *e);

/*
 * Record what a change by a key (0: by something else) did, after console_undo_look() has filled v->before. Returns the
 * reaction to the change.
 */
unsigned translate_keep_change(struct translate_view *v, int key, unsigned reaction);

/* ---- translate_questions.c ---- */

/* Ask what an action needs to know; REACT_UNKNOWN: the action asks nothing. */
unsigned translate_ask(struct translate_view *v, struct app_context *w, enum action action);
unsigned translate_answer(void *state, struct app_context *w, int question, const char *text);

/* ---- translate_choices.c ---- */

/*
 * Open side 0 with the chosen run once it has a checkpoint: while the run trains, follow its newest
 * checkpoint, else use the best one.
 */
void translate_start(struct translate_view *v, struct app_context *w, double now);

/*
 * Ask for a checkpoint of any run. in_use (NULL: none) is that of the other side: it is the last
 * choice, for a comparison of settings.
 */
unsigned translate_ask_checkpoint(struct app_context *w, int id, const char *title,
				  const struct console_side *in_use);
/* Use the answer, "RUN STEP", for a side. */
void translate_use_choice(struct translate_view *v, struct app_context *w, int side,
			  const char *text);

/* ---- lists, by keys and by the mouse ---- */

/* Choose another row of the list or map with the keys. */
void translate_move_row(struct console *c, int by);
/* Go from a word to its alternatives, or use the chosen one. */
unsigned translate_accept(struct translate_view *v, struct app_context *w);

/* ---- translate_mouse.c ---- */

unsigned translate_mouse(void *state, struct app_context *w, const struct mouse *m);

#endif
