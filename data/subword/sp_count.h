/* sp_count.h - the words that a SentencePiece vocabulary is learned from; sp_count.c, sp_learn.c. */
#ifndef WERKBANK_DATA_SUBWORD_SP_COUNT_H
#define WERKBANK_DATA_SUBWORD_SP_COUNT_H

#include <stdint.h>

#include "data/words/intern.h"
#include "share/base/err.h"

struct sp_counts {
	struct intern texts;
	int64_t *counts; /* owned: (texts.n) */
	size_t cap;
};

struct sp_learner {
	struct sp_counts raw; /* words of the text as they stand */
};

int sp_count_text(struct sp_counts *c, const char *text, size_t n, int64_t count, struct err *e);
void sp_counts_free(struct sp_counts *c);

#endif
