/* ngrams.c - a hash table of n-grams, and numbers for words; see ngrams.h */
#include "eval/metrics/ngrams.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/metrics/unicode.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/*
 * The key of an n-gram is the slot of its first n - 1 symbols and its last symbol, so keys are
 * exact. An epoch is a segment: slots of earlier epochs are free, which saves clearing the table.
 */
struct ngrams_slot {
	uint64_t key;	    /* (slot of the first n - 1 symbols + 1) << 32 | last symbol */
	uint32_t epoch;	    /* of its segment */
	uint32_t count;	    /* occurrences in the hypothesis */
	uint32_t matched;   /* greatest number of matches in a reference so far */
	uint32_t reference; /* the reference that seen belongs to */
	uint32_t seen;	    /* occurrences in this reference so far */
};

static bool ngram_slot_ends(const void *table, size_t at, const void *key)
{
	const struct ngrams *g = table;

	return g->slots[at].epoch != g->epoch || g->slots[at].key == *(const uint64_t *)key;
}

/* The slot with this key, or the free slot where the key belongs. */
static size_t find_ngram_slot(const struct ngrams *g, uint64_t key)
{
	return hash_probe(g->n_used, hash_integer(key), ngram_slot_ends, g, &key);
}

static int reserve_ngram_slots(struct ngrams *g, size_t n, struct err *e)
{
	size_t want = 64, need;

	assert(g->order >= 0 && g->order <= NGRAMS_MAX_ORDER);
	if (!mem_mul(n, 2 * (size_t)g->order, &need) || need > UINT32_MAX / 2)
		return err_set(e, ERR_DATA, "a segment of %zu symbols is too long to be scored", n);
	while (want < need)
		want *= 2;
	g->n_used = want;
	if (want > g->n_slots) {
		free(g->slots);
		g->n_slots = 0;
		g->slots = mem_alloc(want, sizeof(*g->slots), e);
		if (!g->slots)
			return e->code;
		g->n_slots = want;
		g->epoch = 0;
	}
	if (++g->epoch == 0) { /* wrapped after 2^32 segments */
		memset(g->slots, 0, g->n_slots * sizeof(*g->slots));
		g->epoch = 1;
	}
	return 0;
}

int ngrams_hypothesis(struct ngrams *g, const uint32_t *symbols, size_t n, struct err *e)
{
	if (reserve_ngram_slots(g, n, e))
		return e->code;
	g->reference = 0;
	memset(g->matches, 0, sizeof(g->matches));
	for (size_t i = 0; i < n; i++) {
		size_t longest = MIN((size_t)g->order, n - i);
		uint64_t before = 0;

		for (size_t j = 0; j < longest; j++) {
			uint64_t key = before << 32 | symbols[i + j];
			size_t slot = find_ngram_slot(g, key);

			if (g->slots[slot].epoch != g->epoch)
				g->slots[slot] =
					(struct ngrams_slot){ .key = key, .epoch = g->epoch };
			g->slots[slot].count++;
			before = slot + 1;
		}
	}
	return 0;
}

void ngrams_reference(struct ngrams *g, const uint32_t *symbols, size_t n)
{
	g->reference++;
	for (size_t i = 0; i < n; i++) {
		size_t longest = MIN((size_t)g->order, n - i);
		uint64_t before = 0;

		for (size_t j = 0; j < longest; j++) {
			size_t at = find_ngram_slot(g, before << 32 | symbols[i + j]);
			struct ngrams_slot *slot = &g->slots[at];

			/* an n-gram that the hypothesis lacks: it lacks all longer ones too */
			if (slot->epoch != g->epoch)
				break;
			if (slot->reference != g->reference) {
				slot->reference = g->reference;
				slot->seen = 0;
			}
			slot->seen++;
			if (slot->seen > slot->matched && slot->seen <= slot->count) {
				slot->matched = slot->seen;
				g->matches[j]++;
			}
			before = at + 1;
		}
	}
}

void ngrams_forget(struct ngrams *g)
{
	memset(g->matches, 0, sizeof(g->matches));
	for (size_t i = 0; i < g->n_slots; i++)
		g->slots[i].matched = 0;
}

void ngrams_free(struct ngrams *g)
{
	free(g->slots);
	g->slots = NULL;
	g->n_slots = 0;
}

struct word_numbers_entry {
	size_t at, n; /* offset and length in the text */
};

struct word_numbers_key {
	const char *word;
	size_t n;
};

static bool word_number_has(const void *table, uint32_t number, const void *key)
{
	const struct word_numbers *w = table;
	const struct word_numbers_key *k = key;

	return w->entries[number].n == k->n &&
	       !memcmp(w->text.data + w->entries[number].at, k->word, k->n);
}

int word_numbers_get(struct word_numbers *w, const char *word, size_t n, uint32_t *number,
		     struct err *e)
{
	struct word_numbers_key key = { word, n };
	uint64_t hash = hash_bytes(word, n), *slot;

	if (hash_index_reserve(&w->index, w->n, 4096, e))
		return e->code;
	slot = hash_index_slot(&w->index, hash, word_number_has, w, &key);
	if (*slot) {
		*number = (uint32_t)hash_slot_entry(slot);
		return 0;
	}
	if (mem_grow(&w->entries, &w->cap, (size_t)w->n + 1, sizeof(*w->entries), e))
		return e->code;
	w->entries[w->n] = (struct word_numbers_entry){ w->text.len, n };
	hash_slot_fill(slot, hash, w->n);
	buf_add(&w->text, word, n);
	*number = w->n++;
	return buf_check(&w->text, e);
}

/* Bytes of the white space at text + i; 0: none. Most bytes need no decoding. */
static inline size_t blank_at(const char *text, size_t i, size_t n, bool ascii)
{
	unsigned char c = (unsigned char)text[i];

	if (ascii)
		return c == ' ' || (c >= '\t' && c <= '\r');
	return c > ' ' && c < 0xC2 ? 0 : unicode_space(text + i, n - i);
}

int word_numbers_split(struct word_numbers *w, const char *text, size_t n, bool ascii,
		       uint32_t **symbols, size_t *n_symbols, size_t *cap, struct err *e)
{
	for (size_t i = 0; i < n;) {
		size_t blank = blank_at(text, i, n, ascii), end = i + 1;
		uint32_t number;

		if (blank) {
			i += blank;
			continue;
		}
		while (end < n && !blank_at(text, end, n, ascii))
			end++;
		if (word_numbers_get(w, text + i, end - i, &number, e) ||
		    mem_grow(symbols, cap, *n_symbols + 1, sizeof(**symbols), e))
			return e->code;
		(*symbols)[(*n_symbols)++] = number;
		i = end;
	}
	return 0;
}

void word_numbers_free(struct word_numbers *w)
{
	buf_free(&w->text);
	hash_index_free(&w->index);
	free(w->entries);
	memset(w, 0, sizeof(*w));
}
