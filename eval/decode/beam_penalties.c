/*
 * beam_penalties.c - changes the scores of tokens before a step: repetition, repeated n-grams, the least length.
 *
 * The rules are those of Hugging Face's beam search: they work on log-probabilities, which are not normalised
 * again. Within a prefix nothing is changed, but its tokens count as tokens of the translation. </s>, and the
 * first token of the side, count nowhere.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "eval/decode/beam_internal.h"

/* Writes the tokens of a live hypothesis to b->path, in order. Returns their number. */
static int32_t list_path(const struct beam *b, int32_t node)
{
	const int32_t end = b->first_token != TOKEN_PAD ? 1 : 0;
	int32_t n = 0;

	for (int32_t i = node; i >= end; i = b->nodes[i].parent)
		n++;
	assert(n <= b->max_length);
	for (int32_t i = node, at = n; i >= end; i = b->nodes[i].parent)
		b->path[--at] = b->nodes[i].token;
	return n;
}

/* Bans each token that would complete an n-gram which the path has already. */
static void ban_ngrams(const int32_t *path, int32_t length, int32_t n, float *row)
{
	for (int32_t i = 0; i + n <= length; i++) {
		int32_t same = 0;

		while (same < n - 1 && path[i + same] == path[length - (n - 1) + same])
			same++;
		if (same == n - 1)
			row[path[i + n - 1]] = -INFINITY;
	}
}

static int compare_tokens(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Keskar et al. 2019: once for each token that the path has; sorts the path. */
static void penalise_repetition(int32_t *path, int32_t length, double penalty, float *row)
{
	qsort(path, (size_t)length, sizeof(*path), compare_tokens);
	for (int32_t i = 0; i < length; i++) {
		float *x = &row[path[i]];

		if (i && path[i] == path[i - 1])
			continue;
		*x = (float)(*x < 0 ? (double)*x * penalty : (double)*x / penalty);
	}
}

/* Is a token left that a translation may contain? */
static bool has_other_token(const float *row, int32_t n_real)
{
	for (int32_t i = 0; i < n_real; i++)
		if (i != TOKEN_END && !beam_is_excluded(i) && row[i] > -INFINITY)
			return true;
	return false;
}

static void penalise_row(const struct beam *b, int32_t node, float *row, int32_t n_real)
{
	const struct decode_options *o = &b->o;
	const int32_t n = list_path(b, node);

	if (o->no_repeat_ngram > 0)
		ban_ngrams(b->path, n, o->no_repeat_ngram, row);
	if (o->repetition_penalty > 0 && o->repetition_penalty != 1)
		penalise_repetition(b->path, n, o->repetition_penalty, row);
	/* the end is the last resort if all other tokens are banned */
	if (n < o->min_length && has_other_token(row, n_real))
		row[TOKEN_END] = -INFINITY;
}

void beam_change_scores(const struct beam *b, float *all, int64_t stride, int32_t n_real)
{
	beam_ban_phrases(b, all, stride);
	if (!decode_has_penalties(&b->o) || beam_in_prefix(b))
		return;
	for (int32_t row = 0; row < b->n_live; row++)
		penalise_row(b, b->live[row].node, all + row * stride, n_real);
}
