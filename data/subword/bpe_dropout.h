/*
 * bpe_dropout.h - sentences split into pieces anew, leaving merges out at random.
 *
 * Provilkov et al. 2020, "BPE-Dropout: simple and effective subword
 * regularization", algorithm 1: a word is merged from its characters as
 * always, but at every step each merge that could be done is left out of the
 * choice with probability p; when none is left to choose from, the word is
 * done. It works on ids, so it needs no text:
 * the pieces of a word are put together and split again.
 *
 * - A piece that is not in the vocabulary is taken apart by its merges until
 *   its parts are; where that fails the word stays as it was, as does
 *   a word with <unk> in it.
 * - The choice is a function of (seed, epoch, pair, side, word) and of nothing else.
 *
 * Both dialects: pieces of bpe.codes ("@@" where a word goes on), and of a
 * SentencePiece model ("▁" where a word begins), where two pieces merge when
 * both together are a piece, the one of the lowest id first.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_DROPOUT_H
#define WERKBANK_DATA_SUBWORD_BPE_DROPOUT_H

#include <stdint.h>

#include "data/words/vocab.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

struct bpe_dropout;

/*
 * As c says: bpe_dropout (the probability), seed, segmentation; codes from folder/bpe.codes, or, for
 * SentencePiece, none, since the vocabulary holds them all. v is borrowed. NULL: failure.
 */
struct bpe_dropout *bpe_dropout_open(const char *folder, const struct conf *c,
				     const struct vocab *v, struct err *e);

/* Where a sentence stands: what its randomness is made from. */
struct bpe_dropout_key {
	int64_t pair; /* below 2^44 */
	uint32_t epoch;
	uint32_t side; /* 0: source, 1: target */
};

/* Append the ids of the sentence, split anew, to *out (grown with mem_grow). */
int bpe_dropout_sentence(struct bpe_dropout *d, const struct bpe_dropout_key *place,
			 const int32_t *ids, int32_t n, int32_t **out, size_t *n_out, size_t *cap,
			 struct err *e);

void bpe_dropout_close(struct bpe_dropout *d);

#endif
