/* intern.c - a string pool with a hash index: see intern.h */
#include "data/words/intern.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

/* ---- short strings, eight bytes at a time ---- */

static inline uint64_t intern_load8(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t intern_load4(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The two halves of the 128-bit product, folded (as in wyhash, Wang Yi 2019). */
static inline uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t intern_hash(const char *p, size_t n)
{
	uint64_t a, b, h = n ^ 0x2D358DCCAA6C78A5u;

	for (; n > 16; p += 8, n -= 8)
		h = multiply_fold(intern_load8(p) ^ h, 0x8BB84B93962EACC9u);
	if (n >= 8) {
		a = intern_load8(p);
		b = intern_load8(p + n - 8);
	} else if (n >= 4) {
		a = intern_load4(p);
		b = intern_load4(p + n - 4);
	} else {
		const unsigned char *c = (const unsigned char *)p;

		a = n ? (uint64_t)c[0] << 16 | (uint64_t)c[n / 2] << 8 | c[n - 1] : 0;
		b = 0;
	}
	return multiply_fold(a ^ h, b ^ 0x4B33A62ED433D4A3u);
}

static inline bool is_same_string(const char *a, const char *b, size_t n)
{
	if (n > 16)
		return !memcmp(a, b, n);
	if (n >= 8)
		return intern_load8(a) == intern_load8(b) &&
		       intern_load8(a + n - 8) == intern_load8(b + n - 8);
	if (n >= 4)
		return intern_load4(a) == intern_load4(b) &&
		       intern_load4(a + n - 4) == intern_load4(b + n - 4);
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* ---- strings to numbers ---- */

struct intern_key {
	const char *text;
	size_t n;
};

static bool intern_entry_has(const void *table, uint32_t i, const void *key)
{
	const struct intern *t = table;
	const struct intern_key *k = key;

	return t->entries[i].len == k->n &&
	       is_same_string(t->bytes + t->entries[i].start, k->text, k->n);
}

int32_t intern_find(const struct intern *t, const char *text, size_t n)
{
	struct intern_key key = { text, n };

	if (!t->n)
		return -1;
	return (int32_t)hash_index_find(&t->index, intern_hash(text, n), intern_entry_has, t, &key);
}

int intern_add(struct intern *t, const char *text, size_t n, int32_t *index, struct err *e)
{
	struct intern_key key = { text, n };
	uint64_t hash = intern_hash(text, n), *slot;

	if (hash_index_reserve(&t->index, (size_t)t->n, 64, e))
		return e->code;
	slot = hash_index_slot(&t->index, hash, intern_entry_has, t, &key);
	if (*slot) {
		*index = (int32_t)hash_slot_entry(slot);
		return 0;
	}
	if (t->n >= INT32_MAX - 1 || n > UINT32_MAX)
		return err_set(
			e, ERR_NOMEM,
			"cannot store another word: %d distinct words, this one of %zu bytes", t->n,
			n);
	if (mem_grow(&t->entries, &t->cap_entries, (size_t)t->n + 1, sizeof(*t->entries), e) ||
	    mem_grow(&t->bytes, &t->cap_bytes, t->n_bytes + n + 1, 1, e))
		return e->code;
	if (n)
		memcpy(t->bytes + t->n_bytes, text, n);
	t->entries[t->n] = (struct intern_entry){ .start = t->n_bytes, .len = (uint32_t)n };
	t->n_bytes += n;
	assert((size_t)t->n < t->cap_entries && t->n_bytes <= t->cap_bytes);
	hash_slot_fill(slot, hash, (uint32_t)t->n);
	*index = t->n++;
	return 0;
}

size_t intern_memory(const struct intern *t)
{
	return t->cap_bytes + t->cap_entries * sizeof(*t->entries) +
	       t->index.n_slots * sizeof(*t->index.slots);
}

void intern_clear(struct intern *t)
{
	if (t->n)
		hash_index_clear(&t->index);
	t->n = 0;
	t->n_bytes = 0;
}

void intern_free(struct intern *t)
{
	free(t->bytes);
	free(t->entries);
	hash_index_free(&t->index);
	*t = (struct intern){ 0 };
}
