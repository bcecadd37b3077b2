/*
 * typed_texts.h - the history of texts that the user has typed, in the workbench and on disk.
 *
 * The history is that of the console's input. A text enters it when the user leaves the text: by Enter or Esc, when the
 * field is empty again, for another text, at the end. Texts of a document do not enter it.
 *
 *	typed_texts_open(&t, c, w)
 *	typed_texts_note(&t, c, e)	after each change of the text
 *	typed_texts_leave(&t, c, e)	before another text, or other keys
 *	typed_texts_close(&t, c)
 */
#ifndef WERKBANK_TUI_TRANSLATE_TYPED_TEXTS_H
#define WERKBANK_TUI_TRANSLATE_TYPED_TEXTS_H

#include <stdbool.h>

#include "share/base/err.h"
#include "tui/context/app_context.h"
#include "tui/translate/translate_console.h"

struct typed_texts {
	char *path;    /* owned: the file; NULL: none */
	bool is_saved; /* texts are saved there, too */
	char *draft; /* owned: the longest form of the text since the field was empty; NULL: none */
};

/* Read the file into the history. Without a file, texts are remembered in the workbench alone. */
void typed_texts_open(struct typed_texts *t, struct console *c, const struct app_context *w);
void typed_texts_close(struct typed_texts *t, struct console *c);

/* The text of the field has changed. ERR_IO, ERR_NOMEM. */
int typed_texts_note(struct typed_texts *t, struct console *c, struct err *e);
/* Make the text of the field the latest one of the history. ERR_IO, ERR_NOMEM. */
int typed_texts_leave(struct typed_texts *t, struct console *c, struct err *e);

#endif
