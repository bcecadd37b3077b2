/* t_architectures.c - every fact of arch.def: gradients, the CPU against the reference, decoding, state.json */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/shard/token_batch.h"
#include "eval/decode/decode.h"
#include "share/base/mem.h"
#include "tests/train/model_words.h"
#include "train/model/model.h"

#define TOKENS	  256
#define WIDTH	  16
#define N_REAL	  12
#define END_SHIFT 1.2f

/* Settings of a recipe: each fact alone, then combinations that people have. */
static const char *const architectures[] = {
	"",
	"decoder_ff=40 decoder_heads=4",
	"norm_place=post",
	"norm=rms",
	"norm=rms norm_place=post",
	"norm_epsilon=1e-5",
	"final_norm=no",
	"embedding_norm=yes",
	"embedding_norm=yes norm_place=post norm=rms",
	"embedding_scale=one",
	"tied_embeddings=output",
	"tied_embeddings=source output_bias=yes",
	"tied_embeddings=none",
	"positions=sinusoid-2k",
	"positions=sinusoid-pairs position_offset=2",
	"positions=sinusoid position_offset=2",
	"positions=learned max_positions=64",
	"positions=rotary",
	"positions=none",
	"activation=gelu",
	"activation=gelu-tanh",
	"activation=gelu-sigmoid",
	"activation=silu",
	"activation=silu gated_ffn=yes",
	"activation=relu gated_ffn=yes ffn_bias=no",
	"ffn_bias=no",
	"attention_bias=yes",
	"output_bias=yes",
	"decoder_self=ssru",
	"decoder_self=ssru norm_place=post attention_bias=yes",
	"decoder_start=end",
	"decoder_start=zero",
	/* OPUS-MT */
	"norm_place=post norm_epsilon=1e-5 positions=sinusoid-2k activation=silu "
	"attention_bias=yes output_bias=yes decoder_start=zero",
	/* a modern language model's choices */
	"norm=rms activation=silu gated_ffn=yes positions=rotary ffn_bias=no",
	/* M2M100, mBART */
	"norm_epsilon=1e-5 position_offset=2 attention_bias=yes decoder_start=end",
	"positions=learned max_positions=32 embedding_norm=yes activation=gelu attention_bias=yes "
	"output_bias=yes",
};

static const int32_t words[] = { 4, 7, 5, 11, 6, 9, 10, 8, 4, 4, 5, 11, 9, 6, 7, 10, 8, 5, 4, 6 };
static const struct decode_source sources[] = {
	{ words, 3 },	  { words + 2, 7 }, { words + 1, 1 }, { words, 0 },	{ words + 3, 12 },
	{ words + 5, 3 }, { words, 14 },    { words + 8, 2 }, { words + 4, 7 }, { words + 6, 5 },
};
#define N_SOURCES ARRAY_LEN(sources)

#define SMALL_SIZES "d_model=8 d_ff=12 heads=2 encoder_layers=2 decoder_layers=2"

static struct model_shape shape_of(const char *settings)
{
	struct model_shape s = { 0 };
	struct err e = { 0 };

	if (!check_int(model_words_shape(&s, SMALL_SIZES, settings, 16, N_REAL, &e), 0))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return s;
}

/* No bias stays 0, no scale 1. Larger weights than usual make the distributions of a decoder sharp. */
static void change_weights(struct model *m, float factor)
{
	float *p = model_param_arena(m);

	for (int64_t i = 0; i < model_floats(m); i++)
		p[i] = p[i] * factor +
		       0.2f * (rng_unit(rng_key_make(4, RNG_TEST, 0, 0), (uint64_t)i) - 0.5f);
}

static struct model *architecture_on(const char *backend, const char *settings, bool training,
				     float factor)
{
	const struct model_shape s = shape_of(settings);
	const struct dev_options options = { .threads = 2 };
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	struct model *m = ops ? model_new(&s, ops, &options, &e) : NULL;

	if (!m || model_init(m, 7, &e) ||
	    (training ? model_reserve_training(m, TOKENS, 16, &e)
		      : model_reserve_forward(m, TOKENS, TOKENS / 2, &e))) {
		test_fail(__FILE__, __LINE__, "%s: %s", settings, e.text);
		model_free(m);
		return NULL;
	}
	change_weights(m, factor);
	return m;
}

static bool pairs_batch(struct batch *b)
{
	struct err e = { 0 };

	if (!check_int(batch_alloc(b, 16, TOKENS, &e), 0))
		return false;
	for (int i = 0; i < 3; i++)
		check(batch_add(b, i, words + i, 1 + 3 * i, words + 3 + i, 5 - 2 * i));
	return true;
}

/* ---- gradients ----------------------------------------------------------- */

static double loss_with(struct model *m, const struct batch *b, bool drops)
{
	const struct model_pass_options how = { .dropout = drops ? 0.1f : 0,
						.attention_dropout = drops ? 0.2f : 0,
						.relu_dropout = drops ? 0.15f : 0,
						.smoothing = 0.1f,
						.grad_scale = 1,
						.seed = 5,
						.step = 3 };
	struct model_sums sums = { 0 };
	struct err e = { 0 };

	if (!check_int(model_forward_backward(m, b, &how, &sums, &e), 0))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	return sums.loss;
}

static float *copy_floats(const float *from, int64_t n)
{
	struct err e;
	float *copy = mem_alloc((size_t)n, sizeof(*copy), &e);

	check(copy != NULL);
	memcpy(copy, from, (size_t)n * sizeof(*copy));
	return copy;
}

/* The change of the loss when a tensor moves by h along a random direction. *along: by its gradient. */
static double difference_along(struct model *m, const struct batch *b, const struct model_param *p,
			       float h, const float *grad, double *along)
{
	const struct rng_key key = rng_key_make(9, RNG_TEST, (uint32_t)p->offset, 0);
	const int64_t n = p->rows * p->cols;
	float *at = model_param_arena(m) + p->offset, *base = copy_floats(at, n);
	double loss[2];

	*along = 0;
	for (int side = 0; side < 2; side++) {
		for (int64_t k = 0; k < n; k++) {
			const float d = rng_unit(key, (uint64_t)k) < 0.5f ? -1 : 1;

			at[k] = base[k] + (side ? -h : h) * d;
			*along += side ? 0 : (double)d * grad[p->offset + k];
		}
		loss[side] = loss_with(m, b, true);
	}
	memcpy(at, base, (size_t)n * sizeof(*at));
	free(base);
	return (loss[0] - loss[1]) / (2 * h);
}

static double length_of(const float *x, int64_t n)
{
	double squares = 0;

	for (int64_t i = 0; i < n; i++)
		squares += (double)x[i] * x[i];
	return sqrt(squares);
}

/* ReLU has kinks, where differences mean little: it is left to t_model.c, and SiLU takes its place. */
static void check_gradients(const char *architecture)
{
	char settings[300];
	struct model *m;
	struct model_param *params = NULL;
	struct batch b = { 0 };
	struct err e;
	size_t n = 0;
	int64_t floats;
	float *grad;

	snprintf(settings, sizeof(settings), "%s %s", architecture,
		 strstr(architecture, "activation=") ? "" : "activation=silu");
	m = architecture_on("ref", settings, true, 0.8f);
	if (!m || !pairs_batch(&b))
		return;
	loss_with(m, &b, true);
	grad = copy_floats(model_grad_arena(m), model_floats(m));
	check_int(model_params(model_get_shape(m), &params, &n, &floats, &e), 0);
	for (size_t i = 0; i < n; i++) {
		const struct model_param *p = &params[i];
		const double size = length_of(grad + p->offset, p->rows * p->cols);
		double along, found = difference_along(m, &b, p, 5e-4f, grad, &along);

		if (!(fabs(found - along) <= 5e-2 * size + 1e-2))
			test_fail(__FILE__, __LINE__, "%s: %s: difference %g, gradient %g of %g",
				  settings, p->name, found, along, size);
		check(size > 0 || strstr(p->name, "positions"));
	}
	free(params);
	free(grad);
	batch_free(&b);
	model_free(m);
}

TEST(architectures_gradients_by_differences)
{
	for (size_t i = 0; i < ARRAY_LEN(architectures); i++)
		check_gradients(architectures[i]);
}

/* Losses and gradients of the CPU backend are those of the reference. */
TEST(architectures_on_cpu_equal_ref)
{
	for (size_t i = 0; i < ARRAY_LEN(architectures); i++) {
		struct model *m[2] = { architecture_on("ref", architectures[i], true, 0.8f),
				       architecture_on("cpu", architectures[i], true, 0.8f) };
		struct batch b = { 0 };
		double loss[2], worst = 0;

		if (!m[0] || !m[1] || !pairs_batch(&b))
			return;
		for (int k = 0; k < 2; k++)
			loss[k] = loss_with(m[k], &b, true);
		check_near(loss[1], loss[0], 1e-4 * loss[0]);
		for (int64_t j = 0; j < model_floats(m[0]); j++)
			worst = fmax(worst, fabs((double)model_grad_arena(m[0])[j] -
						 model_grad_arena(m[1])[j]));
		if (!(worst < 2e-3))
			test_fail(__FILE__, __LINE__, "%s: gradients differ by %g",
				  architectures[i], worst);
		batch_free(&b);
		model_free(m[0]);
		model_free(m[1]);
	}
}

/* ---- decoding ------------------------------------------------------------- */

static double nll_of(struct model *m, const struct decode_source *s, const int32_t *target,
		     int32_t n)
{
	struct model_sums sums = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };

	check_int(batch_alloc(&b, 4, TOKENS, &e), 0);
	check(batch_add(&b, 0, s->ids, s->n, target, n));
	check_int(model_evaluate(m, &b, 0, &sums, &e), 0);
	batch_free(&b);
	return sums.nll;
}

/* packed: PACKED_… or F32: as stored. The incremental decoder and the whole model agree. */
static void check_decoding(const char *backend, const char *settings, enum dtype packed,
			   double tolerance)
{
	/* rounding moves a sharp distribution far */
	const float factor = packed > DTYPE_PACKED_F32 ? 1 : 1.7f;
	static const struct decode_options options = { .beam = 3,
						       .n_best = 3,
						       .alpha = 0.6,
						       .max_length_factor = 1.0,
						       .max_length_extra = 6,
						       .decode_tokens = 128 };
	struct model *m = architecture_on(backend, settings, false, factor),
		     *whole = architecture_on("ref", settings, false, factor);
	struct decode_result r[N_SOURCES];
	struct err e = { 0 };
	struct decoder *d;
	int finished = 0;

	if (!m || !whole)
		return;
	if (packed != DTYPE_F32 && !check_int(model_pack(m, packed, &e), 0))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	d = decoder_new(m, 100, 1, &e);
	if (!check_int(decoder_run(d, &options, sources, N_SOURCES, r, &e), 0))
		test_fail(__FILE__, __LINE__, "%s: %s", settings, e.text);
	for (size_t i = 0; i < N_SOURCES; i++)
		for (int32_t k = 0; k < r[i].n; k++) {
			const struct decode_hypothesis *h = &r[i].hypotheses[k];
			double nll;

			if (!h->finished || sources[i].n == 0)
				continue;
			nll = nll_of(whole, &sources[i], h->tokens, h->n);
			if (!check_near(h->log_prob, -nll, tolerance * (1 + nll / 4)))
				test_fail(__FILE__, __LINE__, "%s: %s", backend, settings);
			finished++;
		}
	check(finished > 0 || packed > DTYPE_PACKED_F32);
	decode_results_free(r, N_SOURCES);
	decoder_free(d);
	model_free(m);
	model_free(whole);
}

TEST(architectures_decode_like_the_whole_model)
{
	for (size_t i = 0; i < ARRAY_LEN(architectures); i++) {
		check_decoding("ref", architectures[i], DTYPE_F32, 5e-4);
		check_decoding("cpu", architectures[i], DTYPE_PACKED_F32, 5e-4);
	}
}

/* Rounded weights, and a rounded cache: near, so that a wrong part of a formula shows. */
TEST(architectures_decode_with_rounded_weights)
{
	for (size_t i = 0; i < ARRAY_LEN(architectures); i++) {
		check_decoding("cpu", architectures[i], DTYPE_PACKED_BF16, 0.4);
		check_decoding("cpu", architectures[i], DTYPE_PACKED_INT8, 0.8);
	}
}

/* A source is cut, and a translation ends, where a model has no more positions. */
TEST(architectures_end_with_their_positions)
{
	static const struct decode_options options = { .beam = 2,
						       .n_best = 1,
						       .max_length_factor = 4,
						       .max_length_extra = 100,
						       .decode_tokens = 128 };
	struct model *m = architecture_on("cpu", "positions=learned max_positions=8", false, 0.3f);
	struct decode_source source = { words, 20 };
	struct decode_result r[1];
	struct err e = { 0 };
	struct decoder *d;

	if (!m)
		return;
	d = decoder_new(m, 100, 1, &e);
	check_int(decoder_capacity(d), 8);
	check_int(decoder_run(d, &options, &source, 1, r, &e), 0);
	check(r[0].truncated);
	check(r[0].hypotheses[0].n <= 8);
	decode_results_free(r, 1);
	decoder_free(d);
	model_free(m);
}

/* ---- state.json ------------------------------------------------------------ */

TEST(architectures_are_written_and_read)
{
	for (size_t i = 0; i < ARRAY_LEN(architectures); i++) {
		const struct model_shape s = shape_of(architectures[i]);
		struct model_shape back;
		struct buf text = { 0 };
		struct json_writer w = { .out = &text };
		struct err e = { 0 };
		struct json *root;

		json_open(&w, '{');
		arch_put_shape(&w, &s);
		json_close(&w, '}');
		root = json_parse(buf_text(&text), text.len, &e);
		check(root != NULL);
		check_int(arch_read_shape(&back, root, "state.json", &e), 0);
		check(!arch_difference(&s, &back));
		check(i == 0 || arch_difference(&s, &(struct model_shape){ 0 }) != NULL);
		/* the usual model is written as before there were others */
		check(i > 0 || !strstr(buf_text(&text), "norm"));
		json_free(root);
		buf_free(&text);
	}
}

static void check_refused(const char *shape, int code, const char *says)
{
	struct model_shape s;
	struct buf text = { 0 };
	struct err e = { 0 };
	struct json *root;

	buf_printf(
		&text,
		"{\"v\":1,\"shape\":{\"d_model\":16,\"d_ff\":24,\"heads\":2,\"encoder_layers\":2,"
		"\"decoder_layers\":2,\"vocabulary\":16,\"real_vocabulary\":12%s}}",
		shape);
	root = json_parse(buf_text(&text), text.len, &e);
	check(root != NULL);
	check_err(arch_read_shape(&s, root, "state.json", &e), code);
	check(!says || strstr(e.text, says) != NULL);
	json_free(root);
	buf_free(&text);
}

TEST(architectures_unknown_are_refused)
{
	check_refused("", 0, NULL);
	check_refused(",\"norm\":\"batch\"", ERR_CONFIG, "has norm \"batch\"");
	check_refused(",\"norm\":1", ERR_DATA, "\"norm\" is missing or out of range");
	check_refused(",\"activation\":\"squared\"", ERR_CONFIG, "activation");
	check_refused(",\"decoder_ff\":-1", ERR_DATA, "decoder_ff");
	check_refused(",\"gated_ffn\":true", 0, NULL);
	check_refused(",\"gated_ffn\":\"yes\"", ERR_DATA, "gated_ffn");
	check_refused(",\"experts\":8", ERR_CONFIG, "experts");
}

/* Settings that contradict each other are refused by a sentence. */
TEST(architectures_contradictions_are_refused)
{
	static const struct {
		struct model_shape shape;
		const char *says;
	} cases[] = {
		{ { .positions = POSITIONS_LEARNED }, "max_positions must be at least 8" },
		{ { .positions = POSITIONS_ROTARY, .position_offset = 2 },
		  "positions are not sinusoids" },
		{ { .positions = POSITIONS_ROTARY, .decoder_heads = 16 }, "even number" },
		{ { .final_norm = ARCH_NO, .norm_place = NORM_POST },
		  "post-norm has no final norm" },
		{ { .source_vocabulary = 16, .real_source_vocabulary = 12 }, "tied_embeddings" },
		{ { .decoder_heads = 3 }, "heads of the decoder" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct model_shape s = cases[i].shape;
		struct model_param *params = NULL;
		struct err e = { 0 };
		int64_t floats;
		size_t n;

		s.d_model = WIDTH;
		s.d_ff = 24;
		s.heads = 2;
		s.encoder_layers = s.decoder_layers = 2;
		s.vocabulary = 16;
		s.real_vocabulary = N_REAL;
		check_err(model_params(&s, &params, &n, &floats, &e), ERR_CONFIG);
		if (!strstr(e.text, cases[i].says))
			test_fail(__FILE__, __LINE__, "%s: not in \"%s\"", cases[i].says, e.text);
	}
}
