/*
 * unigram_resplit.h - samples the splits of training sentences from a unigram model: see resplit.h
 *
 * Kudo 2018, "Subword regularization", equation 8, over all splits. A word with a protected symbol, a byte
 * piece or an unknown token keeps its pieces.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_RESPLIT_H
#define WERKBANK_DATA_SENTENCEPIECE_UNIGRAM_RESPLIT_H

#include "data/subword/resplit_key.h"
#include "data/words/vocab.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct unigram_resplit;

/* As resplit_open(), for a side with a unigram model. */
struct unigram_resplit *unigram_resplit_open(const char *folder, const struct conf *c, int side,
					     const struct vocab *v, struct err *e);
/* As resplit_sentence(). */
int unigram_resplit_sentence(struct unigram_resplit *u, const struct resplit_key *place,
			     const int32_t *ids, int32_t n, int32_t **out, size_t *n_out,
			     size_t *cap, struct err *e);
void unigram_resplit_close(struct unigram_resplit *u);

#endif
