/* hash_index.c - see hash_index.h */
#include "share/base/hash_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define HASH_SET_FIRST 1024 /* slots of the smallest set */

static bool index_slot_is_free(const void *slots, size_t at, const void *key)
{
	(void)key;
	return !((const uint64_t *)slots)[at];
}

int hash_index_grow(struct hash_index *h, size_t first, struct err *e)
{
	size_t n = h->n_slots ? h->n_slots * 2 : first;
	uint64_t *slots = mem_alloc(n, sizeof(*slots), e);

	assert(n && !(n & (n - 1)));
	if (!slots)
		return e->code;
	/* The entries are distinct: no comparison is needed. */
	for (size_t i = 0; i < h->n_slots; i++)
		if (h->slots[i])
			slots[hash_probe(n, h->slots[i], index_slot_is_free, slots, NULL)] =
				h->slots[i];
	free(h->slots);
	h->slots = slots;
	h->n_slots = n;
	return 0;
}

void hash_index_clear(struct hash_index *h)
{
	if (h->n_slots)
		memset(h->slots, 0, h->n_slots * sizeof(*h->slots));
}

void hash_index_free(struct hash_index *h)
{
	free(h->slots);
	*h = (struct hash_index){ 0 };
}

/* The slot of the key or a free one. */
static size_t hash_set_slot(const struct hash_set *s, uint64_t key)
{
	/* The high bits of a product spread the keys over any number of slots. */
	uint64_t spread = key * 0x9E3779B97F4A7C15u;
	size_t at = (size_t)((unsigned __int128)spread * s->n_slots >> 64);

	while (s->slots[at] && s->slots[at] != key)
		at = at + 1 == s->n_slots ? 0 : at + 1;
	return at;
}

int hash_set_reserve(struct hash_set *s, size_t n, struct err *e)
{
	struct hash_set bigger = { .n = s->n, .n_slots = MAX(2 * n, 2 * s->n_slots) };

	if (s->n_slots && 2 * n <= s->n_slots)
		return 0;
	bigger.n_slots = MAX(bigger.n_slots, HASH_SET_FIRST);
	bigger.slots = mem_alloc(bigger.n_slots, sizeof(*bigger.slots), e);
	if (!bigger.slots)
		return e->code;
	for (size_t i = 0; i < s->n_slots; i++)
		if (s->slots[i])
			bigger.slots[hash_set_slot(&bigger, s->slots[i])] = s->slots[i];
	assert(2 * n <= bigger.n_slots); /* at most half full: a search ends at a free slot */
	free(s->slots);
	*s = bigger;
	return 0;
}

bool hash_set_has(const struct hash_set *s, uint64_t key)
{
	assert(s->n_slots);
	return s->slots[hash_set_slot(s, key + !key)] != 0;
}

bool hash_set_add(struct hash_set *s, uint64_t key)
{
	size_t at;

	assert(2 * s->n < s->n_slots);
	key += !key;
	at = hash_set_slot(s, key);
	if (s->slots[at])
		return false;
	s->slots[at] = key;
	s->n++;
	return true;
}

void hash_set_free(struct hash_set *s)
{
	free(s->slots);
	*s = (struct hash_set){ 0 };
}
