/*
 * unigram_learn.h - learns the pieces of a unigram model: expectation maximisation and pruning.
 *
 * Kudo 2018, "Subword regularization", section 3.2, with the details of SentencePiece's trainer: in each
 * round two steps of EM, then the pieces whose loss would lower the likelihood least are dropped, at most a
 * quarter of all. All characters stay.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_LEARN_H
#define WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "data/words/text_counts.h"
#include "share/base/err.h"

struct unigram_learner;

/*
 * Start with the texts of words (sorted and copied; the counter is empty afterwards), which are cut at
 * characters for which is_character (by code point) is 0. threads: as in flow.h; the result does not
 * depend on them. ERR_DATA: 4 GiB of distinct words or more.
 */
struct unigram_learner *unigram_learner_new(struct text_counts *words, const int64_t *is_character,
					    int threads, struct err *e);

/*
 * Learn at most wanted pieces, all characters included. size: entries of the whole vocabulary, from which
 * SentencePiece computes when to stop pruning.
 */
int unigram_learn(struct unigram_learner *u, int64_t size, int64_t wanted, struct err *e);

/* Visit the pieces after learning, best score first. Stops at a failure, which is returned. */
typedef int unigram_visitor(void *context, const char *piece, size_t n, float score, struct err *e);
int unigram_visit_pieces(const struct unigram_learner *u, unigram_visitor *visit, void *context,
			 struct err *e);
void unigram_learner_free(struct unigram_learner *u);

#endif
