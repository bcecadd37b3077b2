/* translate_console_words.h - translations as words and tokens: drawn text, shades, alignment. */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_WORDS_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_WORDS_H

#include "tui/translate/translate_console_panes.h"

/*
 * The text of a translation, wrapped into r, each word shaded by its least certain token; words
 * that other (NULL: none) does not have are marked.
 */
void console_draw_text(struct grid *g, struct rect r, const struct service_translation *t,
		       const struct service_translation *other);

/* How many words of one translation the other does not have. */
int console_other_words(const struct service_translation *t,
			const struct service_translation *other);

/* Rows that the text takes in that width; at least 1. */
int console_text_rows(const struct grid *g, int cols, const struct service_translation *t);

/* One line of text; words that other (NULL: no matter) does not have stand out. */
void console_draw_line(struct grid *g, struct span at, const char *text, const char *other);

struct console_words {
	int token; /* the cursor; -1: none */
	bool focused;
	struct console_screen *screen; /* gets the spots; NULL: nobody asks */
};

/*
 * Source tokens with their numbers; target tokens, each with its probability in per cent and the
 * number of the source token that it looks at most. A line joins the token at the
 * cursor and that one where both are in one row.
 */
void console_draw_words(struct grid *g, struct rect r, const struct service_answer *a,
			const struct service_translation *t, const struct console_words *how);

/* Rows that this takes in that width. */
int console_words_rows(const struct grid *g, const struct service_answer *a,
		       const struct service_translation *t, int cols);

#endif
