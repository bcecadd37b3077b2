/*
 * bpe_tally.c - words whose pair counts drift as in subword-nmt: see bpe_words.h
 *
 * subword-nmt updates its counts after a merge by rules that are wrong in rare words, and later
 * merges depend on the wrong counts. To learn the same codes, these words follow subword-nmt's
 * arithmetic step by step: uncount_old_pairs() and count_merged_pairs() are its two loops over
 * the word before and after the merge. A tally says how often a pair counts in one word.
 */
#include "data/subword/bpe_words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/subword/bpe_line.h"
#include "share/base/mem.h"

/* ---- tallies ---- */

struct tally_key {
	uint32_t pair, place;
};

static uint64_t tally_hash(struct tally_key key)
{
	return hash_integer((uint64_t)key.place << 32 | key.pair);
}

static bool tally_has_key(const void *tallies, uint32_t i, const void *key)
{
	const struct bpe_tally *t = (const struct bpe_tally *)tallies + i;
	const struct tally_key *k = key;

	return t->pair == k->pair && t->place == k->place;
}

static int add_tally(struct bpe_merger_work *k, uint32_t pair, uint32_t place, int times,
		     struct err *e)
{
	struct tally_key key = { pair, place };
	uint64_t hash = tally_hash(key), *slot;

	if (hash_index_reserve(&k->tally_index, k->n_tallies, 256, e))
		return e->code;
	slot = hash_index_slot(&k->tally_index, hash, tally_has_key, k->tallies, &key);
	if (!*slot) {
		if (k->n_tallies >= HASH_INDEX_MAX)
			return err_set(e, ERR_NOMEM, "too many pairs in words with tallies");
		if (mem_grow(&k->tallies, &k->cap_tallies, k->n_tallies + 1, sizeof(*k->tallies),
			     e))
			return e->code;
		hash_slot_fill(slot, hash, (uint32_t)k->n_tallies);
		k->tallies[k->n_tallies++] = (struct bpe_tally){ .pair = pair, .place = place };
	}
	k->tallies[hash_slot_entry(slot)].tally += times;
	return 0;
}

int32_t bpe_reset_tally(struct bpe_merger_work *k, uint32_t pair, uint32_t place)
{
	struct tally_key key = { pair, place };
	int64_t i =
		hash_index_find(&k->tally_index, tally_hash(key), tally_has_key, k->tallies, &key);
	int32_t tally = i < 0 ? 0 : k->tallies[i].tally;

	if (i >= 0)
		k->tallies[i].tally = 0;
	return tally;
}

int bpe_start_tallies(struct bpe_merger *m, uint32_t place, const struct bpe_merge *g,
		      struct err *e)
{
	struct bpe_merger_work *k = m->work;
	const int32_t *s = word_symbols(k, place);
	uint32_t n = word_n(k, place), pair;

	for (uint32_t i = 0; i + 1 < n; i++) {
		if (bpe_pairs_get(&m->pairs, s[i], s[i + 1], &pair, e))
			return e->code;
		if ((!g || pair != g->pair) && add_tally(k, pair, place, 1, e))
			return e->code;
	}
	k->cells[place] |= WORD_HAS_TALLIES;
	return 0;
}

/* Count a pair once more (or once less) in a word with tallies. */
static int count_tallied_pair(struct bpe_merger *m, const int32_t *pair_of, uint32_t place,
			      int times, struct err *e)
{
	uint32_t pair, *at;

	if (bpe_pairs_get(&m->pairs, pair_of[0], pair_of[1], &pair, e) ||
	    bpe_pairs_count(&m->pairs, pair, times * word_count(m->work, place), e) ||
	    bpe_pairs_add_places(&m->pairs, pair, 1, &at, e))
		return e->code;
	*at = place; /* also for one less: the merge must find the tally */
	return add_tally(m->work, pair, place, times, e);
}

/* ---- words with white space ---- */

static bool has_space_at(const char *text, size_t n)
{
	return n && bpe_is_space(text, bpe_char_length(text, n));
}

/*
 * Does symbol s end in the string of g->left, from its start or after white space, from byte from
 * on?
 */
static bool ends_in_left(const struct intern *symbols, const struct bpe_merge *g, int32_t s,
			 size_t from)
{
	size_t n, n_left, start, before;
	const char *text = intern_text(symbols, s, &n);
	const char *left = intern_text(symbols, g->left, &n_left);

	if (n < n_left || n - n_left < from || memcmp(text + n - n_left, left, n_left))
		return false;
	start = before = n - n_left;
	while (before && ((unsigned char)text[--before] & 0xC0) == 0x80)
		;
	return start == 0 || has_space_at(text + before, start - before);
}

static bool begins_with_right(const struct intern *symbols, const struct bpe_merge *g, int32_t s)
{
	size_t n, n_right;
	const char *text = intern_text(symbols, s, &n);
	const char *right = intern_text(symbols, g->right, &n_right);

	return n >= n_right && !memcmp(text, right, n_right) &&
	       (n == n_right || has_space_at(text + n_right, n - n_right));
}

/*
 * bpe_replace_pair() for words with white space such as U+00A0. subword-nmt joins the symbols by
 * blanks and replaces by a regular expression, for which any white space ends a symbol: so the
 * expression also matches inside symbols.
 */
static int replace_in_text(struct bpe_merger *m, const struct bpe_merge *g, uint32_t n, int32_t *s,
			   uint32_t *n_new, struct err *e)
{
	const int32_t *old = m->work->old;
	size_t n_right, from = 0; /* byte of old[i] where the next match may begin */
	uint32_t out = 0;

	intern_text(&m->symbols, g->right, &n_right);
	s[0] = old[0];
	for (uint32_t i = 0; i + 1 < n; i++) {
		if (ends_in_left(&m->symbols, g, old[i], from) &&
		    begins_with_right(&m->symbols, g, old[i + 1])) {
			if (bpe_join_symbols(m, s[out], old[i + 1], &s[out], e))
				return e->code;
			from = n_right;
		} else {
			s[++out] = old[i + 1];
			from = 0;
		}
	}
	*n_new = out + 1;
	return 0;
}

/* ---- merging ---- */

/* Subtract the pairs that overlapped with an occurrence of the merged pair in the old word. */
static int uncount_old_pairs(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
			     uint32_t n, struct err *e)
{
	const int32_t *old = m->work->old;

	for (uint32_t i = 0; i + 1 < n; i++) {
		if (old[i] != g->left || old[i + 1] != g->right)
			continue;
		if (i && count_tallied_pair(m, old + i - 1, place, -1, e))
			return e->code;
		/* In A B C B C the next occurrence of B C subtracts the pair C B. */
		if (i + 2 < n && (old[i + 2] != g->left || i + 3 >= n || old[i + 3] != g->right) &&
		    count_tallied_pair(m, old + i + 1, place, -1, e))
			return e->code;
		i++;
	}
	return 0;
}

/* Count the pairs with the merged symbol in the new word; as in subword-nmt also the old ones. */
static int count_merged_pairs(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
			      struct err *e)
{
	const int32_t *s = word_symbols(m->work, place);
	uint32_t n = word_n(m->work, place);

	for (uint32_t i = 0; i < n; i++) {
		if (s[i] != g->merged)
			continue;
		if (i && count_tallied_pair(m, s + i - 1, place, 1, e))
			return e->code;
		if (i + 1 < n && s[i + 1] != g->merged && count_tallied_pair(m, s + i, place, 1, e))
			return e->code;
	}
	return 0;
}

int bpe_merge_tallied(struct bpe_merger *m, const struct bpe_merge *g, uint32_t place,
		      struct err *e)
{
	struct bpe_merger_work *k = m->work;
	uint32_t n = word_n(k, place), n_new = 0;
	int32_t *s = word_symbols(k, place);

	assert(k->cells[place] & WORD_HAS_TALLIES && n <= k->longest);
	memcpy(k->old, s, n * sizeof(*s));
	if (!(k->cells[place] & WORD_SPACE))
		n_new = bpe_replace_pair(g, k->old, n, s);
	else if (replace_in_text(m, g, n, s, &n_new, e))
		return e->code;
	word_set_n(k, place, n_new);
	return uncount_old_pairs(m, g, place, n, e) ? e->code : count_merged_pairs(m, g, place, e);
}
