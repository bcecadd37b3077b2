/*
 * sp_lattice.c - all splits of a text by a unigram model: see sp_lattice.h
 *
 * Sampling: a forward pass sums the probabilities of all splits up to each byte, in logarithms. Then the
 * last part is drawn by its share of the sum, then the part before it, and so on. N-best: each byte keeps
 * the best N splits up to it, which are extended by each arc that starts there.
 */
#include "data/sentencepiece/sp_lattice.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "data/subword/bpe_line.h"
#include "share/base/mem.h"
#include "share/base/util.h"

static int add_arc(struct sp_lattice *l, size_t start, size_t end, int32_t id, double score,
		   struct err *e)
{
	if (l->n_arcs >= INT32_MAX)
		return err_set(e, ERR_DATA, "a text with more than %d pieces", INT32_MAX);
	if (mem_grow(&l->arcs, &l->cap_arcs, l->n_arcs + 1, sizeof(*l->arcs), e))
		return e->code;
	l->arcs[l->n_arcs] =
		(struct lattice_arc){ (int32_t)start, (int32_t)end, id, l->ends[end].last, score };
	l->ends[end].last = (int32_t)l->n_arcs++;
	return 0;
}

/* Add the arcs that start at byte i with a character of len bytes. */
static int add_arcs_from(struct sp_lattice *l, const struct unigram_table *t, const char *text,
			 size_t n, size_t i, size_t len, struct err *e)
{
	uint32_t node = PIECE_TRIE_ROOT;
	bool has_character = false;

	for (size_t k = i; k < n && piece_trie_step(&t->trie, &node, (unsigned char)text[k]); k++) {
		const int32_t id = t->trie.units[node].id;

		if (id < 0)
			continue;
		has_character |= k + 1 - i == len;
		if (add_arc(l, i, k + 1, id, t->lattice_scores[id], e))
			return e->code;
	}
	return has_character ? 0 : add_arc(l, i, i + len, -1, (double)t->unknown, e);
}

int sp_lattice_fill(struct sp_lattice *l, const struct unigram_table *t, const char *text, size_t n,
		    struct err *e)
{
	assert(n);
	if (n >= INT32_MAX)
		return err_set(e, ERR_DATA, "a text of more than %d bytes", INT32_MAX);
	if (mem_grow(&l->ends, &l->cap_ends, n + 1, sizeof(*l->ends), e))
		return e->code;
	for (size_t i = 0; i <= n; i++)
		l->ends[i] = (struct lattice_end){ .last = -1 };
	l->n = (int32_t)n;
	l->n_arcs = 0;
	for (size_t i = 0, len; i < n; i += len) {
		len = MIN(bpe_char_length(text + i, n - i), n - i);
		if (add_arcs_from(l, t, text, n, i, len, e))
			return e->code;
	}
	return 0;
}

void sp_lattice_free(struct sp_lattice *l)
{
	free(l->arcs);
	free(l->ends);
	free(l->paths);
	*l = (struct sp_lattice){ 0 };
}

static int add_arc_part(struct sp_split *to, const struct lattice_arc *a, struct err *e)
{
	struct sp_part part = { (size_t)a->start, (size_t)(a->end - a->start), a->id, a->score };

	return sp_split_add(to, &part, e);
}

/* ---- sampling ---- */

/* Uniform between 0 and 1, both excluded, with 32 bits. */
static double unit_number(struct rng_key key, uint64_t i)
{
	return ((double)rng_u32(key, i) + 0.5) / 4294967296.0;
}

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
	double most = MAX(a, b);

	return most == -INFINITY ? most : most + log1p(exp(MIN(a, b) - most));
}

static void sum_forward(struct sp_lattice *l, double theta)
{
	for (int32_t i = 1; i <= l->n; i++)
		l->ends[i].alpha = -INFINITY;
	l->ends[0].alpha = 0;
	for (size_t i = 0; i < l->n_arcs; i++) {
		const struct lattice_arc *a = &l->arcs[i];
		double *to = &l->ends[a->end].alpha;

		*to = log_add(*to, l->ends[a->start].alpha + theta * a->score);
	}
}

/* The arc that ends at a byte where a number from 0 to 1 falls among the shares of all of them. */
static const struct lattice_arc *draw_arc(const struct sp_lattice *l, int32_t end, double theta,
					  double number)
{
	const struct lattice_arc *a = NULL;

	for (int32_t i = l->ends[end].last; i >= 0; i = a->previous) {
		a = &l->arcs[i];
		number -= exp(l->ends[a->start].alpha + theta * a->score - l->ends[end].alpha);
		if (number < 0)
			break;
	}
	assert(a);
	return a;
}

int sp_lattice_sample(struct sp_lattice *l, double theta, struct rng_key key, uint64_t first,
		      struct sp_split *to, struct err *e)
{
	assert(theta > 0);
	sum_forward(l, theta);
	to->n = 0;
	for (int32_t end = l->n; end > 0;) {
		const struct lattice_arc *a = draw_arc(l, end, theta, unit_number(key, first++));

		if (add_arc_part(to, a, e))
			return e->code;
		end = a->start;
	}
	sp_split_reverse(to);
	return 0;
}

/* ---- the N best ---- */

/* Is path a before path b? Among equals the one that was found first. */
static int compare_paths(const void *a, const void *b)
{
	const struct lattice_path *x = a, *y = b;

	if (x->score < y->score || x->score > y->score)
		return x->score > y->score ? -1 : 1;
	if (x->arc != y->arc)
		return x->arc < y->arc ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* List all paths to an end, then keep the best wanted ones. */
static int find_paths_to(struct sp_lattice *l, int32_t end, size_t wanted, struct err *e)
{
	struct lattice_end *to = &l->ends[end];

	to->paths = l->n_paths;
	for (int32_t i = to->last; i >= 0; i = l->arcs[i].previous) {
		const struct lattice_end *from = &l->ends[l->arcs[i].start];

		if (mem_grow(&l->paths, &l->cap_paths, l->n_paths + from->n_paths,
			     sizeof(*l->paths), e))
			return e->code;
		for (size_t k = 0; k < from->n_paths; k++)
			l->paths[l->n_paths++] = (struct lattice_path){
				l->paths[from->paths + k].score + l->arcs[i].score, i, (int32_t)k
			};
	}
	if (l->n_paths > to->paths)
		qsort(l->paths + to->paths, l->n_paths - to->paths, sizeof(*l->paths),
		      compare_paths);
	to->n_paths = MIN(l->n_paths - to->paths, wanted);
	l->n_paths = to->paths + to->n_paths;
	return 0;
}

int sp_lattice_find_best(struct sp_lattice *l, size_t wanted, size_t *found, struct err *e)
{
	assert(wanted >= 1 && wanted <= SP_LATTICE_MOST);
	if (mem_grow(&l->paths, &l->cap_paths, 1, sizeof(*l->paths), e))
		return e->code;
	l->paths[0] = (struct lattice_path){ 0, -1, 0 };
	l->ends[0].paths = 0;
	l->ends[0].n_paths = l->n_paths = 1;
	for (int32_t end = 1; end <= l->n; end++)
		if (find_paths_to(l, end, wanted, e))
			return e->code;
	*found = l->ends[l->n].n_paths;
	return 0;
}

size_t sp_lattice_draw_rank(const struct sp_lattice *l, double theta, struct rng_key key)
{
	const struct lattice_end *end = &l->ends[l->n];
	const struct lattice_path *paths = l->paths + end->paths;
	double sum = 0, number;

	for (size_t i = 0; i < end->n_paths; i++)
		sum += exp(theta * (paths[i].score - paths[0].score));
	number = unit_number(key, 0) * sum;
	for (size_t i = 0; i + 1 < end->n_paths; i++) {
		number -= exp(theta * (paths[i].score - paths[0].score));
		if (number < 0)
			return i;
	}
	return end->n_paths - 1;
}

int sp_lattice_get_best(const struct sp_lattice *l, size_t rank, struct sp_split *to, double *score,
			struct err *e)
{
	assert(rank < l->ends[l->n].n_paths);
	*score = l->paths[l->ends[l->n].paths + rank].score;
	to->n = 0;
	for (int32_t end = l->n; end > 0;) {
		const struct lattice_path *p = &l->paths[l->ends[end].paths + rank];

		if (add_arc_part(to, &l->arcs[p->arc], e))
			return e->code;
		end = l->arcs[p->arc].start;
		rank = (size_t)p->rank;
	}
	sp_split_reverse(to);
	return 0;
}
