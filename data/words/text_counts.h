/* text_counts.h - distinct texts with a count each: a string pool (intern.h) that counts. */
#ifndef WERKBANK_DATA_WORDS_TEXT_COUNTS_H
#define WERKBANK_DATA_WORDS_TEXT_COUNTS_H

#include "data/words/intern.h"

struct text_counts {
	struct intern texts;
	int64_t *counts; /* owned: (texts.n) */
	size_t cap;
};

/* Add to the count of a text, which is 0 for a new one. */
int text_counts_add(struct text_counts *c, const char *text, size_t n, int64_t count,
		    struct err *e);
/* c is empty and reusable afterwards. */
void text_counts_free(struct text_counts *c);

#endif
