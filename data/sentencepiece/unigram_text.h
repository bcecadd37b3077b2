/* unigram_text.h - the text from which a unigram model is learned: distinct short texts with their counts */
#ifndef WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_TEXT_H
#define WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "data/words/text_counts.h"
#include "share/base/err.h"

#define UNIGRAM_MAX_TEXT 256 /* bytes; longer texts are cut */

/* Texts in a row, sorted by bytes. */
struct unigram_text {
	char *bytes;	/* owned: (n_bytes) valid UTF-8; each text ends with NUL */
	size_t n_bytes; /* below 2^32 */
	struct unigram_fragment {
		uint32_t start, n; /* in bytes, without the NUL */
		int64_t count;
	} * fragments; /* owned: (n) */
	size_t n;
};

/*
 * Fill *t (empty before) with the texts of words, cut at characters for which is_character (by code point)
 * is 0. words is empty afterwards. ERR_DATA: 4 GiB of distinct words or more.
 */
int unigram_text_load(struct unigram_text *t, struct text_counts *words,
		      const int64_t *is_character, struct err *e);
void unigram_text_free(struct unigram_text *t);

#endif
