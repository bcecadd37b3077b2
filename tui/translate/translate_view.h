/*
 * translate_view.h - the tab "translate": what its files share.
 *
 * view_translate.c has its keys, actions and questions, translate_choices.c chooses checkpoints,
 * translate_mouse.c handles the mouse.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_VIEW_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_VIEW_H

#include "tui/context/view.h"
#include "tui/translate/translate_console.h"
#include "tui/translate/translate_console_panes.h"

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
	char *sentences;   /* owned: path of the history of texts; NULL: none */
	bool saves_texts;  /* they are saved there too */
	/* owned: the longest form of the text that is typed, since it was empty; NULL: none */
	char *draft;
	char *other; /* owned: "RUN STEP" of another run, to offer; NULL: none */
};

/* Show the sentence of a failure, if rc says that there was one. */
void translate_notify_failure(struct app_context *w, int rc, const struct err *e);

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
