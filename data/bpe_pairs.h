/*
 * bpe_pairs.h - the statistics of symbol pairs while BPE merges are learned.
 *
 * subword-nmt keeps two tables: the one it looks for the best pair in, from
 * which rare pairs are pruned, and the full one, into which they are pruned
 * and from which it starts again when the best pair falls below the threshold.
 * Where a string can be built by several merges the counts drift, and then
 * pruning decides what is counted; so both tables are kept here as well, with
 * the same arithmetic, and only the search for the maximum is another one (a
 * heap of the pairs above the threshold instead of a scan of all).
 */
#ifndef WERKBANK_DATA_BPE_PAIRS_H
#define WERKBANK_DATA_BPE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/intern.h"
#include "share/base/err.h"

struct bpe_pair {
	int32_t  left, right;	/* symbols */
	int64_t  count;		/* in the pruned table */
	int64_t  full;		/* in the full table */
	bool     is_live;	/* in the pruned table at all? */
	bool     is_raised;	/* in pairs.raised */
	uint32_t n_places, cap_places;
	/* in the arena: word * 2 to count one more place there, word * 2 + 1 one less */
	uint32_t *places;
};

struct bpe_pairs {
	const struct intern *symbols;	/* borrowed: their strings decide ties */
	struct bpe_pair *all;		/* owned: (n) */
	size_t n, cap_all;
	double threshold;		/* of pruning */
	/* private */
	struct bpe_slot {
		uint64_t key;
		uint32_t pair;
	} * slots; /* owned: pair + 1; 0: free */
	size_t n_slots;
	struct bpe_ranked { int64_t count; uint32_t pair; } *heap;	/* owned */
	size_t n_heap, cap_heap;
	uint32_t *live;			/* owned: pairs of the pruned table */
	size_t n_live, cap_live;
	uint32_t *raised; /* owned: pairs whose count rose since the last bpe_pairs_settle() */
	size_t n_raised, cap_raised;
	struct bpe_block *blocks;	/* owned: the arena of places */
	size_t block_left;		/* entries free in the first block */
};

/* The pair of two symbols, made with count 0 and not live when new; its number through *pair. */
int bpe_pairs_get(struct bpe_pairs *p, int32_t left, int32_t right, uint32_t *pair, struct err *e);

/* Count times more (or fewer) of a pair, at one more (or one fewer) place in word. */
int bpe_pairs_add(struct bpe_pairs *p, int32_t left, int32_t right, int64_t times, uint32_t word,
		  struct err *e);

/* All pairs have been counted once: copy them to the full table, set the threshold. */
int bpe_pairs_start(struct bpe_pairs *p, struct err *e);

/*
 * The most frequent pair of the pruned table (ties: the largest pair of
 * strings, by code points) into *pair; false when none reaches the threshold.
 */
bool bpe_pairs_best(struct bpe_pairs *p, uint32_t *pair);

/* Start again from the full table at merge number step, with a new threshold. */
int bpe_pairs_restart(struct bpe_pairs *p, int64_t step, struct err *e);

/* After a merge: let the search see the counts that rose. */
int bpe_pairs_settle(struct bpe_pairs *p, struct err *e);

/* Move the pairs below the threshold to the full table. */
void bpe_pairs_prune(struct bpe_pairs *p);

void bpe_pairs_free(struct bpe_pairs *p);

#endif
