/* intern.c - see intern.h */
#include "data/intern.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/hash.h"
#include "share/base/mem.h"

#define HASH_HALF 0xFFFFFFFF00000000u

/* The slot where the string is, or the free one where it belongs. n_slots > 0. */
static size_t find_slot(const struct intern *t, const char *text, size_t n, uint64_t hash)
{
	size_t mask = t->n_slots - 1, at = (size_t)hash & mask;

	for (uint64_t s; (s = t->slots[at]) != 0; at = (at + 1) & mask) {
		const struct intern_entry *entry;

		if ((s ^ hash) & HASH_HALF)
			continue;
		entry = &t->entries[(uint32_t)s - 1];
		if (entry->len == n && !memcmp(t->bytes + entry->start, text, n))
			break;
	}
	return at;
}

int32_t intern_find(const struct intern *t, const char *text, size_t n)
{
	if (!t->n)
		return -1;
	return (int32_t)(uint32_t)t->slots[find_slot(t, text, n, hash_bytes(text, n))] - 1;
}

static int grow_slots(struct intern *t, struct err *e)
{
	size_t n = t->n_slots ? t->n_slots * 2 : 64;
	uint64_t *slots = mem_alloc(n, sizeof(*slots), e);

	if (!slots)
		return e->code;
	for (int32_t i = 0; i < t->n; i++) {
		uint64_t hash = hash_bytes(t->bytes + t->entries[i].start, t->entries[i].len);
		size_t at = (size_t)hash & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (hash & HASH_HALF) | ((uint32_t)i + 1);
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

int intern_add(struct intern *t, const char *text, size_t n, int32_t *index, struct err *e)
{
	uint64_t hash = hash_bytes(text, n);
	size_t at;

	/* Grown while half full, so that a free slot always ends a search. */
	if ((size_t)t->n * 2 >= t->n_slots && grow_slots(t, e))
		return e->code;
	at = find_slot(t, text, n, hash);
	if (t->slots[at]) {
		*index = (int32_t)(uint32_t)t->slots[at] - 1;
		return 0;
	}
	if (t->n >= INT32_MAX - 1 || n > UINT32_MAX)
		return err_set(e, ERR_NOMEM,
			       "too many distinct words (%d), or one too long (%zu bytes)", t->n,
			       n);
	if (mem_grow(&t->entries, &t->cap_entries, (size_t)t->n + 1, sizeof(*t->entries), e) ||
	    mem_grow(&t->bytes, &t->cap_bytes, t->n_bytes + n + 1, 1, e))
		return e->code;
	if (n)
		memcpy(t->bytes + t->n_bytes, text, n);
	t->entries[t->n] = (struct intern_entry){ .start = t->n_bytes, .len = (uint32_t)n };
	t->n_bytes += n;
	*index = t->n++;
	t->slots[at] = (hash & HASH_HALF) | (uint32_t)t->n;
	return 0;
}

size_t intern_memory(const struct intern *t)
{
	return t->cap_bytes + t->cap_entries * sizeof(*t->entries) + t->n_slots * sizeof(*t->slots);
}

void intern_clear(struct intern *t)
{
	if (t->n)
		memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
	t->n = 0;
	t->n_bytes = 0;
}

void intern_free(struct intern *t)
{
	free(t->bytes);
	free(t->entries);
	free(t->slots);
	*t = (struct intern){ 0 };
}
