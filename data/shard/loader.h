/*
 * loader.h - the order in which training sees its pairs.
 *
 * An epoch is a permutation of the shard by (seed, epoch). It is taken in
 * windows; each window is sorted by length, cut into micro-batches of at most
 * batch_tokens source and batch_tokens target tokens (special tokens counted),
 * and the micro-batches are shuffled within the window. The resulting sequence
 * of micro-batches, numbered from 0, depends on seed and batch_tokens only:
 * rank r of n takes numbers r, r + n, r + 2n, … of it, so every number of
 * ranks trains on the same steps.
 *
 * With BPE-dropout sentences grow. Batches are planned with the lengths of the
 * shard, for so many tokens fewer as they grow on the average (of a sample,
 * and one in a hundred more); what a batch holds is split when it is its turn, so each rank
 * splits its own sentences only and any place can be resumed at once. A sentence that would
 * make its batch exceed batch_tokens, or itself longer than the longest of the
 * shard, keeps its usual pieces in that epoch.
 */
#ifndef WERKBANK_DATA_SHARD_LOADER_H
#define WERKBANK_DATA_SHARD_LOADER_H

#include <stdint.h>

#include "data/shard/token_batch.h"
#include "data/subword/bpe_dropout.h"
#include "data/shard/shard.h"

struct loader;

struct loader_options {
	uint64_t seed;
	/* a pair longer than this: ERR_CONFIG, naming the option and the pair */
	int32_t batch_tokens;
	int32_t rank, ranks;	     /* 0, 1 for a single process */
	struct bpe_dropout *dropout; /* borrowed, for this loader alone; NULL: none */
};

/* Borrows the shard. NULL: failure. */
struct loader *loader_new(const struct shard *s, const struct loader_options *o, struct err *e);

/*
 * Fill b (allocated for batch_tokens) with this rank's next micro-batch; epochs follow for ever. With
 * dropout its memory may be exchanged for another of the same size.
 */
int loader_next(struct loader *l, struct batch *b, struct err *e);

/* Number in the global sequence of what loader_next() gives next: put it into the checkpoint. */
uint64_t loader_position(const struct loader *l);

/*
 * Go to a micro-batch of the global sequence (the rank's own one at or after
 * it). Epochs differ in their number of micro-batches, so those before it that
 * this loader has not seen are planned: some 0.2 s for each 4.5 million pairs.
 */
int loader_seek(struct loader *l, uint64_t position, struct err *e);

/* Epochs begun, with the fraction done: 2.25 is a quarter into the third. */
double loader_epoch(const struct loader *l);

/* Sentences a batch must have room for: with batch_tokens tokens there can never be more. */
int32_t loader_max_sentences(const struct loader *l);

void loader_free(struct loader *l);

#endif
