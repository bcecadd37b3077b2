/*
 * bpe_dropout.h - BPE-dropout: splits training sentences into pieces again, with merges dropped
 * at random.
 *
 * Provilkov et al. 2020, "BPE-Dropout: simple and effective subword regularization", algorithm 1.
 * A word is merged from its characters as usual, but at each step every possible merge is dropped
 * with probability p. When all possible merges are dropped, the word is done. The input are token
 * ids, no text: the pieces of a word are joined and split again.
 *
 * - A new piece that is not in the vocabulary is split by undoing its merges, until its parts are
 *   in the vocabulary. Where that fails, and for words with <unk>, the word keeps its pieces.
 * - The result depends on (seed, epoch, pair, side, word) and on nothing else.
 *
 * Both dialects work: pieces of bpe.codes ("@@" where a word continues), and pieces of a
 * SentencePiece model ("▁" where a word begins). There, two pieces merge when their joined string
 * is a piece, lowest id first.
 */
#ifndef WERKBANK_DATA_PIPELINE_BPE_DROPOUT_H
#define WERKBANK_DATA_PIPELINE_BPE_DROPOUT_H

#include "data/subword/resplit_key.h"
#include "data/words/vocab.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct bpe_dropout;

/*
 * For a side: 0 for the source, 1 for the target. Uses the options bpe_dropout (the probability), seed and
 * segmentation of c. Reads the side's BPE codes in folder; for SentencePiece the vocabulary holds all
 * merges. v, the side's vocabulary, is borrowed. NULL: failure.
 */
struct bpe_dropout *bpe_dropout_open(const char *folder, const struct conf *c, int side,
				     const struct vocab *v, struct err *e);

/* As resplit_sentence(). */
int bpe_dropout_sentence(struct bpe_dropout *d, const struct resplit_key *place, const int32_t *ids,
			 int32_t n, int32_t **out, size_t *n_out, size_t *cap, struct err *e);

void bpe_dropout_close(struct bpe_dropout *d);

#endif
