/*
 * resplit.h - splits training sentences into pieces again, at random, in each epoch: subword regularisation.
 *
 * BPE-dropout (bpe_dropout.h) for BPE models, sampling (unigram_resplit.h) for unigram models. The input
 * are token ids, no text. The result depends on (seed, epoch, pair, side, word) and on nothing else.
 */
#ifndef WERKBANK_DATA_PIPELINE_RESPLIT_H
#define WERKBANK_DATA_PIPELINE_RESPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/subword/resplit_key.h"
#include "data/words/vocab.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

struct resplit;

/* Do the options bpe_dropout or unigram_sampling of c ask for new splits? */
bool resplit_is_wanted(const struct conf *c);

/*
 * For a side: 0 for the source, 1 for the target. Uses the options bpe_dropout, unigram_sampling, seed and
 * segmentation of c, and the side's subword model in folder. v, the side's vocabulary, is borrowed. A side
 * whose option is 0 keeps its pieces. NULL: failure; ERR_CONFIG: no side has the segmentation of an option.
 */
struct resplit *resplit_open(const char *folder, const struct conf *c, int side,
			     const struct vocab *v, struct err *e);

/* Split n ids again and append the new ids to *out (grown with mem_grow()). */
int resplit_sentence(struct resplit *r, const struct resplit_key *place, const int32_t *ids,
		     int32_t n, int32_t **out, size_t *n_out, size_t *cap, struct err *e);
void resplit_close(struct resplit *r);

#endif
