/* ngrams.c - see ngrams.h */
#include "eval/metrics/ngrams.h"

#include <stdlib.h>
#include <string.h>

#include "eval/metrics/unicode.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/util.h"

/*
 * An n-gram is the slot of its first n - 1 symbols and its last symbol, so a
 * slot stands for one n-gram exactly. Slots of other epochs are free.
 */
struct ngrams_slot {
	uint64_t key;	    /* (slot of the beginning + 1) << 32 | last symbol */
	uint32_t epoch;	    /* of the segment it belongs to */
	uint32_t count;	    /* in the hypothesis */
	uint32_t matched;   /* the most matches in any reference so far */
	uint32_t reference; /* the reference that seen counts for */
	uint32_t seen;	    /* in this reference so far */
};

static size_t hash_ngram_key(uint64_t key)
{
	key *= 0x9E3779B97F4A7C15u;
	return (size_t)(key ^ key >> 29) * 0x9E3779B1u >> 7;
}

/* The slot with this key, or the free one where it belongs. */
static size_t find_ngram_slot(const struct ngrams *g, uint64_t key)
{
	size_t mask = g->mask, i = hash_ngram_key(key) & mask;

	while (g->slots[i].epoch == g->epoch && g->slots[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static int reserve_ngram_slots(struct ngrams *g, size_t n, struct err *e)
{
	size_t want = 64, need;

	if (!mem_mul(n, 2 * (size_t)g->order, &need) || need > UINT32_MAX / 2)
		return err_set(e, ERR_DATA, "a segment of %zu symbols is too long to be scored", n);
	while (want < need)
		want *= 2;
	g->mask = want - 1;
	if (want > g->n_slots) {
		free(g->slots);
		g->n_slots = 0;
		g->slots = mem_alloc(want, sizeof(*g->slots), e);
		if (!g->slots)
			return e->code;
		g->n_slots = want;
		g->epoch = 0;
	}
	if (++g->epoch == 0) { /* after four billion segments */
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

			if (slot->epoch !=
			    g->epoch) /* not in the hypothesis: nor is anything that begins so */
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

/* Small, so that all of them stay in the cache. */
struct word_numbers_slot {
	uint32_t hash;	 /* half of it */
	uint32_t number; /* of the word, plus 1; 0: the slot is free */
};

struct word_numbers_entry {
	size_t at, n; /* where in the text */
	uint64_t hash;
};

static int grow_word_slots(struct word_numbers *w, struct err *e)
{
	size_t want = MAX(w->n_slots * 4, (size_t)4096);
	struct word_numbers_slot *slots = mem_alloc(want, sizeof(*slots), e);

	if (!slots)
		return e->code;
	for (uint32_t number = 0; number < w->n; number++) {
		uint64_t hash = w->entries[number].hash;
		size_t to = hash & (want - 1);

		while (slots[to].number)
			to = (to + 1) & (want - 1);
		slots[to] = (struct word_numbers_slot){ (uint32_t)(hash >> 32), number + 1 };
	}
	free(w->slots);
	w->slots = slots;
	w->n_slots = want;
	return 0;
}

int word_numbers_get(struct word_numbers *w, const char *word, size_t n, uint32_t *number,
		     struct err *e)
{
	uint64_t hash = hash_bytes(word, n);
	size_t i;

	if ((size_t)w->n * 2 >= w->n_slots && grow_word_slots(w, e))
		return e->code;
	for (i = hash & (w->n_slots - 1); w->slots[i].number; i = (i + 1) & (w->n_slots - 1)) {
		const struct word_numbers_entry *known;

		if (w->slots[i].hash != (uint32_t)(hash >> 32))
			continue;
		known = &w->entries[w->slots[i].number - 1];
		if (known->n == n && !memcmp(w->text.data + known->at, word, n)) {
			*number = w->slots[i].number - 1;
			return 0;
		}
	}
	if (mem_grow(&w->entries, &w->cap, (size_t)w->n + 1, sizeof(*w->entries), e))
		return e->code;
	w->entries[w->n] = (struct word_numbers_entry){ w->text.len, n, hash };
	w->slots[i] = (struct word_numbers_slot){ (uint32_t)(hash >> 32), w->n + 1 };
	buf_add(&w->text, word, n);
	*number = w->n++;
	return buf_check(&w->text, e);
}

/* Bytes of the white space at text + i; most bytes are told by themselves. */
static inline size_t blank_at(const char *text, size_t i, size_t n)
{
	unsigned char c = (unsigned char)text[i];

	return c > ' ' && c < 0xC2 ? 0 : unicode_space(text + i, n - i);
}

int word_numbers_split(struct word_numbers *w, const char *text, size_t n, uint32_t **symbols,
		       size_t *n_symbols, size_t *cap, struct err *e)
{
	for (size_t i = 0; i < n;) {
		size_t blank = blank_at(text, i, n), end = i + 1;
		uint32_t number;

		if (blank) {
			i += blank;
			continue;
		}
		while (end < n && !blank_at(text, end, n))
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
	free(w->slots);
	free(w->entries);
	memset(w, 0, sizeof(*w));
}
