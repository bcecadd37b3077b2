/*
 * shortlist_candidates.c - sets of candidate tokens as bit sets; see shortlist_candidates.h
 *
 * The candidates of a sentence are a union: frequent tokens, those that the shortlist has for each of
 * its source tokens, those of its constraint, and </s>. With a bit for each token of the vocabulary a
 * union is cheap, and reading the bits gives the ids in rising order, each once. The candidates of a
 * batch are the union over its sentences; positions say where those of a sentence stand in it.
 */
#include "eval/decode/shortlist_candidates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

static void add_ids_to_set(uint64_t *sentence_set, const int32_t *ids, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		sentence_set[ids[i] / 64] |= (uint64_t)1 << ids[i] % 64;
}

/* Counts the ids in a set of n words; writes them to `to` in rising order if it is not NULL. */
static int32_t read_ids_of_set(const uint64_t *sentence_set, size_t n, int32_t *to)
{
	int32_t found = 0;

	for (size_t i = 0; i < n; i++)
		for (uint64_t left = sentence_set[i]; left; left &= left - 1, found++)
			if (to)
				to[found] = (int32_t)(64 * i) + __builtin_ctzll(left);
	return found;
}

/* Adds the candidates of sentence s to w->sentence_set. */
static void collect_sentence_ids(struct shortlist_candidates *w, const struct shortlist *l,
				 const struct batch *b, int32_t s,
				 const struct decode_constraint *constraint)
{
	static const int32_t end = TOKEN_END;
	int32_t n;
	const int32_t *ids = shortlist_frequent(l, &n);

	add_ids_to_set(w->sentence_set, &end, 1);
	add_ids_to_set(w->sentence_set, ids, n);
	for (int32_t i = b->source_start[s]; i < b->source_start[s + 1]; i++) {
		ids = shortlist_of_token(l, b->source[i], &n);
		add_ids_to_set(w->sentence_set, ids, n);
	}
	if (!constraint)
		return;
	add_ids_to_set(w->sentence_set, constraint->prefix, constraint->n_prefix);
	for (int32_t i = 0; i < constraint->n_phrases; i++)
		add_ids_to_set(w->sentence_set, constraint->phrases[i].tokens,
			       constraint->phrases[i].n);
}

/* Turns w->positions from token ids into positions in w->ids. rank: (vocabulary) scratch. */
static void map_ids_to_positions(struct shortlist_candidates *w, int32_t total, int32_t *rank)
{
	for (int32_t i = 0; i < w->n; i++)
		rank[w->ids[i]] = i;
	for (int32_t i = 0; i < total; i++) {
		w->positions[i] = rank[w->positions[i]];
		assert(w->positions[i] >= 0 && w->positions[i] < w->n);
	}
}

int shortlist_candidates_find(struct shortlist_candidates *w, const struct shortlist *l,
			      int32_t vocabulary, const struct batch *b,
			      const struct decode_constraint *const *constraints, struct err *e)
{
	const size_t n_set = CEIL_DIV((size_t)vocabulary, 64);
	int32_t *rank;

	if (!w->sentence_set) {
		w->sentence_set = mem_alloc(n_set, sizeof(*w->sentence_set), e);
		w->batch_set = mem_alloc(n_set, sizeof(*w->batch_set), e);
	}
	if (!w->sentence_set || !w->batch_set ||
	    mem_grow(&w->start, &w->cap_start, (size_t)b->n + 1, sizeof(*w->start), e) ||
	    mem_grow(&w->ids, &w->cap_ids, (size_t)vocabulary, sizeof(*w->ids), e))
		return e->code;
	memset(w->batch_set, 0, n_set * sizeof(*w->batch_set));
	w->max_per_sentence = 0;
	w->start[0] = 0;
	for (int32_t s = 0; s < b->n; s++) {
		int32_t n;

		memset(w->sentence_set, 0, n_set * sizeof(*w->sentence_set));
		collect_sentence_ids(w, l, b, s, constraints ? constraints[s] : NULL);
		for (size_t i = 0; i < n_set; i++)
			w->batch_set[i] |= w->sentence_set[i];
		n = read_ids_of_set(w->sentence_set, n_set, NULL);
		if (w->start[s] > INT32_MAX - n)
			return err_set(e, ERR_NOMEM,
				       "the shortlist candidates of a batch are too many: lower "
				       "--decode-tokens");
		w->start[s + 1] = w->start[s] + n;
		w->max_per_sentence = MAX(w->max_per_sentence, n);
		if (mem_grow(&w->positions, &w->cap_positions, (size_t)w->start[s + 1],
			     sizeof(*w->positions), e))
			return e->code;
		read_ids_of_set(w->sentence_set, n_set, w->positions + w->start[s]);
	}
	w->n = read_ids_of_set(w->batch_set, n_set, w->ids);
	rank = mem_alloc((size_t)vocabulary, sizeof(*rank), e);
	if (!rank)
		return e->code;
	map_ids_to_positions(w, w->start[b->n], rank);
	free(rank);
	return 0;
}

void shortlist_candidates_free(struct shortlist_candidates *w)
{
	free(w->ids);
	free(w->start);
	free(w->positions);
	free(w->sentence_set);
	free(w->batch_set);
	*w = (struct shortlist_candidates){ 0 };
}
