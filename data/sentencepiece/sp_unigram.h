/*
 * sp_unigram.h - the unigram language model of SentencePiece: a text's split with the best score, the
 * N best ones, or a sample.
 *
 * Kudo 2018, "Subword regularization: improving neural network translation models with multiple
 * subword candidates". The score of a split is the sum of the scores of its pieces, which are
 * log-probabilities. A character that is no piece of its own may be the unknown token.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_UNIGRAM_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_UNIGRAM_H

#include "data/sentencepiece/piece_trie.h"
#include "data/sentencepiece/sp_kind.h"

/* The pieces that may occur in text, with their scores. */
struct unigram_table {
	struct piece_trie trie;
	double *scores; /* owned: by id */
	/*
	 * Owned: by id, in a lattice. SentencePiece counts the length of a user-defined symbol in
	 * bytes for the best split, and in characters for a lattice.
	 */
	double *lattice_scores;
	float unknown; /* score of the unknown token */
	double reach;  /* no part has a greater absolute score than its bytes times this */
};

/* Build *t (empty before) of the normal pieces and user-defined symbols of m. */
int unigram_table_open(struct unigram_table *t, const struct sp_model *m, struct err *e);
void unigram_table_free(struct unigram_table *t);
/* The table of a state of sp_unigram_kind. Borrowed. */
const struct unigram_table *sp_unigram_table(const void *state);

#endif
