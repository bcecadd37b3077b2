/* sp_count.h - counted words: shared by sp_count.c and sp_learn.c. */
#ifndef WERKBANK_DATA_SUBWORD_SP_COUNT_H
#define WERKBANK_DATA_SUBWORD_SP_COUNT_H

#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/err.h"

struct sp_counts { /* words and their counts */
	struct intern texts;
	int64_t *counts; /* owned: (texts.n) */
	size_t cap;
};

struct sp_learner {
	struct sp_counts raw; /* words before normalisation */
};

/* Count a word count times. */
int sp_count_text(struct sp_counts *c, const char *text, size_t n, int64_t count, struct err *e);
void sp_counts_free(struct sp_counts *c);

#endif
