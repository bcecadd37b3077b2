/*
 * bpe_merger.c - counts symbol pairs and merges the best pair in all words: see bpe_merger.h
 *
 * Idea. Counting all pairs again after each merge would read the whole text 32,000 times. Instead
 * the engine keeps, for each pair, its count and its places: the words in which it was counted. A
 * merge reads only those words, and changes only the counts of the pairs next to the merged one.
 *
 * Example. Words and counts: l o w 5, l o w e r 2, n e w e s t 6, w i d e s t 3. Merge the
 * pair (e s), which occurs 9 times:
 *	n e w e s t -> n e w es t	before it: w (6 times)	after it: t (6)
 *	w i d e s t -> w i d es t	before it: d (3 times)	after it: t (3)
 * gives these changes, and no others:
 *	(w e) -6, (w es) +6;	(d e) -3, (d es) +3;	(s t) -9, (es t) +9;	(e s) becomes 0
 * The neighbours are summed by symbol first (struct bpe_neighbours): (s t) and (es t) are looked
 * up once, not once for each word. That saves most of the time, as frequent pairs have few
 * distinct neighbours.
 *
 * Invariants between merges:
 *	- each word in which a pair occurs is among the places of that pair. Some places are stale
 *	  (the pair was merged away there) or doubled; merge_in_word() finds no occurrence there
 *	  and returns.
 *	- with exact counts, the count of a pair is the sum over its occurrences of the counts of
 *	  their words.
 *	- by_symbol[] of both struct bpe_neighbours is zero, and n_deferred is 0.
 *
 * Words where the simple rule fails are deferred until the others are done: where the merged
 * string was a symbol of the word before, and runs such as a a a, whose pairs overlap.
 * merge_exactly() then counts all pairs of the word again; bpe_tally.c instead repeats what
 * subword-nmt does there.
 *
 * Cost. Each occurrence that is merged shortens its word by one symbol and adds at most two
 * places. So N symbols at the start make at most N merged occurrences and 3 N places over the
 * whole run; each place costs one scan of its word. The heap of pairs adds a factor log(pairs)
 * for each changed pair.
 */
#include "data/subword/bpe_merger.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_words.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define AHEAD 12  /* how many words ahead the loop over places prefetches */
#define FEW   512 /* pairs of symbols below this number skip the hash table in the first count */

/* ---- words ---- */

static bool merger_is_before(const void *argument, const struct bpe_pair *a,
			     const struct bpe_pair *b)
{
	const struct bpe_merger *m = argument;

	return m->dialect->is_before(m, a, b);
}

/* The first call sets up the engine. */
static int bpe_merger_init(struct bpe_merger *m, struct err *e)
{
	if (m->work)
		return 0;
	m->pairs.is_exact = !m->dialect->is_as_subword_nmt;
	m->pairs.is_before = merger_is_before;
	m->pairs.argument = m;
	m->work = mem_alloc(1, sizeof(*m->work), e);
	return m->work ? 0 : e->code;
}

int bpe_merger_symbol(struct bpe_merger *m, const char *text, size_t n, int32_t *symbol,
		      struct err *e)
{
	return intern_add(&m->symbols, text, n, symbol, e);
}

int bpe_merger_add_word(struct bpe_merger *m, const int32_t *symbols, size_t n, int64_t count,
			unsigned flags, struct err *e)
{
	struct bpe_merger_work *k;
	uint32_t *cells;
	int64_t occurrences;

	if (bpe_merger_init(m, e))
		return e->code;
	k = m->work;
	if (n < 2)
		return 0; /* the word never has a pair */
	if (count < 0 || __builtin_mul_overflow(count, (int64_t)n, &occurrences) ||
	    __builtin_add_overflow(k->occurrences, occurrences, &k->occurrences))
		return err_set(e, ERR_DATA,
			       "a word that occurs %lld times: the counts of words are damaged",
			       (long long)count);
	if (n > WORD_SYMBOLS || k->n_cells > UINT32_MAX - WORD_HEAD - n)
		return err_set(e, ERR_NOMEM,
			       "too much text to learn merges from: a word of %zu symbols does "
			       "not fit after %zu cells of 4 bytes",
			       n, k->n_cells);
	if (mem_grow(&k->cells, &k->cap_cells, k->n_cells + WORD_HEAD + n, sizeof(*cells), e))
		return e->code;
	cells = k->cells + k->n_cells;
	cells[0] = (uint32_t)n;
	if (flags & BPE_WORD_HAS_SPACE && !m->pairs.is_exact)
		cells[0] |= WORD_SPACE;
	cells[1] = (uint32_t)count;
	cells[2] = (uint32_t)((uint64_t)count >> 32);
	memcpy(cells + WORD_HEAD, symbols, n * sizeof(*symbols));
	k->n_cells += WORD_HEAD + n;
	k->longest = MAX(k->longest, (uint32_t)n);
	return 0;
}

/* ---- the first count ---- */

struct first {
	uint32_t *few;	    /* owned: (FEW, FEW) pair + 1 of two early symbols; 0: none yet */
	uint32_t *n_places; /* owned: (pairs) places of each pair */
	uint32_t **places;  /* owned: (pairs) where the next place of each pair is written */
	size_t cap;
};

static int find_pair(struct bpe_merger *m, struct first *f, const int32_t *s, uint32_t *pair,
		     struct err *e)
{
	uint32_t *known = s[0] < FEW && s[1] < FEW ? &f->few[s[0] * FEW + s[1]] : NULL;

	if (known && *known) {
		*pair = *known - 1;
		return 0;
	}
	if (bpe_pairs_get(&m->pairs, s[0], s[1], pair, e))
		return e->code;
	if (known)
		*known = *pair + 1;
	return 0;
}

static int count_first(struct bpe_merger *m, struct first *f, struct err *e)
{
	const struct bpe_merger_work *k = m->work;
	size_t known;

	for (uint32_t at = 0; at < k->n_cells; at += WORD_HEAD + word_n(k, at)) {
		const int32_t *s = word_symbols(k, at);
		int64_t count = word_count(k, at);

		for (uint32_t n = word_n(k, at); n > 1; n--, s++) {
			uint32_t pair;

			known = m->pairs.n;
			if (find_pair(m, f, s, &pair, e) ||
			    mem_grow(&f->n_places, &f->cap, m->pairs.n, sizeof(*f->n_places), e))
				return e->code;
			if (pair == known)
				f->n_places[pair] = 0;
			f->n_places[pair]++;
			m->pairs.all[pair].count += count;
		}
	}
	return 0;
}

static int fill_first_places(struct bpe_merger *m, struct first *f, struct err *e)
{
	struct bpe_merger_work *k = m->work;

	f->places = mem_alloc(m->pairs.n, sizeof(*f->places), e);
	if (!f->places)
		return e->code;
	for (uint32_t i = 0; i < m->pairs.n; i++)
		if (bpe_pairs_count(&m->pairs, i, 0, e) ||
		    bpe_pairs_add_places(&m->pairs, i, f->n_places[i], &f->places[i], e))
			return e->code;
	for (uint32_t at = 0; at < k->n_cells; at += WORD_HEAD + word_n(k, at)) {
		const int32_t *s = word_symbols(k, at);

		for (uint32_t n = word_n(k, at); n > 1; n--, s++) {
			uint32_t pair;

			if (find_pair(m, f, s, &pair, e))
				return e->code;
			*f->places[pair]++ = at;
		}
		if (k->cells[at] & WORD_SPACE && bpe_start_tallies(m, at, NULL, e))
			return e->code;
	}
	return 0;
}

/* Exclude the pair if the dialect forbids this merge. */
static void check_may_merge(struct bpe_merger *m, uint32_t pair)
{
	struct bpe_pair *q = &m->pairs.all[pair];

	q->is_excluded = m->dialect->may_merge && !m->dialect->may_merge(m, q->left, q->right);
}

int bpe_merger_start(struct bpe_merger *m, struct err *e)
{
	struct first f = { 0 };
	int rc = bpe_merger_init(m, e);

	if (!rc) {
		f.few = mem_alloc(FEW * FEW, sizeof(*f.few), e);
		m->work->old = mem_alloc(m->work->longest, sizeof(*m->work->old), e);
		rc = f.few && m->work->old ? 0 : e->code;
	}
	if (!rc)
		rc = count_first(m, &f, e);
	if (!rc)
		rc = fill_first_places(m, &f, e);
	for (uint32_t i = 0; !rc && i < m->pairs.n; i++)
		check_may_merge(m, i);
	if (!rc)
		rc = bpe_pairs_start(&m->pairs, e);
	free(f.few);
	free(f.n_places);
	free(f.places);
	return rc;
}

/* ---- merging in one word ---- */

int bpe_join_symbols(struct bpe_merger *m, int32_t left, int32_t right, int32_t *joined,
		     struct err *e)
{
	struct buf *scratch = &m->work->scratch;
	const char *text;
	size_t n;

	buf_clear(scratch);
	text = intern_text(&m->symbols, left, &n);
	buf_add(scratch, text, n);
	text = intern_text(&m->symbols, right, &n);
	buf_add(scratch, text, n);
	return buf_check(scratch, e)
		       ? e->code
		       : intern_add(&m->symbols, scratch->data, scratch->len, joined, e);
}

uint32_t bpe_replace_pair(const struct bpe_merge *g, const int32_t *old, uint32_t n, int32_t *s)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < n; out++) {
		bool here = i + 1 < n && old[i] == g->left && old[i + 1] == g->right;

		s[out] = here ? g->merged : old[i];
		i += here ? 2 : 1;
	}
	return out;
}

/* Room for n more events. */
static inline int neighbour_events_reserve(struct bpe_neighbours *d, size_t n, struct err *e)
{
	if (d->n_events + n <= d->cap_events)
		return 0;
	return mem_grow(&d->events, &d->cap_events, d->n_events + n, sizeof(*d->events), e);
}

/* Record a symbol before (or after) an occurrence in this word. The caller reserved the event. */
static inline int neighbours_add(struct bpe_neighbours *d, int32_t symbol, int64_t count,
				 uint32_t place, struct err *e)
{
	struct bpe_neighbour *sum = &d->by_symbol[symbol];

	assert(symbol >= 0 && (size_t)symbol < d->cap && d->n_events < d->cap_events);
	if (!sum->n++) {
		if (mem_grow(&d->seen, &d->cap_seen, d->n_seen + 1, sizeof(*d->seen), e))
			return e->code;
		d->seen[d->n_seen++] = symbol;
	}
	sum->count += count;
	d->events[d->n_events++] = (struct bpe_event){ symbol, place };
	return 0;
}

/*
 * Rewrite a word in place, from its first occurrence (at i) on. The symbol before each occurrence
 * goes into k->before; that is the merged symbol where occurrences follow each other. The symbol
 * after an occurrence goes into k->after, unless another occurrence begins there: that one
 * records it as before.
 */
static int merge_in_place(struct bpe_merger_work *k, const struct bpe_merge *g, uint32_t place,
			  uint32_t i, struct err *e)
{
	int32_t *s = word_symbols(k, place), previous = i ? s[i - 1] : -1;
	uint32_t n = word_n(k, place), out = i;
	int64_t count = word_count(k, place);

	if (neighbour_events_reserve(&k->before, n, e) || neighbour_events_reserve(&k->after, n, e))
		return e->code;
	while (i < n) {
		int32_t symbol = s[i];

		if (symbol == g->left && i + 1 < n && s[i + 1] == g->right) {
			if (previous >= 0 && neighbours_add(&k->before, previous, count, place, e))
				return e->code;
			symbol = g->merged;
			i += 2;
		} else {
			if (previous == g->merged &&
			    neighbours_add(&k->after, symbol, count, place, e))
				return e->code;
			i++;
		}
		s[out++] = previous = symbol;
	}
	word_set_n(k, place, out);
	return 0;
}

/* Does the word hold the merged symbol already, or a run such as a a a of the pair (a a)? */
static bool is_special_merge(const struct bpe_merge *g, const int32_t *s, uint32_t n)
{
	if (g->is_known)
		for (uint32_t i = 0; i < n; i++)
			if (s[i] == g->merged)
				return true;
	if (g->left == g->right)
		for (uint32_t i = 2; i < n; i++)
			if (s[i] == g->left && s[i - 1] == g->left && s[i - 2] == g->left)
				return true;
	return false;
}

static int merge_in_word(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
			 struct err *e)
{
	struct bpe_merger_work *k = m->work;
	const int32_t *s = word_symbols(k, place);
	uint32_t n = word_n(k, place), i = 0;

	if (k->cells[place] & WORD_HAS_TALLIES) {
		if (bpe_reset_tally(k, g->pair, place) <= 0)
			return 0;
	} else {
		while (i + 1 < n && (s[i] != g->left || s[i + 1] != g->right))
			i++;
		if (i + 1 >= n)
			return 0;
		if ((!g->is_known && g->left != g->right) || !is_special_merge(g, s, n))
			return merge_in_place(k, g, place, i, e);
		if (!m->pairs.is_exact && bpe_start_tallies(m, place, g, e))
			return e->code;
	}
	if (mem_grow(&k->deferred, &k->cap_deferred, k->n_deferred + 1, sizeof(*k->deferred), e))
		return e->code;
	k->deferred[k->n_deferred++] = place;
	return 0;
}

/* ---- new counts of the neighbouring pairs ---- */

/*
 * Change the pairs on one side of the occurrences. Each symbol x before the merged pair (left
 * right) was in the pair (x left) and is now in (x merged); on the other side (right x) became
 * (merged x). Where x is another occurrence, (right left) became (merged merged).
 */
static int count_neighbour_pairs(struct bpe_merger *m, const struct bpe_merge *g,
				 struct bpe_neighbours *d, struct err *e)
{
	bool is_before_it = d == &m->work->before;

	for (size_t i = 0; i < d->n_seen; i++) {
		int32_t x = d->seen[i], y = x == g->merged ? g->right : x;
		struct bpe_neighbour *sum = &d->by_symbol[x];
		uint32_t old, new;
		size_t known;

		assert(sum->n > 0);
		if (bpe_pairs_get(&m->pairs, is_before_it ? y : g->right,
				  is_before_it ? g->left : y, &old, e) ||
		    bpe_pairs_count(&m->pairs, old, -sum->count, e))
			return e->code;
		known = m->pairs.n;
		if (bpe_pairs_get(&m->pairs, is_before_it ? x : g->merged,
				  is_before_it ? g->merged : x, &new, e) ||
		    bpe_pairs_count(&m->pairs, new, sum->count, e) ||
		    bpe_pairs_add_places(&m->pairs, new, sum->n, &sum->places, e))
			return e->code;
		if (new == known)
			check_may_merge(m, new);
	}
	for (size_t i = 0; i < d->n_events; i++)
		*d->by_symbol[d->events[i].symbol].places++ = d->events[i].place;
	for (size_t i = 0; i < d->n_seen; i++)
		d->by_symbol[d->seen[i]] = (struct bpe_neighbour){ 0 };
	d->n_seen = d->n_events = 0;
	return 0;
}

/*
 * Merge in a deferred word, with exact counts: uncount all of its pairs, count all of them again.
 */
static int merge_exactly(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
			 struct err *e)
{
	struct bpe_merger_work *k = m->work;
	uint32_t n_old = word_n(k, place), n, pair, *at;
	int32_t *s = word_symbols(k, place), *old = k->old;
	int64_t count = word_count(k, place);

	memcpy(old, s, n_old * sizeof(*s));
	n = bpe_replace_pair(g, old, n_old, s);
	word_set_n(k, place, n);
	assert(n <= n_old);
	/* n == n_old: the word is in the list twice and was merged before. */
	for (uint32_t i = 0; i + 1 < n_old && n < n_old; i++)
		if (bpe_pairs_get(&m->pairs, old[i], old[i + 1], &pair, e) ||
		    bpe_pairs_count(&m->pairs, pair, -count, e))
			return e->code;
	for (uint32_t i = 0; i + 1 < n && n < n_old; i++) {
		size_t known = m->pairs.n;

		if (bpe_pairs_get(&m->pairs, s[i], s[i + 1], &pair, e) ||
		    bpe_pairs_count(&m->pairs, pair, count, e))
			return e->code;
		if (pair == known)
			check_may_merge(m, pair);
		if (s[i] != g->merged && s[i + 1] != g->merged)
			continue;
		if (bpe_pairs_add_places(&m->pairs, pair, 1, &at, e))
			return e->code;
		*at = place;
	}
	return 0;
}

static int merge_deferred_words(struct bpe_merger *m, const struct bpe_merge *g, struct err *e)
{
	struct bpe_merger_work *k = m->work;

	for (size_t i = 0; i < k->n_deferred; i++)
		if (m->pairs.is_exact ? merge_exactly(m, g, k->deferred[i], e)
				      : bpe_merge_tallied(m, g, k->deferred[i], e))
			return e->code;
	k->n_deferred = 0;
	return 0;
}

/* ---- merging everywhere ---- */

static int neighbours_reserve(struct bpe_neighbours *d, size_t n, struct err *e)
{
	size_t old = d->cap;

	if (mem_grow(&d->by_symbol, &d->cap, n, sizeof(*d->by_symbol), e))
		return e->code;
	memset(d->by_symbol + old, 0, (d->cap - old) * sizeof(*d->by_symbol));
	return 0;
}

int bpe_merger_merge(struct bpe_merger *m, uint32_t pair, int32_t *merged, struct err *e)
{
	struct bpe_pair *q = &m->pairs.all[pair];
	struct bpe_merge g = { .left = q->left, .right = q->right, .pair = pair };
	struct bpe_merger_work *k = m->work;
	const uint32_t *places = q->places; /* in the arena: valid when pairs.all moves */
	uint32_t n_places = q->n_places;
	int32_t known = m->symbols.n;

	if (bpe_join_symbols(m, g.left, g.right, &g.merged, e) ||
	    neighbours_reserve(&k->before, (size_t)m->symbols.n, e) ||
	    neighbours_reserve(&k->after, (size_t)m->symbols.n, e))
		return e->code;
	g.is_known = g.merged < known;
	assert(!k->before.n_seen && !k->after.n_seen && !k->n_deferred);
	q->places = NULL;
	q->n_places = q->cap_places = 0;
	for (uint32_t i = 0; i < n_places; i++) {
		if (i + AHEAD < n_places)
			__builtin_prefetch(k->cells + places[i + AHEAD], 1);
		if (merge_in_word(m, &g, places[i], e))
			return e->code;
	}
	if (count_neighbour_pairs(m, &g, &k->before, e) ||
	    count_neighbour_pairs(m, &g, &k->after, e) || merge_deferred_words(m, &g, e))
		return e->code;
	m->pairs.all[pair].count = 0;
	*merged = g.merged;
	if (bpe_pairs_update_heap(&m->pairs, e))
		return e->code;
	if (!m->pairs.is_exact && k->step % 100 == 0)
		bpe_pairs_prune(&m->pairs);
	k->step++;
	return 0;
}

int bpe_merger_best(struct bpe_merger *m, uint32_t *pair, struct err *e)
{
	if (bpe_pairs_best(&m->pairs, pair))
		return 1;
	if (bpe_pairs_restart(&m->pairs, m->work->step, e))
		return e->code;
	return bpe_pairs_best(&m->pairs, pair);
}

void bpe_merger_drop(struct bpe_merger *m, uint32_t pair)
{
	m->pairs.all[pair].is_excluded = true;
}

static void neighbours_free(struct bpe_neighbours *d)
{
	free(d->by_symbol);
	free(d->seen);
	free(d->events);
}

void bpe_merger_free(struct bpe_merger *m)
{
	struct bpe_merger_work *k = m->work;

	intern_free(&m->symbols);
	bpe_pairs_free(&m->pairs);
	if (!k)
		return;
	free(k->cells);
	neighbours_free(&k->before);
	neighbours_free(&k->after);
	free(k->deferred);
	free(k->old);
	free(k->tallies);
	hash_index_free(&k->tally_index);
	buf_free(&k->scratch);
	free(k);
	m->work = NULL;
}
