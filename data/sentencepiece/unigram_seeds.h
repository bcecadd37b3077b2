/*
 * unigram_seeds.h - the pieces from which the learner of a unigram model starts: the text's frequent
 * substrings.
 *
 * Kudo 2018, "Subword regularization", section 3.2: the substrings with the greatest product of
 * frequency and length. A substring that is always followed by the same character is left out, in favour
 * of the longer one. Valid pieces are those of SentencePiece: at most 16 characters, "▁" only in front,
 * characters of one script.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_SEEDS_H
#define WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_SEEDS_H

#include <stddef.h>
#include <stdint.h>

#include "data/sentencepiece/unigram_text.h"
#include "share/base/err.h"

#define UNIGRAM_MAX_PIECE 16 /* characters */

struct unigram_seed {
	int64_t score;	/* frequency * characters */
	uint32_t start; /* one place where it occurs, in bytes */
	uint32_t n;	/* bytes */
};

/*
 * Find the best substrings of two and more characters that occur at least twice: (*n) in *seeds, owned by
 * the caller, in no useful order, which depends on the text only. at_most limits their number. Memory: 24
 * bytes for each character of the texts, at most about 800 MB: of longer texts a part is searched.
 */
int unigram_find_seeds(const struct unigram_text *t, size_t at_most, struct unigram_seed **seeds,
		       size_t *n, struct err *e);

#endif
