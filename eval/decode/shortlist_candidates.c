/* shortlist_candidates.c - see shortlist_candidates.h */
#include "eval/decode/shortlist_candidates.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

static void put(uint64_t *set, const int32_t *ids, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		set[ids[i] / 64] |= (uint64_t)1 << ids[i] % 64;
}

/* How many are in a set; to: their ids, rising; NULL: they are counted alone. */
static int32_t take(const uint64_t *set, size_t n, int32_t *to)
{
	int32_t found = 0;

	for (size_t i = 0; i < n; i++)
		for (uint64_t left = set[i]; left; left &= left - 1, found++)
			if (to)
				to[found] = (int32_t)(64 * i) + __builtin_ctzll(left);
	return found;
}

/* The tokens of sentence s into w->set. */
static void choose(struct allowed *w, const struct shortlist *l, const struct batch *b, int32_t s,
		   const struct decode_wish *wish)
{
	static const int32_t end = TOKEN_END;
	int32_t n;
	const int32_t *ids = shortlist_frequent(l, &n);

	put(w->set, &end, 1);
	put(w->set, ids, n);
	for (int32_t i = b->source_start[s]; i < b->source_start[s + 1]; i++) {
		ids = shortlist_of(l, b->source[i], &n);
		put(w->set, ids, n);
	}
	if (!wish)
		return;
	put(w->set, wish->prefix, wish->n_prefix);
	for (int32_t i = 0; i < wish->n_phrases; i++)
		put(w->set, wish->phrases[i].tokens, wish->phrases[i].n);
}

/* Ids of each sentence become their places among all. rank: (vocabulary) scratch. */
static void find_places(struct allowed *w, int32_t total, int32_t *rank)
{
	for (int32_t i = 0; i < w->n; i++)
		rank[w->ids[i]] = i;
	for (int32_t i = 0; i < total; i++)
		w->places[i] = rank[w->places[i]];
}

int allowed_choose(struct allowed *w, const struct shortlist *l, int32_t vocabulary,
		 const struct batch *b, const struct decode_wish *const *wishes, struct err *e)
{
	const size_t n_set = CEIL_DIV((size_t)vocabulary, 64);
	int32_t *rank;

	if (!w->set) {
		w->set = mem_alloc(n_set, sizeof(*w->set), e);
		w->together = mem_alloc(n_set, sizeof(*w->together), e);
	}
	if (!w->set || !w->together ||
	    mem_grow(&w->start, &w->cap_start, (size_t)b->n + 1, sizeof(*w->start), e) ||
	    mem_grow(&w->ids, &w->cap_ids, (size_t)vocabulary, sizeof(*w->ids), e))
		return e->code;
	memset(w->together, 0, n_set * sizeof(*w->together));
	w->most = 0;
	w->start[0] = 0;
	for (int32_t s = 0; s < b->n; s++) {
		int32_t n;

		memset(w->set, 0, n_set * sizeof(*w->set));
		choose(w, l, b, s, wishes ? wishes[s] : NULL);
		for (size_t i = 0; i < n_set; i++)
			w->together[i] |= w->set[i];
		n = take(w->set, n_set, NULL);
		if (w->start[s] > INT32_MAX - n)
			return err_set(e, ERR_NOMEM, "too many sentences at once");
		w->start[s + 1] = w->start[s] + n;
		w->most = MAX(w->most, n);
		if (mem_grow(&w->places, &w->cap_places, (size_t)w->start[s + 1],
			     sizeof(*w->places), e))
			return e->code;
		take(w->set, n_set, w->places + w->start[s]);
	}
	w->n = take(w->together, n_set, w->ids);
	rank = mem_alloc((size_t)vocabulary, sizeof(*rank), e);
	if (!rank)
		return e->code;
	find_places(w, w->start[b->n], rank);
	free(rank);
	return 0;
}

void allowed_free(struct allowed *w)
{
	free(w->ids);
	free(w->start);
	free(w->places);
	free(w->set);
	free(w->together);
	*w = (struct allowed){ 0 };
}
