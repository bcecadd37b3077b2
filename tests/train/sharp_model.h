/*
 * sharp_model.h - a very small model whose distributions are far from uniform, and its
 * log-probabilities by full forward passes; for tests of decoding
 */
#ifndef WERKBANK_TESTS_TRAIN_SHARP_MODEL_H
#define WERKBANK_TESTS_TRAIN_SHARP_MODEL_H

#include <math.h>
#include <stdlib.h>

#include "data/shard/token_batch.h"
#include "eval/decode/decode.h"
#include "share/base/mem.h"
#include "tests/test.h"
#include "train/model/model.h"

#define CAPACITY  256
#define WIDTH	  16
#define N_REAL	  12
#define N_SOURCES 6

static const int32_t words[] = { 4, 7, 5, 11, 6, 9, 10, 8, 4, 4, 5, 11, 9, 6, 7, 10, 8, 5, 4, 6 };
static const struct decode_source sources[N_SOURCES] = {
	{ words, 3 },	   { words + 2, 7 }, { words + 1, 1 },
	{ words + 3, 12 }, { words + 5, 3 }, { words, 20 },
};

/* Larger weights make distributions far from uniform; a shift towards </s> ends sentences. */
static inline struct model *sharp_model(uint64_t seed)
{
	struct model_shape shape = { .d_model = WIDTH,
				     .d_ff = 32,
				     .heads = 2,
				     .encoder_layers = 2,
				     .decoder_layers = 3,
				     .vocabulary = 16,
				     .real_vocabulary = N_REAL };
	struct dev_options dev = { .threads = 1 };
	struct err e = { 0 };
	struct model *m = model_new(&shape, ops_cpu(), &dev, &e);
	float *p, *shift, *end;

	if (!m || model_reserve_forward(m, CAPACITY, CAPACITY / 2, &e) || model_init(m, seed, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		model_free(m);
		return NULL;
	}
	p = model_param_arena(m);
	for (int64_t i = 0; i < model_floats(m); i++)
		p[i] *= 1.7f;
	shift = model_output_norm(m).shift;
	end = (float *)model_get_weights(m)->embed.data + TOKEN_END * WIDTH;
	for (int i = 0; i < WIDTH; i++)
		shift[i] += 1.2f * end[i];
	return m;
}

static inline double nll_of(struct model *m, const struct decode_source *s, const int32_t *target,
			    int32_t n)
{
	struct model_sums sums = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };

	check_int(batch_alloc(&b, 4, CAPACITY, &e), 0);
	check(batch_add(&b, 0, s->ids, s->n, target, n));
	check_int(model_evaluate(m, &b, 0, &sums, &e), 0);
	batch_free(&b);
	return sums.nll;
}

/*
 * Log-probabilities of the token after a prefix, by one forward pass for each token: only the last
 * target token differs between the passes.
 */
static inline void next_token(struct model *m, const struct decode_source *s, const int32_t *prefix,
			      int32_t n, double p[N_REAL])
{
	struct model_sums sums = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };
	double total = 0, best = -INFINITY;

	check_int(batch_alloc(&b, 4, CAPACITY, &e), 0);
	check(batch_add(&b, 0, s->ids, s->n, prefix, n));
	for (int32_t y = 0; y < N_REAL; y++) {
		b.target_out[n] = y;
		check_int(model_evaluate(m, &b, 0, &sums, &e), 0);
		p[y] = -sums.nll;
		best = MAX(best, p[y]);
	}
	for (int32_t y = 0; y < N_REAL; y++)
		total += exp(p[y] - best);
	for (int32_t y = 0; y < N_REAL; y++)
		p[y] -= best + log(total);
	batch_free(&b);
}

#endif
