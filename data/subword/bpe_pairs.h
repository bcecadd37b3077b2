/*
 * bpe_pairs.h - statistics of symbol pairs while BPE merges are learned: counts, places, the best
 * pair.
 *
 * Exact counts: a heap holds the pairs that reach a threshold. When the heap is empty, the
 * threshold is lowered and the heap is built again.
 *
 * As in subword-nmt: that program keeps two tables. It searches the best pair in the pruned
 * table, and moves rare pairs from there to the full table. When the best pair falls below the
 * threshold, it starts again from the full table. Where several merges build the same string the
 * counts drift, and then the moment of pruning decides which counts are used. So both tables are
 * kept here too, with the same arithmetic. Only the search differs: a heap of the pairs above the
 * threshold instead of a scan.
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
	int64_t count;	     /* exact; as in subword-nmt: in the pruned table */
	int64_t full;	     /* as in subword-nmt: in the full table */
	uint32_t *places;    /* in the arena: words where it was counted; some doubled or stale */
	uint32_t n_places, cap_places;
	bool is_live;	  /* is in the pruned table */
	bool has_risen;	  /* is in bpe_pairs.risen */
	bool is_excluded; /* bpe_pairs_best() never returns it */
};

struct bpe_pairs {
	struct bpe_pair *all; /* owned: (n) */
	size_t n, cap_all;
	double threshold; /* pairs below it are not in the heap, and are pruned */
	/* The owner sets these before the first call. */
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

/* The number of the pair of two symbols. A new pair has count 0 and is not live. */
int bpe_pairs_get(struct bpe_pairs *p, int32_t left, int32_t right, uint32_t *pair, struct err *e);

/* Add to the count of a pair. times < 0: subtract; 0: put it into the pruned table. */
int bpe_pairs_count(struct bpe_pairs *p, uint32_t pair, int64_t times, struct err *e);

/* Append n places to those of a pair. The caller writes them to *places. */
int bpe_pairs_add_places(struct bpe_pairs *p, uint32_t pair, uint32_t n, uint32_t **places,
			 struct err *e);

/* After the first count of all pairs, before the first bpe_pairs_best(). */
int bpe_pairs_start(struct bpe_pairs *p, struct err *e);

/*
 * *pair: the most frequent pair that reaches the threshold, among equals the first by is_before().
 * false: no pair reaches it.
 */
bool bpe_pairs_best(struct bpe_pairs *p, uint32_t *pair);

/* Search again at merge number step with a new threshold; as in subword-nmt from the full table. */
int bpe_pairs_restart(struct bpe_pairs *p, int64_t step, struct err *e);

/* After a merge: put the pairs whose counts rose into the heap. */
int bpe_pairs_update_heap(struct bpe_pairs *p, struct err *e);

/* As in subword-nmt: move the pairs below the threshold to the full table. */
void bpe_pairs_prune(struct bpe_pairs *p);

void bpe_pairs_free(struct bpe_pairs *p);

#endif
