/* t_pytorch.c - loss and gradients of several architectures against PyTorch's, tests/peers/pytorch_model.py. */
#include <math.h>
#include <stdio.h>

#include "tests/train/model_words.h"
#include "tests/train/small_model.h"
#include "train/ckpt/safetensors.h"

/*
 * The largest difference of our gradient from the golden one, in units of the largest golden
 * element.
 */
static void compare_gradients(struct model *m, const struct safetensors *golden, const char *words,
			      double tolerance)
{
	struct model_param *params;
	struct err e;
	size_t n;
	int64_t floats;
	float *grad = small_copy(m, model_grad_arena(m));

	if (!grad || !check_err(model_params(model_get_shape(m), &params, &n, &floats, &e), 0)) {
		free(grad);
		return;
	}
	for (size_t p = 0; p < n; p++) {
		const int64_t count = params[p].rows * params[p].cols;
		const unsigned char *want =
			safetensors_get(golden, params[p].name, params[p].rows, params[p].cols, &e);
		double worst = 0, largest = 0;

		if (!check(want))
			continue;
		for (int64_t k = 0; k < count; k++) {
			float g;

			memcpy(&g, want + 4 * k, sizeof(g));
			worst = fmax(worst, fabs((double)grad[params[p].offset + k] - g));
			largest = fmax(largest, fabs((double)g));
		}
		if (!(worst <= tolerance * largest))
			test_fail(__FILE__, __LINE__, "%s, %s: gradient of %s is off by %g of %g",
				  model_get_ops(m)->name, words, params[p].name, worst, largest);
	}
	free(params);
	free(grad);
}

static double golden_number(const struct safetensors *golden, const char *name)
{
	struct err e;
	const unsigned char *data = safetensors_get(golden, name, 1, 1, &e);
	float x = NAN;

	if (data)
		memcpy(&x, data, sizeof(x));
	return x;
}

#define GOLDEN_SMALL "d_model=8 d_ff=12 heads=2 encoder_layers=2 decoder_layers=2 "

/* Files tests/golden/model.pytorchNAME.safetensors and their models, as in tests/peers/pytorch_model.py. */
static const struct golden_model {
	const char *name, *words;
} golden_models[] = {
	{ "", "d_model=16 d_ff=24 heads=4 encoder_layers=2 decoder_layers=2" },
	{ ".opus",
	  GOLDEN_SMALL "norm_place=post norm_epsilon=1e-5 positions=sinusoid-2k activation=silu "
		       "attention_bias=yes output_bias=yes decoder_start=zero" },
	{ ".modern",
	  GOLDEN_SMALL "norm=rms activation=silu gated_ffn=yes positions=rotary ffn_bias=no" },
	{ ".student",
	  GOLDEN_SMALL "encoder_layers=3 decoder_self=ssru decoder_ff=20 decoder_heads=4" },
	{ ".mbart",
	  GOLDEN_SMALL "positions=learned max_positions=16 embedding_norm=yes activation=gelu "
		       "attention_bias=yes output_bias=yes norm_epsilon=1e-5 decoder_start=end" },
	{ ".separate", GOLDEN_SMALL "tied_embeddings=none source_vocabulary=40 embedding_scale=one "
				    "final_norm=no positions=sinusoid-pairs position_offset=2 "
				    "activation=gelu-tanh" },
	{ ".gated", GOLDEN_SMALL
	  "tied_embeddings=source norm=rms norm_place=post positions=none "
	  "activation=gelu-sigmoid gated_ffn=yes embedding_norm=yes embedding_scale=one "
	  "norm_epsilon=1e-5" },
	{ ".ssru", GOLDEN_SMALL "decoder_self=ssru norm_place=post tied_embeddings=output "
				"position_offset=2 attention_bias=yes positions=sinusoid" },
};

static struct model *model_of_words(const char *words, const char *backend, bool bf16)
{
	struct dev_options options = { .threads = 2, .bf16 = bf16 };
	struct model_shape shape;
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	struct model *m = NULL;

	if (ops && !model_words_shape(&shape, words, "", 32, 29, &e))
		m = model_new(&shape, ops, &options, &e);
	if (!m || model_reserve_training(m, SMALL_TOKENS, SMALL_SENTENCES, &e)) {
		test_fail(__FILE__, __LINE__, "%s: %s", words, e.text);
		model_free(m);
		return NULL;
	}
	return m;
}

static struct safetensors *open_golden(const char *name)
{
	const char *srcdir = getenv("srcdir");
	struct safetensors *golden;
	struct err e;
	char path[500];

	snprintf(path, sizeof(path), "%s/tests/golden/model.pytorch%s.safetensors",
		 srcdir ? srcdir : ".", name);
	golden = safetensors_open(path, &e);
	if (!golden)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return golden;
}

/*
 * fp32 against PyTorch's float64: 2e-5 of a tensor's largest gradient; bf16 has 8 bits: 5 % in
 * products of products.
 */
static void compare_with_pytorch(const struct golden_model *g, const char *backend, bool bf16)
{
	struct model_pass_options how = { .smoothing = 0.1f, .grad_scale = 1 };
	struct safetensors *golden = open_golden(g->name);
	struct model *m = model_of_words(g->words, backend, bf16);
	struct model_sums sums;
	struct batch b;
	struct err e;
	double tolerance = bf16 ? 2e-2 : 1e-6;

	if (golden && m && small_batch(&b)) {
		small_formula_weights(m);
		check_err(model_forward_backward(m, &b, &how, &sums, &e), 0);
		check_int(sums.tokens, 11);
		check_near(sums.loss, golden_number(golden, "loss"), tolerance * sums.loss);
		check_near(sums.nll, golden_number(golden, "nll"), tolerance * sums.nll);
		compare_gradients(m, golden, g->words, bf16 ? 8e-2 : 2e-5);
		batch_free(&b);
	}
	safetensors_close(golden);
	model_free(m);
}

TEST(model_ref_equals_pytorch)
{
	for (size_t i = 0; i < ARRAY_LEN(golden_models); i++)
		compare_with_pytorch(&golden_models[i], "ref", false);
}

TEST(model_cpu_equals_pytorch)
{
	for (size_t i = 0; i < ARRAY_LEN(golden_models); i++)
		compare_with_pytorch(&golden_models[i], "cpu", false);
}

TEST(model_cpu_bf16_near_pytorch)
{
	compare_with_pytorch(&golden_models[0], "cpu", true);
}
