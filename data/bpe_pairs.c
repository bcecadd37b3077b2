/* bpe_pairs.c - see bpe_pairs.h */
#include "data/bpe_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

#define BLOCK_ENTRIES ((size_t)1 << 18)

struct bpe_block {
	struct bpe_block *next;
	uint32_t entries[];	/* given out from the end down */
};

/* ---- finding a pair ---- */

static size_t slot_of(const struct bpe_pairs *p, uint64_t key)
{
	size_t mask = p->n_slots - 1;
	uint64_t hash = key * 0x9E3779B97F4A7C15u;
	size_t at = (size_t)(hash ^ hash >> 32) & mask;

	while (p->slots[at].pair && p->slots[at].key != key)
		at = (at + 1) & mask;
	return at;
}

static uint64_t key_of(int32_t left, int32_t right)
{
	return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static int grow_slots(struct bpe_pairs *p, struct err *e)
{
	size_t n = p->n_slots ? p->n_slots * 2 : 1024;
	struct bpe_slot *slots = mem_alloc(n, sizeof(*slots), e);

	if (!slots)
		return e->code;
	free(p->slots);
	p->slots = slots;
	p->n_slots = n;
	for (size_t i = 0; i < p->n; i++) {
		uint64_t key = key_of(p->all[i].left, p->all[i].right);

		p->slots[slot_of(p, key)] = (struct bpe_slot){ key, (uint32_t)i + 1 };
	}
	return 0;
}

int bpe_pairs_get(struct bpe_pairs *p, int32_t left, int32_t right, uint32_t *pair, struct err *e)
{
	uint64_t key = key_of(left, right);
	size_t at;

	if (p->n * 2 >= p->n_slots && grow_slots(p, e))
		return e->code;
	at = slot_of(p, key);
	if (!p->slots[at].pair) {
		if (p->n >= UINT32_MAX - 1)
			return err_set(e, ERR_NOMEM, "too many distinct pairs of symbols");
		if (mem_grow(&p->all, &p->cap_all, p->n + 1, sizeof(*p->all), e))
			return e->code;
		p->all[p->n++] = (struct bpe_pair){ .left = left, .right = right };
		p->slots[at] = (struct bpe_slot){ key, (uint32_t)p->n };
	}
	*pair = p->slots[at].pair - 1;
	return 0;
}

/* ---- counting ---- */

/* Room for one more place. The old list stays behind in the arena, which goes with the learning. */
static int grow_places(struct bpe_pairs *p, struct bpe_pair *q, struct err *e)
{
	size_t cap = q->cap_places ? (size_t)q->cap_places * 2 : 2, size = MAX(BLOCK_ENTRIES, cap);
	uint32_t *places;

	if (cap > UINT32_MAX)
		return err_set(e, ERR_NOMEM, "too many places of one pair of symbols");
	if (p->block_left < cap) {
		struct bpe_block *block = malloc(sizeof(*block) + size * sizeof(*block->entries));

		if (!block)
			return err_set(e, ERR_NOMEM, "out of memory for the places of pairs");
		block->next = p->blocks;
		p->blocks = block;
		p->block_left = size;
	}
	p->block_left -= cap;
	places = p->blocks->entries + p->block_left;
	if (q->n_places)
		memcpy(places, q->places, q->n_places * sizeof(*places));
	q->places = places;
	q->cap_places = (uint32_t)cap;
	return 0;
}

int bpe_pairs_add(struct bpe_pairs *p, int32_t left, int32_t right, int64_t times, uint32_t word,
		  struct err *e)
{
	struct bpe_pair *q;
	uint32_t pair;

	if (bpe_pairs_get(p, left, right, &pair, e))
		return e->code;
	q = &p->all[pair];
	if (q->n_places == q->cap_places && grow_places(p, q, e))
		return e->code;
	q->places[q->n_places++] = word << 1 | (times < 0);
	q->count += times;
	if (!q->is_live) {
		if (mem_grow(&p->live, &p->cap_live, p->n_live + 1, sizeof(*p->live), e))
			return e->code;
		p->live[p->n_live++] = pair;
		q->is_live = true;
	}
	if (times > 0 && !q->is_raised) {
		if (mem_grow(&p->raised, &p->cap_raised, p->n_raised + 1, sizeof(*p->raised), e))
			return e->code;
		p->raised[p->n_raised++] = pair;
		q->is_raised = true;
	}
	return 0;
}

/* ---- the heap ---- */

static int compare_symbols(const struct intern *t, int32_t a, int32_t b)
{
	size_t na, nb;
	const char *ta = intern_text(t, a, &na), *tb = intern_text(t, b, &nb);
	int d = a == b ? 0 : memcmp(ta, tb, MIN(na, nb)); /* UTF-8 sorts as its code points do */

	return d ? d : (na > nb) - (na < nb);
}

static bool is_above(const struct bpe_pairs *p, struct bpe_ranked x, struct bpe_ranked y)
{
	const struct bpe_pair *a = &p->all[x.pair], *b = &p->all[y.pair];
	int d;

	if (x.count != y.count)
		return x.count > y.count;
	d = compare_symbols(p->symbols, a->left, b->left);
	return d ? d > 0 : compare_symbols(p->symbols, a->right, b->right) > 0;
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

static int push(struct bpe_pairs *p, uint32_t pair, struct err *e)
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
	return q->is_live && (double)q->count >= p->threshold;
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
		/* Out of date. What rose has been pushed since; what fell goes down. */
		if (is_reaching(p, q) && q->count < top->count)
			top->count = q->count;
		else
			*top = p->heap[--p->n_heap];
		sift_down(p, 0);
	}
	return false;
}

static int rebuild_heap(struct bpe_pairs *p, struct err *e)
{
	p->n_heap = 0;
	for (size_t i = 0; i < p->n_live; i++)
		if (is_reaching(p, &p->all[p->live[i]]) && push(p, p->live[i], e))
			return e->code;
	return 0;
}

int bpe_pairs_settle(struct bpe_pairs *p, struct err *e)
{
	for (size_t i = 0; i < p->n_raised; i++) {
		struct bpe_pair *q = &p->all[p->raised[i]];

		q->is_raised = false;
		if (is_reaching(p, q) && push(p, p->raised[i], e))
			return e->code;
	}
	p->n_raised = 0;
	return 0;
}

/* ---- the two tables ---- */

/* As prune_stats() treats a pair: negative counts are added, others replace what was there. */
static void prune_one(struct bpe_pair *q)
{
	if (q->count >= 0)
		q->full = q->count;
	else if (q->full > INT64_MIN / 4)
		q->full += q->count;	/* doubles at each restart: far down, it may as well stay */
	q->count = 0;
	q->is_live = false;
}

void bpe_pairs_prune(struct bpe_pairs *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_live; i++) {
		struct bpe_pair *q = &p->all[p->live[i]];

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
		p->all[i].is_raised = false;
		most = MAX(most, p->all[i].count);
	}
	p->n_raised = 0;
	p->threshold = (double)most / 10;
	return rebuild_heap(p, e);
}

int bpe_pairs_restart(struct bpe_pairs *p, int64_t step, struct err *e)
{
	int64_t most = INT64_MIN;

	bpe_pairs_prune(p);
	for (size_t i = 0; i < p->n; i++)
		most = MAX(most, p->all[i].full);
	p->threshold = (double)most * (double)step / ((double)step + 10000.0);
	p->n_live = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct bpe_pair *q = &p->all[i];

		/* In both tables now; the rare ones are pruned at once. */
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
	free(p->slots);
	free(p->heap);
	free(p->live);
	free(p->raised);
	*p = (struct bpe_pairs){ 0 };
}
