/*
 * t_passes.c - passes that differ from the usual one: R-Drop's two copies of a batch, LayerDrop's skipped layers
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/rng.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "tests/train/model_words.h"
#include "tests/train/small_model.h"

#define SMALL_WORDS "d_model=16 d_ff=24 heads=4 "

static const struct model_pass_options no_dropout = { .smoothing = 0.1f,
						      .grad_scale = 1,
						      .seed = 5 },
				       all_dropout = { .dropout = 0.1f,
						       .attention_dropout = 0.2f,
						       .relu_dropout = 0.15f,
						       .smoothing = 0.1f,
						       .grad_scale = 1,
						       .seed = 5,
						       .step = 3,
						       .micro = 1 };

/* A model with room for two copies of a batch, and weights by formula. NULL after a failed check. */
static struct model *model_with_copies(const char *backend, const char *words)
{
	const struct dev_options options = { .threads = 2 };
	struct model_shape shape;
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	struct model *m = NULL;

	if (ops && !model_words_shape(&shape, words, "", 32, 29, &e))
		m = model_new(&shape, ops, &options, &e);
	if (m)
		model_set_copies(m, 2);
	if (!m || model_reserve_training(m, SMALL_TOKENS, SMALL_SENTENCES, &e)) {
		test_fail(__FILE__, __LINE__, "%s: %s", words, e.text);
		model_free(m);
		return NULL;
	}
	small_formula_weights(m);
	return m;
}

/* The loss of a pass, and its gradients: owned by the caller. */
struct passed {
	struct model_sums sums;
	float *grad;
};

static struct passed run_pass(struct model *m, const struct batch *b,
			      const struct model_pass_options *how)
{
	struct passed p = { .sums = { .loss = NAN } };
	struct err e;

	small_clear_grad(m);
	check_err(model_forward_backward(m, b, how, &p.sums, &e), 0);
	p.grad = small_copy(m, model_grad_arena(m));
	return p;
}

/* The worst difference, as a share of the largest number of y. */
static double worst_share(const float *x, const float *y, int64_t n)
{
	double worst = 0, largest = 0;

	for (int64_t i = 0; i < n; i++) {
		worst = fmax(worst, fabs((double)x[i] - y[i]));
		largest = fmax(largest, fabs(y[i]));
	}
	return worst / largest;
}

/* The derivative of the loss along random directions in all weights, by differences and by the gradient. */
static void check_directions(struct model *m, const struct batch *b,
			     const struct model_pass_options *how, const char *what)
{
	const float h = 2e-4f;
	const int64_t n = model_floats(m);
	float *base = small_copy(m, model_param_arena(m)),
	      *moved = small_copy(m, model_param_arena(m));
	struct passed at = run_pass(m, b, how);

	for (uint32_t direction = 0; direction < 6; direction++) {
		const struct rng_key key = rng_key_make(9, RNG_TEST, direction, 0);
		double along = 0, size = 0, loss[2];

		for (int side = 0; side < 2; side++) {
			struct passed p;

			for (int64_t k = 0; k < n; k++) {
				const float d = rng_unit(key, (uint64_t)k) < 0.5f ? -1 : 1;

				moved[k] = base[k] + (side ? -h : h) * d;
				along += side ? 0 : (double)d * at.grad[k];
				size += side ? 0 : (double)at.grad[k] * at.grad[k];
			}
			small_set(m, moved);
			p = run_pass(m, b, how);
			loss[side] = p.sums.loss;
			free(p.grad);
		}
		if (!(fabs((loss[0] - loss[1]) / (2 * h) - along) <= 2e-2 * sqrt(size) + 5e-3))
			test_fail(__FILE__, __LINE__, "%s: difference %g, gradient %g", what,
				  (loss[0] - loss[1]) / (2 * h), along);
	}
	small_set(m, base);
	free(base);
	free(moved);
	free(at.grad);
}

static const char *const pass_models[] = {
	SMALL_WORDS "encoder_layers=2 decoder_layers=2",
	SMALL_WORDS "encoder_layers=2 decoder_layers=2 norm_place=post activation=silu "
		    "attention_bias=yes output_bias=yes",
	SMALL_WORDS "encoder_layers=3 decoder_layers=2 decoder_self=ssru norm=rms activation=silu "
		    "gated_ffn=yes ffn_bias=no embedding_norm=yes",
};

/* ---- R-Drop ----------------------------------------------------------------- */

/* Without dropout both copies predict the same: loss and gradient are those of one pass. */
TEST(passes_of_equal_copies)
{
	struct batch b;

	if (!small_batch(&b))
		return;
	for (size_t i = 0; i < 2 * ARRAY_LEN(pass_models); i++) {
		struct model *m = model_with_copies(i % 2 ? "cpu" : "ref", pass_models[i / 2]);
		struct model_pass_options how = no_dropout;
		struct passed one, two;

		if (!m)
			break;
		one = run_pass(m, &b, &how);
		how.r_drop = 5;
		two = run_pass(m, &b, &how);
		check_near(two.sums.loss, one.sums.loss, 1e-5 * one.sums.loss);
		check_near(two.sums.nll, one.sums.nll, 1e-5 * one.sums.nll);
		check_int(two.sums.tokens, b.n_target);
		check_near(worst_share(two.grad, one.grad, model_floats(m)), 0, 1e-5);
		free(one.grad);
		free(two.grad);
		model_free(m);
	}
	batch_free(&b);
}

/* The copies have different masks, and the weight of their divergence raises the loss by its share. */
TEST(passes_of_different_copies)
{
	struct model *m = model_with_copies("ref", pass_models[0]);
	struct model_pass_options how = all_dropout;
	struct passed small, twice;
	struct batch b;

	if (!m || !small_batch(&b))
		return;
	how.r_drop = 1;
	small = run_pass(m, &b, &how);
	how.r_drop = 2;
	twice = run_pass(m, &b, &how);
	check_near(twice.sums.nll, small.sums.nll, 1e-6 * small.sums.nll);
	check(twice.sums.loss > small.sums.loss + 1e-3);
	free(small.grad);
	free(twice.grad);
	batch_free(&b);
	model_free(m);
}

TEST(passes_of_copies_by_differences)
{
	struct model_pass_options how = all_dropout;
	struct batch b;

	if (!small_batch(&b))
		return;
	how.r_drop = 3;
	for (size_t i = 0; i < ARRAY_LEN(pass_models); i++) {
		struct model *m = model_with_copies("ref", pass_models[i]);

		if (m)
			check_directions(m, &b, &how, pass_models[i]);
		model_free(m);
	}
	batch_free(&b);
}

/* The chunks of the output layer hold a few tokens of both copies. */
TEST(passes_of_copies_in_pieces)
{
	struct ops pieces = *ops_ref();
	struct model_pass_options how = all_dropout;
	const struct dev_options options = { .threads = 1 };
	const struct model_shape shape = small_shape();
	struct model *whole = model_with_copies("ref", pass_models[0]), *m;
	struct passed want, got;
	struct batch b;
	struct err e;

	if (!whole || !small_batch(&b))
		return;
	how.r_drop = 3;
	want = run_pass(whole, &b, &how);
	for (int32_t rows = 2; rows < 9; rows += 3) {
		pieces.loss_rows = rows;
		pieces.loss_in_place = rows > 2;
		m = model_new(&shape, &pieces, &options, &e);
		if (!check(m != NULL))
			break;
		model_set_copies(m, 2);
		check_err(model_reserve_training(m, SMALL_TOKENS, SMALL_SENTENCES, &e), 0);
		small_formula_weights(m);
		got = run_pass(m, &b, &how);
		check_near(got.sums.loss, want.sums.loss, 1e-6 * want.sums.loss);
		check_near(worst_share(got.grad, want.grad, model_floats(m)), 0, 1e-6);
		free(got.grad);
		model_free(m);
	}
	free(want.grad);
	batch_free(&b);
	model_free(whole);
}

/* ---- LayerDrop --------------------------------------------------------------- */

TEST(passes_with_skipped_layers_by_differences)
{
	struct model_pass_options how = all_dropout;
	struct batch b;

	if (!small_batch(&b))
		return;
	how.layer_drop = 0.5f;
	for (size_t i = 0; i < ARRAY_LEN(pass_models); i++) {
		struct model *m = model_with_copies("ref", pass_models[i]);

		for (how.step = 0; m && how.step < 6; how.step++)
			check_directions(m, &b, &how, pass_models[i]);
		model_free(m);
	}
	batch_free(&b);
}

/* CPU and reference skip the same layers; with R-Drop too. */
TEST(passes_with_skipped_layers_on_cpu)
{
	struct batch b;

	if (!small_batch(&b))
		return;
	for (size_t i = 0; i < ARRAY_LEN(pass_models); i++) {
		struct model *ref = model_with_copies("ref", pass_models[i]),
			     *cpu = model_with_copies("cpu", pass_models[i]);
		struct model_pass_options how = all_dropout;

		how.layer_drop = 0.5f;
		for (how.step = 0; ref && cpu && how.step < 6; how.step++) {
			struct passed want, got;

			how.r_drop = how.step % 2 ? 4 : 0;
			want = run_pass(ref, &b, &how);
			got = run_pass(cpu, &b, &how);
			check_near(got.sums.loss, want.sums.loss, 1e-4 * want.sums.loss);
			check_near(worst_share(got.grad, want.grad, model_floats(ref)), 0, 1e-3);
			free(want.grad);
			free(got.grad);
		}
		model_free(ref);
		model_free(cpu);
	}
	batch_free(&b);
}

/* Is a tensor of this layer, whose gradient must be 0 in a pass that skips the layer? */
static bool is_of_layer(const struct model_param *p, const char *layer)
{
	return !strncmp(p->name, layer, strlen(layer));
}

/*
 * In 400 passes each of four layers is skipped about 400 * rate times, independently of the others, and a
 * skipped layer gets no gradient.
 */
TEST(passes_skip_layers_at_random)
{
	static const char *const layers[] = { "encoder.0.", "encoder.1.", "decoder.0.",
					      "decoder.1." };
	struct model *m = model_with_copies("cpu", pass_models[0]);
	struct model_pass_options how = no_dropout;
	int skipped[4] = { 0 }, patterns[16] = { 0 };
	struct model_param *params = NULL;
	struct batch b;
	struct err e;
	size_t n;
	int64_t floats;

	if (!m || !small_batch(&b) ||
	    !check_err(model_params(model_get_shape(m), &params, &n, &floats, &e), 0))
		return;
	how.layer_drop = 0.3f;
	for (how.step = 0; how.step < 400; how.step++) {
		struct passed p = run_pass(m, &b, &how);
		int pattern = 0;

		for (int layer = 0; layer < 4; layer++) {
			double largest = 0;

			for (size_t i = 0; i < n; i++)
				for (int64_t k = 0; is_of_layer(&params[i], layers[layer]) &&
						    k < params[i].rows * params[i].cols;
				     k++)
					largest = fmax(largest, fabs(p.grad[params[i].offset + k]));
			skipped[layer] += largest == 0;
			pattern |= (largest == 0) << layer;
		}
		patterns[pattern]++;
		free(p.grad);
	}
	/* 4.4 standard deviations; without a decoder no gradient comes to the encoder */
	for (int layer = 0; layer < 4; layer++)
		check_near(skipped[layer], layer < 2 ? 400 * (0.3 + 0.7 * 0.09) : 400 * 0.3, 42);
	check_near(patterns[0], 400 * 0.7 * 0.7 * 0.7 * 0.7, 38);
	check_near(patterns[15], 400 * 0.3 * 0.3, 25);
	free(params);
	batch_free(&b);
	model_free(m);
}
