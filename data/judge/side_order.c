/* side_order.c - see side_order.h */
#include "data/judge/side_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define ROUNDS	     5
#define MOST_WEIGHT  3.0f
#define LEAST_MEAN   0.4f /* of the weights of a swapped side */
#define LEAST_UNITED 0.3f /* |order| from which a pair takes part in the next round */
#define LEAST_WORDS  3	  /* of each side of a swapped pair */

struct side_order {
	const struct word_marks *marks;
	const struct judged_lines *lines; /* training text; only while learning */
	int32_t n_words;
	float *weights;	     /* owned: (words) > 0: a word of sources */
	int32_t *counts[2];  /* owned: (words) on each side */
	signed char *orders; /* owned: (lines) 1: as declared, -1: swapped, 0: unknown */
	float sign;	     /* -1: most pairs were taken for swapped */
};

/* Words of a language among those of a side. */
static int count_language(const struct side_order *o, const struct judged_line *l, int side,
			  int row)
{
	const int32_t *words = judged_words(o->lines, l, side);
	int n = 0;

	for (uint32_t i = 0; i < l->sides[side].n; i++)
		n += (int)(o->marks->marks[words[i]].languages >> row & 1);
	return n;
}

/* Where to begin: by the lists of words, or as if the first block were in order. */
static void guess_orders(struct side_order *o, int source, int target)
{
	for (size_t i = 0; i < o->lines->n; i++) {
		const struct judged_line *l = &o->lines->lines[i];
		int order = i < JUDGE_BLOCK_LINES;

		if (source >= 0 && target >= 0 && source != target)
			order = count_language(o, l, 0, source) - count_language(o, l, 0, target) +
				count_language(o, l, 1, target) - count_language(o, l, 1, source);
		o->orders[i] = (signed char)((order > 0) - (order < 0));
	}
}

static void weigh_words(struct side_order *o)
{
	const size_t n = (size_t)o->n_words;
	double sums[2] = { 1, 1 };

	for (int side = 0; side < 2; side++)
		memset(o->counts[side], 0, n * sizeof(**o->counts));
	for (size_t i = 0; i < o->lines->n; i++) {
		const struct judged_line *l = &o->lines->lines[i];

		for (int side = 0; side < 2 && o->orders[i]; side++) {
			const int to = o->orders[i] > 0 ? side : 1 - side;
			const int32_t *words = judged_words(o->lines, l, side);

			for (uint32_t k = 0; k < l->sides[side].n; k++)
				o->counts[to][words[k]]++;
			sums[to] += l->sides[side].n;
		}
	}
	for (size_t word = 0; word < n; word++) {
		const float w = logf((float)((o->counts[0][word] + 0.5) / sums[0] /
					     ((o->counts[1][word] + 0.5) / sums[1])));

		o->weights[word] = MAX(MIN(w, MOST_WEIGHT), -MOST_WEIGHT);
	}
}

static float mean_weight(const struct side_order *o, const struct judged_lines *t,
			 const struct judged_line *l, int side)
{
	const int32_t *words = judged_words(t, l, side);
	float sum = 0;

	for (uint32_t i = 0; i < l->sides[side].n; i++)
		sum += words[i] < o->n_words ? o->weights[words[i]] : 0;
	return l->sides[side].n ? sum / (float)l->sides[side].n : 0;
}

static void order_line_pairs(struct side_order *o)
{
	for (size_t i = 0; i < o->lines->n; i++) {
		const struct judged_line *l = &o->lines->lines[i];
		const float order = mean_weight(o, o->lines, l, 0) - mean_weight(o, o->lines, l, 1);

		o->orders[i] = (signed char)((order > LEAST_UNITED) - (order < -LEAST_UNITED));
	}
}

void side_order_mark(const struct side_order *o, const struct judged_lines *t, bool *is_swapped)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct judged_line *l = &t->lines[i];

		is_swapped[i] = MIN(l->sides[0].n, l->sides[1].n) >= LEAST_WORDS &&
				o->sign * mean_weight(o, t, l, 0) < -LEAST_MEAN &&
				o->sign * mean_weight(o, t, l, 1) > LEAST_MEAN;
	}
}

struct side_order *side_order_new(const struct word_marks *m, const struct judged_lines *t,
				  int source, int target, struct err *e)
{
	struct side_order *o = mem_alloc(1, sizeof(*o), e);
	const size_t n = (size_t)MAX(m->words.n, 1);
	int64_t balance = 0;

	if (!o)
		return NULL;
	*o = (struct side_order){ .marks = m, .lines = t, .n_words = m->words.n, .sign = 1 };
	o->weights = mem_alloc(n, sizeof(*o->weights), e);
	o->counts[0] = o->weights ? mem_alloc(n, sizeof(**o->counts), e) : NULL;
	o->counts[1] = o->counts[0] ? mem_alloc(n, sizeof(**o->counts), e) : NULL;
	o->orders = o->counts[1] ? mem_alloc(MAX(t->n, 1), sizeof(*o->orders), e) : NULL;
	if (!o->orders) {
		side_order_free(o);
		return NULL;
	}
	guess_orders(o, source, target);
	for (int round = 0; round < ROUNDS; round++) {
		weigh_words(o);
		order_line_pairs(o);
	}
	for (size_t i = 0; i < t->n && (source < 0 || target < 0); i++)
		balance += o->orders[i];
	o->sign = balance < 0 ? -1 : 1;
	return o;
}

void side_order_free(struct side_order *o)
{
	if (!o)
		return;
	free(o->weights);
	free(o->counts[0]);
	free(o->counts[1]);
	free(o->orders);
	free(o);
}
