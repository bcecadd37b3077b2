/*
 * hash_index.h - the hash tables of the program: open addressing with linear probing.
 *
 *	hash_probe()	the search itself, in slots of any layout; the caller owns and grows the slots
 *	struct hash_index	finds entries of an array by their keys; the array belongs to the caller
 *	struct hash_set	a set of 64-bit keys
 *
 * Searches are inlined together with the caller's comparison: pass static functions, no pointers
 * that vary. At least half of the slots stay free, so that every search ends soon.
 */
#ifndef WERKBANK_SHARE_BASE_HASH_INDEX_H
#define WERKBANK_SHARE_BASE_HASH_INDEX_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define HASH_INLINE static inline __attribute__((always_inline))

/* Spreads the bits of an integer key over 64 bits; the high half is the best one. */
static inline uint64_t hash_integer(uint64_t key)
{
	key *= 0x9E3779B97F4A7C15u;
	return (key ^ key >> 29) * 0xBF58476D1CE4E5B9u;
}

/* ---- the search ---- */

/* Where a search for this hash begins. n_slots is a power of two, at most 2^32. */
HASH_INLINE size_t hash_first_slot(size_t n_slots, uint64_t hash)
{
	return (size_t)(hash >> 32) & (n_slots - 1);
}

/* Does the search for key end at slot `at`: is the slot free, or does it hold the key? */
typedef bool hash_slot_ends(const void *table, size_t at, const void *key);

/* The slot that holds the key, or the free slot where the key belongs. */
HASH_INLINE size_t hash_probe(size_t n_slots, uint64_t hash, hash_slot_ends *ends,
			      const void *table, const void *key)
{
	size_t at = hash_first_slot(n_slots, hash);

	while (!ends(table, at, key))
		at = (at + 1) & (n_slots - 1);
	return at;
}

/* ---- an index of entries that lie elsewhere ---- */

/*
 * A slot holds the high half of an entry's hash and the entry's number + 1; 0: the slot is free.
 * The high half also chooses the slot, so that the index grows without reading the entries.
 */
struct hash_index {
	uint64_t *slots; /* owned */
	size_t n_slots;	 /* 0, or a power of two */
};

#define HASH_INDEX_MAX (UINT32_MAX - 1) /* entries, at most */

/* Does entry number `entry` of the caller's table have this key? */
typedef bool hash_entry_has(const void *table, uint32_t entry, const void *key);

/*
 * The slot of the entry with this key, or the free slot where the entry belongs: valid until the
 * index grows. Call hash_index_reserve() before: the index must have slots.
 */
HASH_INLINE uint64_t *hash_index_slot(const struct hash_index *h, uint64_t hash,
				      hash_entry_has *has, const void *table, const void *key)
{
	size_t at = hash_first_slot(h->n_slots, hash);

	for (uint64_t s; (s = h->slots[at]) != 0; at = (at + 1) & (h->n_slots - 1))
		if (s >> 32 == hash >> 32 && has(table, (uint32_t)s - 1, key))
			break;
	return &h->slots[at];
}

/* The number of the entry in a slot; -1: the slot is free. */
HASH_INLINE int64_t hash_slot_entry(const uint64_t *slot)
{
	return (int64_t)(uint32_t)*slot - 1;
}

/* Put an entry into a free slot that hash_index_slot() found. */
HASH_INLINE void hash_slot_fill(uint64_t *slot, uint64_t hash, uint32_t entry)
{
	assert(!*slot && entry <= HASH_INDEX_MAX);
	*slot = hash >> 32 << 32 | (entry + 1);
}

/* The number of the entry with this key; -1: there is none. The index may be empty. */
HASH_INLINE int64_t hash_index_find(const struct hash_index *h, uint64_t hash, hash_entry_has *has,
				    const void *table, const void *key)
{
	return h->n_slots ? hash_slot_entry(hash_index_slot(h, hash, has, table, key)) : -1;
}

/* Twice as many slots, or `first` of them (a power of two) in an index without slots. */
int hash_index_grow(struct hash_index *h, size_t first, struct err *e);

/* Before an entry is added to the n present ones: at least half of the slots stay free. */
HASH_INLINE int hash_index_reserve(struct hash_index *h, size_t n, size_t first, struct err *e)
{
	return n * 2 < h->n_slots ? 0 : hash_index_grow(h, first, e);
}

/* Forget all entries, keep the memory. */
void hash_index_clear(struct hash_index *h);

void hash_index_free(struct hash_index *h);

/* ---- a set of keys ---- */

/* The keys themselves lie in the slots: 16 bytes a key where the number of keys is known before. */
struct hash_set {
	uint64_t *slots; /* owned; 0: free (key 0 is stored as 1) */
	size_t n_slots;	 /* any number */
	size_t n;	 /* keys */
};

/* Make room for n keys in all. */
int hash_set_reserve(struct hash_set *s, size_t n, struct err *e);

/* Is the key in the set? The set must have slots. */
bool hash_set_has(const struct hash_set *s, uint64_t key);

/* Add a key, for which there is room. true: the key is new; false: the set had it already. */
bool hash_set_add(struct hash_set *s, uint64_t key);

void hash_set_free(struct hash_set *s);

#endif
