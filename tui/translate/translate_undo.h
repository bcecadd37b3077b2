/*
 * translate_undo.h - one history of what the user changed in the translate console.
 *
 *	console_undo_look(c, &before)		before a key, paste or answer is handled
 *	console_undo_keep(c, &before, key)	after it: a change becomes a step
 *	console_undo_go(c, -1, now, e)		back; 1: forward again
 *
 * A step has the state before the change: text, prefix, edited translation, forced and forbidden words, the glossary, the
 * sentence of the document and its stored translation. So no action records its changes itself. Going back replaces the step by the
 * state that it leaves, which is the way forward. A document that is opened or closed begins a new history.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_UNDO_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_UNDO_H

#include "tui/translate/translate_console.h"

/*
 * Fill *before, which console_undo_keep() frees. Without memory, *before is empty and the change cannot be undone. with_glossary: the
 * action may change the glossary, whose terms are copied.
 */
void console_undo_look(const struct console *c, bool with_glossary, struct console_step *before);
/* key: what was typed (keys.h), so that letters of a word are one step; 0: something else. */
void console_undo_keep(struct console *c, struct console_step *before, int key);
/*
 * Go back (by -1) or forward (1). Returns 1, or 0: there is no such step. < 0: ERR_IO, ERR_NOMEM; a stored sentence that cannot be
 * written stays as it is.
 */
int console_undo_go(struct console *c, int by, double now, struct err *e);
/* Forget all steps; leaves an empty history. */
void console_undo_clear(struct console *c);

#endif
