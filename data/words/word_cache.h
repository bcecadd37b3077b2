/*
 * word_cache.h - a cache of word numbers for each worker thread, asked before the table of all
 * words.
 *
 * The table of all words exceeds the processor's caches, and one thread alone may write to it. But
 * nine of ten words of a text are among the few ten thousand most frequent words. So each worker
 * keeps the numbers of recent words of up to WORD_CACHE_BYTES bytes in a table of fixed size. Four
 * words share a set; a hit moves a word one place up, a new word replaces the last one. A word that
 * was replaced is looked up in the table of all words again: results never depend on this cache.
 *
 * Not a hash_index: that grows and keeps all keys; this one stays small and evicts.
 */
#ifndef WERKBANK_DATA_WORDS_WORD_CACHE_H
#define WERKBANK_DATA_WORDS_WORD_CACHE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORD_CACHE_BYTES 16 /* longest word that is cached */
#define WORD_CACHE_SLACK 16 /* bytes that must be readable from the start of a word */

#define WORD_CACHE_BITS 14 /* sets */
#define WORD_CACHE_WAYS 4

/* A word of up to 16 bytes, none of them NUL, padded with zeros. */
struct word_key {
	uint64_t low, high;
};

struct word_cache_entry {
	struct word_key key; /* both 0: a free entry */
	int64_t number;
};

/* As zeroed memory it is empty. */
struct word_cache {
	struct word_cache_entry sets[1 << WORD_CACHE_BITS][WORD_CACHE_WAYS];
};

/* The key of a word of n bytes, 1 to WORD_CACHE_BYTES; WORD_CACHE_SLACK bytes are read. */
static inline struct word_key word_key(const char *text, size_t n)
{
	struct word_key k;

	assert(n >= 1 && n <= WORD_CACHE_BYTES);
	memcpy(&k.low, text, 8);
	memcpy(&k.high, text + 8, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	k.low = __builtin_bswap64(k.low);
	k.high = __builtin_bswap64(k.high);
#endif
	k.low &= ~(uint64_t)0 >> (n < 8 ? 64 - 8 * n : 0);
	k.high = n <= 8 ? 0 : k.high & ~(uint64_t)0 >> (n < 16 ? 128 - 8 * n : 0);
	return k;
}

/* The set of a word. Call this early: it prefetches the set from memory. */
static inline struct word_cache_entry *word_cache_set(struct word_cache *c, struct word_key k)
{
	uint64_t h = (k.low ^ (k.high << 29 | k.high >> 35)) * 0x9E3779B97F4A7C15u;
	struct word_cache_entry *set;

	h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
	set = c->sets[h >> (64 - WORD_CACHE_BITS)];
	__builtin_prefetch(set);
	__builtin_prefetch((const char *)(set + WORD_CACHE_WAYS) - 1);
	return set;
}

/*
 * Where the number of the word is stored. A new word replaces the last word of its set, and its
 * number is `missing` until the caller writes the right one.
 */
static inline int64_t *word_cache_lookup(struct word_cache_entry *set, struct word_key k,
					 int64_t missing)
{
	struct word_cache_entry *e = &set[WORD_CACHE_WAYS - 1];

	for (int i = 0; i < WORD_CACHE_WAYS; i++) {
		struct word_cache_entry swap;

		if (set[i].key.low != k.low || set[i].key.high != k.high)
			continue;
		if (!i)
			return &set[0].number;
		swap = set[i - 1];
		set[i - 1] = set[i];
		set[i] = swap;
		return &set[i - 1].number;
	}
	*e = (struct word_cache_entry){ k, missing };
	return &e->number;
}

#endif
