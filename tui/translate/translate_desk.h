/*
 * translate_desk.h - the sentences of a text or document in two columns: source and translation, each with a bar.
 *
 * The bar is the mean probability of the tokens of a translation (geometric), from 0 to 1, as the model gives them: a translation
 * that the user has edited has none. Of a document, the sentences after the open one have the translations that the
 * translator makes ahead.
 */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_DESK_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_DESK_H

#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/translate/translate_console.h"

/* Does the desk take the place of the translation? For a document, or a text of several sentences, and one side. */
bool desk_is_shown(const struct console *c);
/* The rows that the desk has use for, inside of its border, at most `most`. */
int desk_needed_rows(const struct console *c, const struct grid *g, int cols, int most);
/* Draw the sentences into a box, and what the bar means into its lower border; the upper one is the caller's. */
void desk_draw(struct console *c, struct grid *g, struct rect box);

#endif
