/*
 * loader.h - the micro-batches of training, in order.
 *
 * An epoch is a permutation of the shard by (seed, epoch). It is processed in windows. Each
 * window is sorted by length and cut into micro-batches of at most batch_tokens source tokens and
 * batch_tokens target tokens (special tokens counted); then the micro-batches are shuffled within
 * the window. The resulting sequence of micro-batches, numbered from 0, depends on seed,
 * batch_tokens and the shares of tags only. Rank r of n takes the numbers r, r + n, r + 2n, …, so any number of ranks
 * trains on the same steps.
 *
 * With a temperature above 1 an epoch has as many pairs, but not each of them once: tag_mix.h says which.
 *
 * New splits (resplit.h) make sentences longer. Batches are planned with the lengths in the shard, but for
 * fewer tokens: the average growth is measured on a sample, and 1 % is kept free. A batch is
 * split into pieces when it is loaded, so each rank splits only its own sentences, and training
 * can resume anywhere without splitting earlier ones. A sentence keeps its usual pieces in an
 * epoch if the new ones would exceed batch_tokens, or would be longer than the longest sentence
 * of the shard.
 */
#ifndef WERKBANK_DATA_SHARD_LOADER_H
#define WERKBANK_DATA_SHARD_LOADER_H

#include <stdint.h>

#include "data/pipeline/resplit.h"
#include "data/shard/shard.h"
#include "data/shard/tag_mix.h"
#include "data/shard/token_batch.h"

struct loader;

struct loader_options {
	uint64_t seed;
	/* tokens of a side of a micro-batch, at most; ERR_CONFIG: a pair is longer */
	int32_t batch_tokens;
	int32_t rank, ranks;	 /* 0, 1 for a single process */
	struct resplit *resplit; /* borrowed, used by this loader only; NULL: the shard's pieces */
	struct resplit *source_resplit; /* the same, for the source; NULL: as the target */
	/* shares of tags, borrowed in this call; NULL: each pair once an epoch */
	const struct tag_mix_options *tags;
};

/* Borrows the shard, which must outlive the loader. NULL: failure. */
struct loader *loader_new(const struct shard *s, const struct loader_options *o, struct err *e);

/*
 * Fill b (allocated for batch_tokens) with the next micro-batch of this rank; there is always a
 * next epoch. With dropout b may get other memory of the same size.
 */
int loader_next(struct loader *l, struct batch *b, struct err *e);

/* Number of the next micro-batch in the global sequence; a checkpoint saves it. */
uint64_t loader_position(const struct loader *l);

/*
 * Continue with micro-batch `position` of the global sequence, or the next one of this rank.
 * Epochs differ in their number of micro-batches, so earlier epochs that this loader has not seen
 * are planned: about 0.2 s for 4.5 million pairs.
 */
int loader_seek(struct loader *l, uint64_t position, struct err *e);

/* Epochs done: 2.25 is a quarter of the third. */
double loader_epoch(const struct loader *l);

/* Which pairs an epoch has; NULL: each pair once. Borrowed. */
const struct tag_mix *loader_tag_mix(const struct loader *l);

/* The most sentences that a micro-batch can have: batch_tokens, or all pairs. */
int32_t loader_max_sentences(const struct loader *l);

void loader_free(struct loader *l);

#endif
