/*
 * sampling.c - log-softmax, mixtures, top-k and nucleus sampling; see sampling.h
 *
 * Probabilities are stored as logarithms, from which the greatest is subtracted before each exp(), so
 * that nothing overflows. A draw takes the first token at which the cumulated probability exceeds a
 * random number. This number depends only on seed, sentence and position, so neither the batch nor the
 * number of threads changes a translation. The nucleus is the fewest tokens, the likeliest first, whose
 * probabilities reach top_p together.
 */
#include "eval/decode/sampling.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "share/base/mem.h"

void sampling_log_softmax(float *x, int32_t n)
{
	float greatest = -INFINITY;
	double sum = 0;

	for (int32_t i = 0; i < n; i++)
		greatest = x[i] > greatest ? x[i] : greatest;
	for (int32_t i = 0; i < n; i++)
		sum += (double)expf(x[i] - greatest);
	sampling_shift(x, n, -((double)greatest + log(sum)));
}

void sampling_log_add(float *sum, const float *x, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		const float high = sum[i] > x[i] ? sum[i] : x[i],
			    low = sum[i] > x[i] ? x[i] : sum[i];

		if (low > -INFINITY)
			sum[i] = high + log1pf(expf(low - high));
		else
			sum[i] = high;
	}
}

void sampling_shift(float *x, int32_t n, double shift)
{
	for (int32_t i = 0; i < n; i++)
		x[i] = (float)((double)x[i] + shift);
}

void sampling_top_k(const float *x, int32_t n, int32_t k, float *values, int32_t *ids)
{
	int32_t have = 0;

	assert(k >= 1 && k <= n);
	for (int32_t i = 0; i < n; i++) {
		int32_t at;

		if (have == k && !(x[i] > values[k - 1]))
			continue;
		at = have < k ? have++ : k - 1;
		for (; at > 0 && x[i] > values[at - 1]; at--) {
			values[at] = values[at - 1];
			ids[at] = ids[at - 1];
		}
		values[at] = x[i];
		ids[at] = i;
	}
}

/* ---- sampling ---------------------------------------------------------- */

struct choice {
	int32_t id;
	float x;
};

static int by_falling_x(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? 1 : -1;
	return x->id < y->id ? -1 : 1;
}

/* Uniform in [0, 1): a multiple of 2^-53. */
static double uniform_at(struct rng_key key, uint64_t position)
{
	const struct rng_block block = rng_block_at(key, position);

	return (double)(((uint64_t)block.v[0] << 32 | block.v[1]) >> 11) * 0x1p-53;
}

/* The first choice at which the cumulated weight exceeds u times the total weight. */
static int32_t draw_choice(const struct choice *choices, int32_t n, double temperature, double u)
{
	double greatest = -INFINITY, total = 0, sum = 0;
	int32_t last = TOKEN_END;

	for (int32_t i = 0; i < n; i++)
		greatest = fmax(greatest, (double)choices[i].x);
	for (int32_t i = 0; i < n; i++)
		total += exp(((double)choices[i].x - greatest) / temperature);
	for (int32_t i = 0; i < n; i++) {
		const double weight = exp(((double)choices[i].x - greatest) / temperature);

		sum += weight;
		if (weight > 0)
			last = choices[i].id;
		if (sum > u * total)
			break;
	}
	return last;
}

/* The least number of sorted choices whose weights reach top_p of the total. */
static int32_t count_nucleus(const struct choice *choices, int32_t n, double temperature,
			     double top_p)
{
	const double greatest = (double)choices[0].x;
	double total = 0, sum = 0;

	for (int32_t i = 0; i < n; i++)
		total += exp(((double)choices[i].x - greatest) / temperature);
	for (int32_t i = 0; i < n; i++) {
		sum += exp(((double)choices[i].x - greatest) / temperature);
		if (sum >= top_p * total)
			return i + 1;
	}
	return n;
}

int32_t sampling_draw_token(const float *x, int32_t n, const struct decode_options *o,
			    struct rng_key key, uint64_t position, struct err *e)
{
	struct choice *choices = mem_alloc((size_t)n, sizeof(*choices), e);
	int32_t kept = 0, id;

	assert(o->temperature > 0 && o->top_p > 0);
	if (!choices)
		return -1;
	for (int32_t i = 0; i < n; i++)
		if (!beam_is_excluded(i))
			choices[kept++] = (struct choice){ i, x[i] };
	if (o->top_k > 0 || o->top_p < 1)
		qsort(choices, (size_t)kept, sizeof(*choices), by_falling_x);
	if (o->top_k > 0)
		kept = MIN(kept, o->top_k);
	if (o->top_p < 1)
		kept = count_nucleus(choices, kept, o->temperature, o->top_p);
	id = draw_choice(choices, kept, o->temperature, uniform_at(key, position));
	free(choices);
	return id;
}
