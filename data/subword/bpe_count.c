/*
 * bpe_count.c - counts words before BPE is learned: see bpe.h
 *
 * Merges depend on the text only through the counts of its distinct words, of which there are far
 * fewer than words: learning works on them. Each thread counts the lines that it gets in tables of
 * its own, without locks; the tables are added at the end. A sum does not depend on which thread
 * counted which line, so the codes are the same for any number of threads.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe.h"
#include "data/subword/bpe_line.h"
#include "data/words/intern.h"
#include "data/words/short_word.h"
#include "share/base/hash_index.h"
#include "share/base/line_flow.h"
#include "share/base/mem.h"
#include "share/base/util.h"

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
	struct intern words; /* the longer words … */
	int64_t *counts;     /* owned: (words.n) … and how often they occur */
	size_t cap;
};

struct bpe_learner {
	struct table *tables; /* owned: (n) one a thread; single lines use the first */
	size_t n, cap;
};

static int make_tables(struct bpe_learner *l, size_t n, struct err *e)
{
	if (mem_grow(&l->tables, &l->cap, n, sizeof(*l->tables), e))
		return e->code;
	while (l->n < n)
		l->tables[l->n++] = (struct table){ .cap = 0 };
	return 0;
}

struct bpe_learner *bpe_learner_new(struct err *e)
{
	struct bpe_learner *l = mem_alloc(1, sizeof(*l), e);

	if (l && !make_tables(l, 1, e))
		return l;
	free(l);
	return NULL;
}

static void table_free(struct table *t)
{
	free(t->front);
	free(t->slots);
	intern_free(&t->words);
	free(t->counts);
	*t = (struct table){ .cap = 0 };
}

void bpe_learner_free(struct bpe_learner *l)
{
	for (size_t i = 0; l && i < l->n; i++)
		table_free(&l->tables[i]);
	if (l)
		free(l->tables);
	free(l);
}

/* ---- words ---- */

static int count_long(struct table *t, const char *word, size_t n, int64_t count, struct err *e)
{
	int32_t known = t->words.n, i;

	if (intern_add(&t->words, word, n, &i, e))
		return e->code;
	if (i == known) {
		if (mem_grow(&t->counts, &t->cap, (size_t)known + 1, sizeof(*t->counts), e))
			return e->code;
		t->counts[known] = 0;
	}
	t->counts[i] += count;
	return 0;
}

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

/* Count the words of a text without line ends. */
static int bpe_count_words(struct table *t, const char *p, const char *end, int64_t count,
			   struct err *e)
{
	while (p < end) {
		struct counted w = { .count = count };
		const char *blank;
		unsigned n;

		if (*p == ' ') {
			p++;
			continue;
		}
		n = short_word_cut(p, end, &w.word);
		if (n) {
			if (count_short(t, &w, e))
				return e->code;
			p += n + 1;
			continue;
		}
		blank = memchr(p, ' ', (size_t)(end - p));
		if (!blank)
			blank = end;
		if (count_long(t, p, (size_t)(blank - p), count, e))
			return e->code;
		p = blank + 1;
	}
	return 0;
}

/* ---- lines ---- */

/* May the text hold more than one line as in bpe_line.h? false is certain. */
static bool may_have_ends(const char *text, size_t n)
{
	size_t i = 0;
	uint64_t found = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t x = short_word_load(text + i);
		uint64_t lead = (x & SHORT_WORD_BYTES(0xDF)) ^ SHORT_WORD_BYTES(0xC2);

		/* control characters; 0xC2 and 0xE2, the first bytes of the longer line ends */
		found |= (x - SHORT_WORD_BYTES(0x20)) & ~x;
		found |= (lead - SHORT_WORD_BYTES(1)) & ~lead;
	}
	for (; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || ((unsigned char)text[i] & 0xDF) == 0xC2)
			return true;
	return (found & SHORT_WORD_BYTES(0x80)) != 0;
}

static int bpe_count_line(struct table *t, const char *line, size_t n, int64_t count, struct err *e)
{
	if (!t->front) {
		t->front = mem_alloc(FRONT_SLOTS, sizeof(*t->front), e);
		if (!t->front)
			return e->code;
	}
	if (!may_have_ends(line, n))
		return bpe_count_words(t, line, line + n, count, e);
	for (size_t len; n; line += len, n -= len) {
		size_t end = len = bpe_line_length(line, n);

		while (end && bpe_is_margin(line[end - 1]))
			end--;
		if (bpe_count_words(t, line, line + end, count, e))
			return e->code;
	}
	return 0;
}

int bpe_learner_add_word(struct bpe_learner *l, const char *word, size_t n, int64_t count,
			 struct err *e)
{
	return bpe_count_line(&l->tables[0], word, n, count, e);
}

int bpe_learner_add_line(struct bpe_learner *l, const char *line, size_t n, struct err *e)
{
	return bpe_count_line(&l->tables[0], line, n, 1, e);
}

/* ---- files ---- */

static int line_of_file(void *context, int worker, const char *text, size_t n, struct buf *out,
			struct err *e)
{
	struct bpe_learner *l = context;

	(void)out;
	assert(worker >= 0 && (size_t)worker < l->n);
	return bpe_count_line(&l->tables[worker], text, n, 1, e);
}

int bpe_learner_add_file(struct bpe_learner *l, const char *path, bool repair, int threads,
			 struct err *e)
{
	struct line_flow f = { line_of_file, NULL, l, repair, threads };

	return make_tables(l, (size_t)MAX(threads, 1), e) ? e->code : line_flow_run(&f, path, e);
}

/* ---- emptying the learner ---- */

static int merge_table(struct table *to, struct table *from, struct err *e)
{
	assert(to != from);
	if (flush_short_words(from, e))
		return e->code;
	for (size_t i = 0; i < from->n_slots; i++)
		if (from->slots[i].count && queue_short_word(to, &from->slots[i], e))
			return e->code;
	for (int32_t i = 0; i < from->words.n; i++) {
		size_t n;
		const char *text = intern_text(&from->words, i, &n);

		if (count_long(to, text, n, from->counts[i], e))
			return e->code;
	}
	table_free(from);
	return 0;
}

int bpe_learner_drain_words(struct bpe_learner *l, bpe_word_visitor *take, void *context,
			    struct err *e)
{
	struct table *t = &l->tables[0];

	for (size_t k = 1; k < l->n; k++)
		if (merge_table(t, &l->tables[k], e))
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
	for (int32_t i = 0; i < t->words.n; i++) {
		size_t n;
		const char *text = intern_text(&t->words, i, &n);

		if (take(context, text, n, t->counts[i], e))
			return e->code;
	}
	table_free(t);
	return 0;
}
