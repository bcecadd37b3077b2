/*
 * abbrev.h - words after which a full stop does not end a sentence.
 *
 * Read from share/lang/LANG.abbreviations (the form is explained in the
 * English one), which is built into the program.
 */
#ifndef WERKBANK_DATA_TEXT_ABBREV_H
#define WERKBANK_DATA_TEXT_ABBREV_H

#include <stddef.h>

#include "share/base/err.h"

enum abbrev_kind {
	ABBREV_NONE,
	ABBREV_WORD,	     /* keeps its full stop */
	ABBREV_BEFORE_DIGIT, /* keeps it when a digit follows */
};

struct abbrev;

/* The list of a language; one without a list gets the English one, as in Moses. NULL: failure. */
struct abbrev *abbrev_open(const char *language, struct err *e);
enum abbrev_kind abbrev_find(const struct abbrev *a, const char *word, size_t n);
void abbrev_close(struct abbrev *a);

#endif
