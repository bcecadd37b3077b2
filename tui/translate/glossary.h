/*
 * glossary.h - terms of the translate console: words of the source and what they must become.
 *
 * A file has a line "SOURCE TAB TARGET" for each term, as --terms of werkbank translate. Requests carry
 * the terms whose source may occur in the text; the translator decides by whole words.
 */
#ifndef WERKBANK_TUI_TRANSLATE_GLOSSARY_H
#define WERKBANK_TUI_TRANSLATE_GLOSSARY_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

#define GLOSSARY_TERMS	   5000 /* terms of a glossary */
#define GLOSSARY_OF_A_TEXT 32	/* terms of a request */

struct glossary_term {
	char *source, *target; /* owned, in one allocation that source begins */
};

/* Zeroed: empty. */
struct glossary {
	struct glossary_term *terms; /* (n) owned */
	size_t n, cap;
};

/* Replace the terms by those of a file. On failure the old ones stay: ERR_NOINPUT, ERR_DATA. */
int glossary_read(struct glossary *g, const char *path, struct err *e);
/* Add "SOURCE = TARGET", or replace the target of SOURCE. ERR_USAGE: another form. */
int glossary_add(struct glossary *g, const char *line, struct err *e);
void glossary_clear(struct glossary *g);
/* to must be empty, and stays so without memory (ERR_NOMEM). */
int glossary_copy(struct glossary *to, const struct glossary *from, struct err *e);
bool glossary_equals(const struct glossary *a, const struct glossary *b);

/* Indices of the terms whose source occurs in the text, ignoring the case of ASCII letters. */
size_t glossary_find(const struct glossary *g, const char *text, size_t found[GLOSSARY_OF_A_TEXT]);

/*
 * Whether text has these words, not as a part of longer words. Between two letters beyond ASCII no end
 * of a word is known, so such words count wherever they stand.
 */
bool glossary_has_words(const char *text, const char *words, bool ignores_case);

#endif
