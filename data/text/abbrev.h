/*
 * abbrev.h - words after which a full stop does not end a sentence.
 *
 * The lists are share/lang/LANG.abbreviations, built into the program; the English one explains
 * the format.
 */
#ifndef WERKBANK_DATA_TEXT_ABBREV_H
#define WERKBANK_DATA_TEXT_ABBREV_H

#include <stddef.h>

#include "share/base/err.h"

enum abbrev_kind {
	ABBREV_NONE,
	ABBREV_WORD,	     /* the word keeps its full stop */
	ABBREV_BEFORE_DIGIT, /* the word keeps its full stop before a digit */
};

struct abbrev;

/* The list of a language; English where there is none, as in Moses. NULL: failure. */
struct abbrev *abbrev_open(const char *language, struct err *e);
/* The kind of a word of n bytes, given without its full stop. */
enum abbrev_kind abbrev_find(const struct abbrev *a, const char *word, size_t n);
void abbrev_close(struct abbrev *a);

#endif
