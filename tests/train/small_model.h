/*
 * small_model.h - a very small Transformer and batches for it, for the tests of
 * model, training and checkpoints. tests/peers/pytorch_model.py has the same
 * sizes and formulas.
 */
#ifndef WERKBANK_TESTS_TRAIN_SMALL_MODEL_H
#define WERKBANK_TESTS_TRAIN_SMALL_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "tests/test.h"
#include "train/model/model.h"

#define SMALL_TOKENS	64
#define SMALL_SENTENCES 8

static inline struct model_shape small_shape(void)
{
	return (struct model_shape){ .d_model = 16,
				     .d_ff = 24,
				     .heads = 4,
				     .encoder_layers = 2,
				     .decoder_layers = 2,
				     .vocabulary = 32,
				     .real_vocabulary = 29 };
}

/* A model reserved for training; NULL after a failed check. ops is borrowed. */
static inline struct model *small_model_on(const struct ops *ops, bool bf16)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = 2, .bf16 = bf16, .graphs = true };
	struct err e = { 0 };
	struct model *m = model_new(&shape, ops, &options, &e);

	if (!m || model_reserve_training(m, SMALL_TOKENS, SMALL_SENTENCES, &e)) {
		test_fail(__FILE__, __LINE__, "%s: %s", ops->name, e.text);
		model_free(m);
		return NULL;
	}
	return m;
}

/* The same on a backend by its name, "ref" or "cpu". */
static inline struct model *small_model(const char *backend, bool bf16)
{
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);

	if (!ops)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return ops ? small_model_on(ops, bf16) : NULL;
}

/* Add sentence s of the formulas' batch. */
static inline void small_add(struct batch *b, int s, int n_source, int n_target)
{
	int32_t source[SMALL_TOKENS], target[SMALL_TOKENS];

	for (int i = 0; i < n_source; i++)
		source[i] = 4 + (7 * s + 3 * i) % 25;
	for (int i = 0; i < n_target; i++)
		target[i] = 4 + (5 * s + 2 * i + 1) % 25;
	check(batch_add(b, s, source, n_source, target, n_target));
}

static const int small_lengths[3][2] = { { 5, 4 }, { 1, 3 }, { 7, 1 } };

static inline bool small_batch(struct batch *b)
{
	struct err e;

	if (batch_alloc(b, SMALL_SENTENCES, SMALL_TOKENS, &e)) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return false;
	}
	for (int s = 0; s < 3; s++)
		small_add(b, s, small_lengths[s][0], small_lengths[s][1]);
	return true;
}

/* A copy on the host of one of the arenas, owned by the caller. */
static inline float *small_copy(struct model *m, const float *arena)
{
	struct err e;
	float *copy = mem_alloc((size_t)model_floats(m), sizeof(*copy), &e);

	if (copy)
		model_get_ops(m)->to_host(model_get_dev(m), copy, arena,
					  (size_t)model_floats(m) * sizeof(*copy));
	return copy;
}

static inline void small_set(struct model *m, const float *params)
{
	model_get_ops(m)->to_device(model_get_dev(m), model_param_arena(m), params,
				    (size_t)model_floats(m) * sizeof(*params));
}

static inline void small_clear_grad(struct model *m)
{
	model_get_ops(m)->zero(model_get_dev(m), model_grad_arena(m),
			       (size_t)model_floats(m) * sizeof(float));
}

/* As weights() in tests/peers/pytorch_model.py. */
static inline void small_formula_weights(struct model *m)
{
	struct model_param *params;
	struct err e;
	size_t n;
	int64_t floats;
	float *w = mem_alloc((size_t)model_floats(m), sizeof(*w), &e);

	if (!w || !check_err(model_params(model_get_shape(m), &params, &n, &floats, &e), 0)) {
		free(w);
		return;
	}
	for (size_t p = 0; p < n; p++) {
		const char *end = strstr(params[p].name, "norm.scale");
		bool scale = end && !end[strlen("norm.scale")];

		for (int64_t k = 0; k < params[p].rows * params[p].cols; k++) {
			uint64_t i = (uint64_t)(params[p].offset + k);
			double x = (double)((i * 2654435761u + 12345) % 4294967296u) /
					   4294967296.0 * 0.6 -
				   0.3;

			w[i] = (float)(scale ? x + 1 : x);
		}
	}
	small_set(m, w);
	free(params);
	free(w);
}

#endif
