/* side_likeness.c - are source and target of a held-out set swapped? See side_likeness.h */
#include "data/prep/side_likeness.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

int side_likeness_open(struct side_likeness *l, int32_t n, struct err *e)
{
	*l = (struct side_likeness){ .n = n };
	for (int k = 0; k < 4; k++)
		if (!(l->counts[k / 2][k % 2] = mem_alloc((size_t)n, sizeof(uint32_t), e)))
			return e->code;
	return 0;
}

void side_likeness_free(struct side_likeness *l)
{
	for (int k = 0; k < 4; k++)
		free(l->counts[k / 2][k % 2]);
	*l = (struct side_likeness){ 0 };
}

void side_likeness_begin_set(struct side_likeness *l)
{
	for (int side = 0; side < 2; side++) {
		memset(l->counts[0][side], 0, (size_t)l->n * sizeof(uint32_t));
		l->tokens[0][side] = 0;
	}
}

static void count_side(struct side_likeness *l, int text, int side, const int32_t *ids, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		assert(ids[i] >= 0 && ids[i] < l->n);
		l->counts[text][side][ids[i]]++;
	}
	l->tokens[text][side] += n;
}

void side_likeness_add(struct side_likeness *l, bool is_training, const int32_t *source,
		       int32_t n_source, const int32_t *target, int32_t n_target)
{
	if (is_training && l->training_pairs++ >= LIKENESS_PAIRS)
		return;
	count_side(l, is_training, 0, source, n_source);
	count_side(l, is_training, 1, target, n_target);
}

static double counts_cosine(const uint32_t *a, const uint32_t *b, int32_t n)
{
	double aa = 0, bb = 0, ab = 0;

	for (int32_t i = 0; i < n; i++) {
		aa += (double)a[i] * a[i];
		bb += (double)b[i] * b[i];
		ab += (double)a[i] * b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

bool side_likeness_is_swapped(const struct side_likeness *l, double likeness[2][2])
{
	bool is_enough = true;

	for (int k = 0; k < 4; k++) {
		is_enough &= l->tokens[k / 2][k % 2] >= LIKENESS_TOKENS;
		likeness[k / 2][k % 2] =
			counts_cosine(l->counts[0][k / 2], l->counts[1][k % 2], l->n);
	}
	return is_enough && likeness[0][1] > likeness[0][0] + LIKENESS_MARGIN &&
	       likeness[1][0] > likeness[1][1] + LIKENESS_MARGIN;
}
