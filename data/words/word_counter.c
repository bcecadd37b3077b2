/* word_counter.c - counts the words of much text, on several threads: see word_counter.h */
#include "data/words/word_counter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/words/short_word.h"
#include "data/words/text_counts.h"
#include "share/base/hash_index.h"
#include "share/base/mem.h"

#define FRONT_SLOTS 8192u /* a power of two; 192 KiB: fits into the L2 cache */
#define WAITING	    16u	  /* words whose slot is being fetched from memory */

struct counted {
	struct short_word word;
	int64_t count; /* 0: a free slot */
};

/*
 * The words of one thread. Most words of a text are among a few thousand: they are counted in
 * front, a table with one slot for each hash. A word that is displaced there goes to the table of
 * all words: it waits in a ring of WAITING words while its slot is prefetched.
 *
 * The counts stay in the slots, unlike in a hash_index: entries elsewhere would cost a second
 * cache miss for each word.
 */
struct table {
	struct counted *front; /* owned: (FRONT_SLOTS), NULL: not used yet */
	struct counted waiting[WAITING];
	unsigned next;	       /* the word in waiting that waits longest */
	struct counted *slots; /* owned: (n_slots, a power of two) hash table */
	size_t n, n_slots;
	struct text_counts longer; /* the longer words */
};

struct word_counter {
	struct table *tables; /* owned: (n) one a thread */
	size_t n, cap;
};

int word_counter_reserve(struct word_counter *c, int threads, struct err *e)
{
	if (mem_grow(&c->tables, &c->cap, (size_t)threads, sizeof(*c->tables), e))
		return e->code;
	while (c->n < (size_t)threads)
		c->tables[c->n++] = (struct table){ .n = 0 };
	return 0;
}

struct word_counter *word_counter_new(struct err *e)
{
	struct word_counter *c = mem_alloc(1, sizeof(*c), e);

	if (c && !word_counter_reserve(c, 1, e))
		return c;
	free(c);
	return NULL;
}

static void table_free(struct table *t)
{
	free(t->front);
	free(t->slots);
	text_counts_free(&t->longer);
	*t = (struct table){ .n = 0 };
}

void word_counter_free(struct word_counter *c)
{
	for (size_t i = 0; c && i < c->n; i++)
		table_free(&c->tables[i]);
	if (c)
		free(c->tables);
	free(c);
}

/* ---- words ---- */

static bool short_slot_ends(const void *slots, size_t at, const void *word)
{
	const struct counted *slot = (const struct counted *)slots + at;

	return !slot->count || short_word_equal(slot->word, *(const struct short_word *)word);
}

/* The slot of the word, or the free slot where the word belongs. */
static struct counted *find_short_slot(const struct table *t, struct short_word w)
{
	return &t->slots[hash_probe(t->n_slots, short_word_hash(w), short_slot_ends, t->slots, &w)];
}

static int grow_slots(struct table *t, struct err *e)
{
	struct counted *old = t->slots;
	size_t n_old = t->n_slots, n = n_old ? n_old * 2 : 1024;
	struct counted *new = mem_alloc(n, sizeof(*new), e);

	if (!new)
		return e->code;
	t->slots = new;
	t->n_slots = n;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].count)
			*find_short_slot(t, old[i].word) = old[i];
	free(old);
	return 0;
}

static int add_short_word(struct table *t, const struct counted *w, struct err *e)
{
	struct counted *slot;

	if (t->n >= t->n_slots / 4 * 3 && grow_slots(t, e))
		return e->code;
	slot = find_short_slot(t, w->word);
	if (slot->count) {
		slot->count += w->count;
	} else {
		*slot = *w;
		t->n++;
	}
	return 0;
}

/* Put a word (count 0: none) into the ring, and count the longest waiting word. */
static inline int queue_short_word(struct table *t, const struct counted *w, struct err *e)
{
	uint64_t hash = short_word_hash(w->word);
	struct counted first = t->waiting[t->next];

	t->waiting[t->next] = *w;
	t->next = (t->next + 1) % WAITING;
	if (t->n_slots)
		__builtin_prefetch(&t->slots[hash_first_slot(t->n_slots, hash)], 1);
	return first.count ? add_short_word(t, &first, e) : 0;
}

static inline int count_short(struct table *t, const struct counted *w, struct err *e)
{
	struct counted *f = &t->front[short_word_hash(w->word) & (FRONT_SLOTS - 1)], old = *f;

	if (short_word_equal(f->word, w->word)) {
		f->count += w->count;
		return 0;
	}
	*f = *w;
	return old.count ? queue_short_word(t, &old, e) : 0;
}

/* Move all words of front and of the ring into the table of all words. */
static int flush_short_words(struct table *t, struct err *e)
{
	static const struct counted none = { .count = 0 };

	for (size_t i = 0; t->front && i < FRONT_SLOTS; i++)
		if (t->front[i].count && queue_short_word(t, &t->front[i], e))
			return e->code;
	for (size_t i = 0; i < WAITING; i++)
		if (queue_short_word(t, &none, e))
			return e->code;
	free(t->front);
	t->front = NULL;
	return 0;
}

int word_counter_add(struct word_counter *c, int worker, const char *text, size_t n, int64_t count,
		     struct err *e)
{
	struct table *t = &c->tables[worker];
	const char *p = text, *end = text + n;

	assert(worker >= 0 && (size_t)worker < c->n);
	if (!t->front && !(t->front = mem_alloc(FRONT_SLOTS, sizeof(*t->front), e)))
		return e->code;
	while (p < end) {
		struct counted w = { .count = count };
		const char *blank;
		unsigned bytes;

		if (*p == ' ') {
			p++;
			continue;
		}
		bytes = short_word_cut(p, end, &w.word);
		if (bytes) {
			if (count_short(t, &w, e))
				return e->code;
			p += bytes + 1;
			continue;
		}
		blank = memchr(p, ' ', (size_t)(end - p));
		if (!blank)
			blank = end;
		if (text_counts_add(&t->longer, p, (size_t)(blank - p), count, e))
			return e->code;
		p = blank + 1;
	}
	return 0;
}

/* ---- emptying the counter ---- */

static int merge_table(struct table *to, struct table *from, struct err *e)
{
	assert(to != from);
	if (flush_short_words(from, e))
		return e->code;
	for (size_t i = 0; i < from->n_slots; i++)
		if (from->slots[i].count && queue_short_word(to, &from->slots[i], e))
			return e->code;
	for (int32_t i = 0; i < from->longer.texts.n; i++) {
		size_t n;
		const char *text = intern_text(&from->longer.texts, i, &n);

		if (text_counts_add(&to->longer, text, n, from->longer.counts[i], e))
			return e->code;
	}
	table_free(from);
	return 0;
}

int word_counter_drain(struct word_counter *c, counted_word_visitor *take, void *context,
		       struct err *e)
{
	struct table *t = &c->tables[0];

	for (size_t k = 1; k < c->n; k++)
		if (merge_table(t, &c->tables[k], e))
			return e->code;
	if (flush_short_words(t, e))
		return e->code;
	for (size_t i = 0; i < t->n_slots; i++) {
		char text[16];
		size_t n;

		short_word_text(t->slots[i].word, text, &n);
		if (t->slots[i].count && take(context, text, n, t->slots[i].count, e))
			return e->code;
	}
	for (int32_t i = 0; i < t->longer.texts.n; i++) {
		size_t n;
		const char *text = intern_text(&t->longer.texts, i, &n);

		if (take(context, text, n, t->longer.counts[i], e))
			return e->code;
	}
	table_free(t);
	return 0;
}
