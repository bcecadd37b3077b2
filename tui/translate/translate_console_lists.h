/* translate_console_lists.h - earlier sentences, and the terms of the glossary, as lists. */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_LISTS_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_LISTS_H

#include "tui/term/grid.h"
#include "tui/term/layout.h"
#include "tui/translate/translate_console.h"

/* The history of sentences in a box, the latest first. */
void console_draw_earlier(struct console *c, struct grid *g, struct rect box);

/*
 * The terms of the glossary whose source has its words in the text, in a box: each with a check mark if
 * the translation has the words of its target, else with a question mark.
 */
void console_draw_terms(struct console *c, struct grid *g, struct rect box);
/* Draw the terms into one row, columns at … right. */
void console_draw_terms_row(const struct console *c, struct grid *g, int row, int at, int right);

#endif
