/*
 * bpe_pairs.h - the statistics of symbol pairs while BPE merges are learned: how often, where,
 * and which is the best one.
 *
 * Exact counts: a heap holds the pairs that reach a threshold; when it is
 * empty, the threshold is lowered and the heap made again.
 *
 * As subword-nmt: that keeps two tables: the one it looks for the best pair in, from
 * which rare pairs are pruned, and the full one, into which they are pruned
 * and from which it starts again when the best pair falls below the threshold.
 * Where a string can be built by several merges the counts drift, and then
 * pruning decides what is counted; so both tables are kept here as well, with
 * the same arithmetic, and only the search for the maximum is another one (the
 * heap of the pairs above the threshold instead of a scan of all).
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_PAIRS_H
#define WERKBANK_DATA_SUBWORD_BPE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/hash_index.h"

struct bpe_pair {
	int32_t left, right; /* symbols */
	int64_t count;	     /* as subword-nmt: in the pruned table */
	int64_t full;	     /* as subword-nmt: in the full table */
	uint32_t *places;    /* in the arena: where it was counted; some twice, some no more */
	uint32_t n_places, cap_places;
	bool is_live;	  /* in the pruned table at all? */
	bool has_risen;	  /* in pairs.raised */
	bool is_excluded; /* never to be found */
};

struct bpe_pairs {
	struct bpe_pair *all; /* owned: (n) */
	size_t n, cap_all;
	double threshold; /* of the heap, and of pruning */
	/* Set by the owner before the first call. */
	bool is_exact;
	bool (*is_before)(const void *argument, const struct bpe_pair *a, const struct bpe_pair *b);
	const void *argument;
	/* private */
	struct hash_index index; /* finds the number of a pair of symbols */
	struct bpe_ranked {
		int64_t count;
		uint32_t pair;
	} * heap; /* owned */
	size_t n_heap, cap_heap;
	uint32_t *live; /* owned: pairs of the pruned table */
	size_t n_live, cap_live;
	uint32_t *risen; /* owned: pairs whose count rose since the last bpe_pairs_update_heap() */
	size_t n_risen, cap_risen;
	struct bpe_block *blocks; /* owned: the arena of places */
	size_t block_left;	  /* entries free in the first block */
};

/* The pair of two symbols, made with count 0 and not live when new; its number through *pair. */
int bpe_pairs_get(struct bpe_pairs *p, int32_t left, int32_t right, uint32_t *pair, struct err *e);

/* Count times more (or fewer, or 0: it was touched) of a pair. */
int bpe_pairs_count(struct bpe_pairs *p, uint32_t pair, int64_t times, struct err *e);

/* Room for n more places at the end of those of a pair, at *places for the caller to fill. */
int bpe_pairs_add_places(struct bpe_pairs *p, uint32_t pair, uint32_t n, uint32_t **places,
			 struct err *e);

/* All pairs have been counted once: from here on the best one can be asked for. */
int bpe_pairs_start(struct bpe_pairs *p, struct err *e);

/*
 * The most frequent pair that reaches the threshold (of several the one before the others)
 * into *pair; false when there is none.
 */
bool bpe_pairs_best(struct bpe_pairs *p, uint32_t *pair);

/* Start again at merge number step with a new threshold, as subword-nmt from the full table. */
int bpe_pairs_restart(struct bpe_pairs *p, int64_t step, struct err *e);

/* After a merge: let the search see the counts that rose. */
int bpe_pairs_update_heap(struct bpe_pairs *p, struct err *e);

/* As subword-nmt: move the pairs below the threshold to the full table. */
void bpe_pairs_prune(struct bpe_pairs *p);

void bpe_pairs_free(struct bpe_pairs *p);

#endif
