/*
 * bpe_pairs.c - counts of symbol pairs, and a lazy heap that finds the best pair: see bpe_pairs.h
 *
 * A merge changes the counts of hundreds of pairs. The heap is not repaired for each of them:
 *	- a count that falls leaves its heap entry too high,
 *	- a count that rises is pushed as a second entry, once after the merge
 *	  (bpe_pairs_update_heap()).
 * Invariant of bpe_pairs_best(): for each pair that reaches the threshold the heap holds an entry
 * whose count is at least that of the pair. So when the top entry agrees with its pair, the pair
 * is the best one. Otherwise the top is stale: an entry that is too high gets the true count and
 * sinks; any other is removed.
 *
 * Example. Heap (a b) 9, (b c) 8; a merge lowers (a b) to 5 and raises (c d) to 8. The push adds
 * (c d) 8. bpe_pairs_best() sees (a b) 9, corrects it to 5 and sinks it; then (b c) 8 and (c d) 8
 * compete by is_before().
 *
 * Cost: O(log n) for each push and each correction. An entry is corrected only after its pair has
 * changed, so corrections are no more than changes. The threshold keeps rare pairs, nearly all of
 * the pairs, out of the heap.
 */
#include "data/subword/bpe_pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

#define BLOCK_ENTRIES ((size_t)1 << 18)

struct bpe_block {
	struct bpe_block *next;
	uint32_t entries[]; /* handed out from the end downwards */
};

/* ---- finding a pair ---- */

static bool pair_has_symbols(const void *all, uint32_t pair, const void *key)
{
	const struct bpe_pair *q = (const struct bpe_pair *)all + pair;
	const int32_t *symbols = key;

	return q->left == symbols[0] && q->right == symbols[1];
}

int bpe_pairs_get(struct bpe_pairs *p, int32_t left, int32_t right, uint32_t *pair, struct err *e)
{
	uint64_t hash = hash_integer((uint64_t)(uint32_t)left << 32 | (uint32_t)right), *slot;

	if (hash_index_reserve(&p->index, p->n, 1024, e))
		return e->code;
	slot = hash_index_slot(&p->index, hash, pair_has_symbols, p->all,
			       (int32_t[]){ left, right });
	if (!*slot) {
		if (p->n >= HASH_INDEX_MAX)
			return err_set(e, ERR_NOMEM, "more than %u distinct pairs of symbols",
				       HASH_INDEX_MAX);
		if (mem_grow(&p->all, &p->cap_all, p->n + 1, sizeof(*p->all), e))
			return e->code;
		hash_slot_fill(slot, hash, (uint32_t)p->n);
		p->all[p->n++] = (struct bpe_pair){ .left = left, .right = right };
	}
	*pair = (uint32_t)hash_slot_entry(slot);
	return 0;
}

/* ---- counting ---- */

int bpe_pairs_count(struct bpe_pairs *p, uint32_t pair, int64_t times, struct err *e)
{
	struct bpe_pair *q = &p->all[pair];

	assert(pair < p->n);
	q->count += times;
	if (!q->is_live && !p->is_exact) {
		if (mem_grow(&p->live, &p->cap_live, p->n_live + 1, sizeof(*p->live), e))
			return e->code;
		p->live[p->n_live++] = pair;
		q->is_live = true;
	}
	if (times > 0 && !q->has_risen) {
		if (mem_grow(&p->risen, &p->cap_risen, p->n_risen + 1, sizeof(*p->risen), e))
			return e->code;
		p->risen[p->n_risen++] = pair;
		q->has_risen = true;
	}
	return 0;
}

/*
 * n entries of the arena. A list that moves leaves its old entries unused until bpe_pairs_free().
 */
static uint32_t *new_places(struct bpe_pairs *p, size_t n, struct err *e)
{
	if (p->block_left < n) {
		size_t size = MAX(BLOCK_ENTRIES, n);
		struct bpe_block *block = malloc(sizeof(*block) + size * sizeof(*block->entries));

		if (!block) {
			err_set(e, ERR_NOMEM, "out of memory: %zu bytes for the places of pairs",
				size * sizeof(*block->entries));
			return NULL;
		}
		block->next = p->blocks;
		p->blocks = block;
		p->block_left = size;
	}
	p->block_left -= n;
	return p->blocks->entries + p->block_left;
}

int bpe_pairs_add_places(struct bpe_pairs *p, uint32_t pair, uint32_t n, uint32_t **places,
			 struct err *e)
{
	struct bpe_pair *q = &p->all[pair];
	size_t need = (size_t)q->n_places + n, cap;
	uint32_t *all;

	assert(q->n_places <= q->cap_places);
	if (need > UINT32_MAX / 2)
		return err_set(e, ERR_NOMEM, "a pair of symbols has more than %u places",
			       UINT32_MAX / 2);
	if (need > q->cap_places) {
		/* Most lists are written once and never grow. */
		cap = q->n_places ? MAX(need, 2 * (size_t)q->cap_places) : need;
		all = new_places(p, cap, e);
		if (!all)
			return e->code;
		if (q->n_places)
			memcpy(all, q->places, q->n_places * sizeof(*all));
		q->places = all;
		q->cap_places = (uint32_t)cap;
	}
	*places = q->places + q->n_places;
	q->n_places = (uint32_t)need;
	return 0;
}

/* ---- the heap ---- */

static bool is_above(const struct bpe_pairs *p, struct bpe_ranked x, struct bpe_ranked y)
{
	if (x.count != y.count)
		return x.count > y.count;
	return p->is_before(p->argument, &p->all[x.pair], &p->all[y.pair]);
}

static void sift_down(struct bpe_pairs *p, size_t i)
{
	struct bpe_ranked moving = p->heap[i];

	for (size_t child; (child = 2 * i + 1) < p->n_heap; i = child) {
		if (child + 1 < p->n_heap && is_above(p, p->heap[child + 1], p->heap[child]))
			child++;
		if (!is_above(p, p->heap[child], moving))
			break;
		p->heap[i] = p->heap[child];
	}
	p->heap[i] = moving;
}

static int bpe_pairs_push(struct bpe_pairs *p, uint32_t pair, struct err *e)
{
	struct bpe_ranked new = { p->all[pair].count, pair };
	size_t i = p->n_heap;

	if (mem_grow(&p->heap, &p->cap_heap, p->n_heap + 1, sizeof(*p->heap), e))
		return e->code;
	p->n_heap++;
	for (size_t up; i > 0; i = up) {
		up = (i - 1) / 2;
		if (!is_above(p, new, p->heap[up]))
			break;
		p->heap[i] = p->heap[up];
	}
	p->heap[i] = new;
	return 0;
}

static bool is_reaching(const struct bpe_pairs *p, const struct bpe_pair *q)
{
	return (q->is_live || p->is_exact) && !q->is_excluded && (double)q->count >= p->threshold;
}

bool bpe_pairs_best(struct bpe_pairs *p, uint32_t *pair)
{
	while (p->n_heap) {
		struct bpe_ranked *top = &p->heap[0];
		const struct bpe_pair *q = &p->all[top->pair];

		if (is_reaching(p, q) && q->count == top->count) {
			*pair = top->pair;
			return true;
		}
		/* A stale entry: see the head of this file. */
		if (is_reaching(p, q) && q->count < top->count)
			top->count = q->count;
		else
			*top = p->heap[--p->n_heap];
		sift_down(p, 0);
	}
	return false;
}

int bpe_pairs_update_heap(struct bpe_pairs *p, struct err *e)
{
	for (size_t i = 0; i < p->n_risen; i++) {
		struct bpe_pair *q = &p->all[p->risen[i]];

		q->has_risen = false;
		if (is_reaching(p, q) && bpe_pairs_push(p, p->risen[i], e))
			return e->code;
	}
	p->n_risen = 0;
	return 0;
}

/* ---- a new search: exact counts ---- */

/* Build the heap again, of all pairs with at least half the count of the best pair. */
static int lower_heap_threshold(struct bpe_pairs *p, struct err *e)
{
	int64_t most = 0;

	p->n_heap = 0;
	for (size_t i = 0; i < p->n; i++)
		if (!p->all[i].is_excluded)
			most = MAX(most, p->all[i].count);
	p->threshold = most > 1 ? (double)most / 2 : 1;
	for (size_t i = 0; i < p->n; i++)
		if (is_reaching(p, &p->all[i]) && bpe_pairs_push(p, (uint32_t)i, e))
			return e->code;
	return 0;
}

/* ---- a new search: the two tables of subword-nmt ---- */

static int rebuild_heap(struct bpe_pairs *p, struct err *e)
{
	p->n_heap = 0;
	for (size_t i = 0; i < p->n_live; i++)
		if (is_reaching(p, &p->all[p->live[i]]) && bpe_pairs_push(p, p->live[i], e))
			return e->code;
	return 0;
}

/* As prune_stats() of subword-nmt: a negative count is added, any other replaces the full count. */
static void prune_one(struct bpe_pair *q)
{
	if (q->count >= 0)
		q->full = q->count;
	else if (q->full > INT64_MIN / 4)
		q->full += q->count; /* doubles at each restart: the bound prevents an overflow */
	q->count = 0;
	q->is_live = false;
}

void bpe_pairs_prune(struct bpe_pairs *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_live; i++) {
		struct bpe_pair *q = &p->all[p->live[i]];

		assert(q->is_live);
		if ((double)q->count < p->threshold)
			prune_one(q);
		else
			p->live[kept++] = p->live[i];
	}
	p->n_live = kept;
}

int bpe_pairs_start(struct bpe_pairs *p, struct err *e)
{
	int64_t most = 0;

	for (size_t i = 0; i < p->n; i++) {
		p->all[i].full = p->all[i].count;
		p->all[i].has_risen = false;
		most = MAX(most, p->all[i].count);
	}
	p->n_risen = 0;
	p->threshold = (double)most / 10;
	return p->is_exact ? lower_heap_threshold(p, e) : rebuild_heap(p, e);
}

int bpe_pairs_restart(struct bpe_pairs *p, int64_t step, struct err *e)
{
	int64_t most = INT64_MIN;

	if (p->is_exact)
		return lower_heap_threshold(p, e);
	bpe_pairs_prune(p);
	for (size_t i = 0; i < p->n; i++)
		most = MAX(most, p->all[i].full);
	p->threshold = (double)most * (double)step / ((double)step + 10000.0);
	p->n_live = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct bpe_pair *q = &p->all[i];

		/* Each pair is in both tables now; rare pairs are pruned at once. */
		q->count = q->full;
		q->is_live = true;
		if ((double)q->count < p->threshold)
			prune_one(q);
		else if (mem_grow(&p->live, &p->cap_live, p->n_live + 1, sizeof(*p->live), e))
			return e->code;
		else
			p->live[p->n_live++] = (uint32_t)i;
	}
	return rebuild_heap(p, e);
}

void bpe_pairs_free(struct bpe_pairs *p)
{
	for (struct bpe_block *next; p->blocks; p->blocks = next) {
		next = p->blocks->next;
		free(p->blocks);
	}
	free(p->all);
	hash_index_free(&p->index);
	free(p->heap);
	free(p->live);
	free(p->risen);
	*p = (struct bpe_pairs){ 0 };
}
