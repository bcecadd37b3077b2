/* translate_console_words.h - translations as words and as tokens: text, shades, alignment. */
#ifndef WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_WORDS_H
#define WERKBANK_TUI_TRANSLATE_TRANSLATE_CONSOLE_WORDS_H

#include "tui/translate/translate_console_panes.h"

/*
 * Draw the text of a translation, wrapped into r. Each word has the shade of its least certain
 * token; words that other (NULL: none) lacks in their place are marked.
 */
void console_draw_text(struct grid *g, struct rect r, const struct service_translation *t,
		       const struct service_translation *other);

/* Number of words of t that other lacks in their place. */
int console_other_words(const struct service_translation *t,
			const struct service_translation *other);

/* Rows of a text at that width; at least 1. */
int console_text_rows(const struct grid *g, int cols, const char *text);

/*
 * Draw a text into r, wrapped: words have the shades of the tokens of t from first on, or (t NULL) this style. Returns the rows of
 * the whole text.
 */
int console_draw_shaded(struct grid *g, struct rect r, const char *text,
			const struct service_translation *t, size_t first, enum style style);

/*
 * Draw one line of text; words that other (NULL: none) lacks in their place are marked. A line that is
 * too long is scrolled to the first of them.
 */
void console_draw_line(struct grid *g, struct span at, const char *text, const char *other);

struct console_words {
	const struct service_part *part; /* of the translation: its tokens are drawn */
	int token; /* index of the token at the cursor, among all of the translation; -1: none */
	bool focused;
	struct console_screen *screen; /* receives the token positions; may be NULL */
};

/*
 * Draw the source tokens with numbers, and the target tokens, each with its probability in per cent
 * and the number of the source token with the largest attention. A line joins the token at the
 * cursor with its source token if both rows of tokens fit.
 */
void console_draw_words(struct grid *g, struct rect r, const struct service_answer *a,
			const struct service_translation *t, const struct console_words *how);

/* Rows that console_draw_words() needs at that width. */
int console_words_rows(const struct grid *g, const struct service_answer *a,
		       const struct service_translation *t, const struct service_part *part,
		       int cols);

#endif
