/*
 * t_cuda_model.c - training and translation on the GPU, against the CPU. On a real GPU in tests/run, on
 * the simulated GPU in tests/cuda_run.
 */
#include <math.h>
#include <stdlib.h>

#include "eval/decode/decode.h"
#include "share/base/util.h"
#include "tests/train/small_model.h"
#include "train/optim/adam.h"

#ifdef CUDA_SIMULATED
#include "tests/cudasim/sim.h"
#define STEPS 3
#else
#define STEPS		 100 /* a real GPU is faster, and has no seeds for the order of execution */
#define sim_seed(seed)	 ((void)(seed))
#define sim_faults(last) 0
#define sim_forget()	 ((void)0)
#define sim_allocated()	 0
#endif

/*
 * Steps compared between two backends. Adam's steps are chaotic: two correct CPU backends differ by
 * more than these limits from step 29 on in fp32 and from step 13 on in bf16.
 */
#define COMPARED_STEPS MIN(STEPS, 8)

static const struct model_pass_options all_dropout = { .dropout = 0.1f,
						       .attention_dropout = 0.1f,
						       .relu_dropout = 0.1f,
						       .smoothing = 0.1f,
						       .grad_scale = 1.0f / 11,
						       .seed = 3,
						       .step = 7 };

/* Is there a GPU with all ops? */
static bool complete(void)
{
	const struct ops *o = ops_cuda();
	bool all = true;

	if (!o || !o->usable()) {
		test_skip("no GPU here");
		return false;
	}
#define OP(name, args, names) all = all && o->name;
#include "kernels/ops/ops.def"
#undef OP
	if (!all)
		test_skip("some ops are not written yet");
	return all;
}

/* Tensor cores compute attention only with heads of 64 columns, in bf16: small_shape() has 4. */
static const struct model_shape wide_shape = { .d_model = 128,
					       .d_ff = 40,
					       .heads = 2,
					       .encoder_layers = 1,
					       .decoder_layers = 1,
					       .vocabulary = 32,
					       .real_vocabulary = 29 };

/* What is trained: a model, and how long its sentences are. */
struct training {
	struct model_shape shape;
	int lengths[4][2]; /* source, target */
	bool bf16;
	int32_t loss_rows; /* not 0: the GPU's ops have these loss_rows and loss_in_place */
	bool loss_in_place;
	struct gpu_ways ways;
	bool has_no_relu_dropout;
	float r_drop, layer_drop;
	bool has_no_graphs, has_no_dropout;
};

static struct training small_training(bool bf16)
{
	return (struct training){ small_shape(),
				  { { 5, 4 }, { 1, 3 }, { 7, 1 } },
				  bf16,
				  0,
				  false,
				  { 0 },
				  false,
				  0,
				  0,
				  false,
				  false };
}

/* Tensor cores compute 16 rows at a time: sentences end within, at and behind such a tile. */
static struct training wide_training(void)
{
	return (struct training){ wide_shape, { { 15, 17 }, { 21, 1 }, { 2, 34 } },
				  true,	      0,
				  false,      { 0 },
				  false,      0,
				  0,	      false,
				  false };
}

/* The result of some training steps. */
struct trained {
	double loss[STEPS], norm[STEPS];
	float *gradients, *parameters; /* owned */
	int64_t floats;
};

static bool train(struct trained *t, const char *backend, const struct training *what, int steps)
{
	static struct ops other_head;
	struct dev_options options = { .threads = 2,
				       .bf16 = what->bf16,
				       .graphs = what->layer_drop == 0 && !what->has_no_graphs,
				       .ways = what->ways };
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	struct batch batch = { 0 };
	struct adam adam;
	struct model *m;

	if (ops && ops->has_device_memory && what->loss_rows) {
		other_head = *ops;
		other_head.loss_rows = what->loss_rows;
		other_head.loss_in_place = what->loss_in_place;
		ops = &other_head;
	}
	m = ops ? model_new(&what->shape, ops, &options, &e) : NULL;
	*t = (struct trained){ .floats = 0 };
	if (m && what->r_drop > 0)
		model_set_copies(m, 2);
	if (!m || model_reserve_training(m, SMALL_TOKENS, SMALL_SENTENCES, &e) ||
	    model_init(m, 8, &e) || batch_alloc(&batch, SMALL_SENTENCES, SMALL_TOKENS, &e)) {
		test_fail(__FILE__, __LINE__, "%s: %s", backend, e.text);
		batch_free(&batch);
		model_free(m);
		return false;
	}
	for (int s = 0; s < 4 && what->lengths[s][0]; s++)
		small_add(&batch, s, what->lengths[s][0], what->lengths[s][1]);
	check_err(adam_open(&adam, m, 0.9, 0.98, 1e-9, &e), 0);
	for (int i = 0; i < steps; i++) {
		struct model_pass_options how = all_dropout;
		struct model_sums sums;

		how.step += (uint32_t)i;
		how.r_drop = what->r_drop;
		how.layer_drop = what->layer_drop;
		how.relu_dropout = what->has_no_relu_dropout ? 0 : how.relu_dropout;
		if (what->has_no_dropout)
			how.dropout = how.attention_dropout = how.relu_dropout = 0;
		small_clear_grad(m);
		if (!check_err(model_forward_backward(m, &batch, &how, &sums, &e), 0))
			test_fail(__FILE__, __LINE__, "%s: %s", backend, e.text);
		t->loss[i] = sums.loss;
		t->norm[i] = adam_grad_norm(&adam);
		adam_apply(&adam, i, 0.01, 1);
	}
	t->floats = model_floats(m);
	t->gradients = small_copy(m, model_grad_arena(m));
	t->parameters = small_copy(m, model_param_arena(m));
	adam_close(&adam);
	batch_free(&batch);
	model_free(m);
	return true;
}

static void trained_free(struct trained *t)
{
	free(t->gradients);
	free(t->parameters);
}

static double worst_difference(const float *x, const float *y, int64_t n)
{
	double worst = 0;

	for (int64_t i = 0; i < n; i++)
		worst = fmax(worst, isfinite(x[i]) ? fabs((double)x[i] - y[i]) : INFINITY);
	return worst;
}

static void compare_training(const struct training *what, int steps, double limit)
{
	struct trained cpu, gpu;

	if (!complete())
		return;
	if (train(&cpu, "cpu", what, steps) && train(&gpu, "cuda", what, steps)) {
		for (int i = 0; i < steps; i++) {
			check_near(gpu.loss[i], cpu.loss[i], limit * cpu.loss[i]);
			check_near(gpu.norm[i], cpu.norm[i], limit * cpu.norm[i] * 10);
		}
		check_near(worst_difference(gpu.gradients, cpu.gradients, cpu.floats), 0,
			   limit * 20);
		trained_free(&gpu);
	}
	trained_free(&cpu);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
	sim_forget();
}

TEST(cuda_training_equals_cpu)
{
	const struct training what = small_training(false);

	compare_training(&what, COMPARED_STEPS, 2e-5);
}

TEST(cuda_training_in_bf16_near_cpu)
{
	const struct training what = small_training(true);

	compare_training(&what, COMPARED_STEPS, 4e-3);
}

TEST(cuda_training_on_tensor_cores_near_cpu)
{
	const struct training what = wide_training();

	compare_training(&what, MIN(COMPARED_STEPS, 3), 4e-3);
}

/*
 * Two copies of a batch. With graphs each copy has its padding, so the masks of the second copy are those of
 * the CPU only if the batch is full.
 */
TEST(cuda_training_with_r_drop_near_cpu)
{
	struct training what = small_training(false);

	what.r_drop = 5;
	what.has_no_graphs = true;
	compare_training(&what, COMPARED_STEPS, 2e-5);
	what.has_no_graphs = false;
	what.has_no_dropout = true;
	compare_training(&what, COMPARED_STEPS, 2e-5);
	what.has_no_dropout = false;
	for (int s = 0; s < 4; s++)
		what.lengths[s][0] = what.lengths[s][1] = SMALL_TOKENS / 4 - 1;
	compare_training(&what, COMPARED_STEPS, 2e-5);
	what.bf16 = true;
	compare_training(&what, MIN(COMPARED_STEPS, 3), 4e-3);
	what.loss_rows = 4;
	what.loss_in_place = true;
	compare_training(&what, MIN(COMPARED_STEPS, 2), 4e-3);
}

TEST(cuda_training_with_layer_drop_near_cpu)
{
	struct training what = small_training(false);

	what.layer_drop = 0.4f;
	compare_training(&what, COMPARED_STEPS, 2e-5);
}

/* Both ways give the GPU the same bits. */
static void check_same_training(const struct training *one, const struct training *other)
{
	struct trained a, b;

	if (!complete() || !train(&a, "cuda", one, STEPS))
		return;
	if (train(&b, "cuda", other, STEPS)) {
		check(!memcmp(a.parameters, b.parameters, (size_t)a.floats * sizeof(float)));
		check(!memcmp(a.loss, b.loss, sizeof(a.loss)));
		trained_free(&b);
	}
	trained_free(&a);
}

/* Logits in larger parts, and in place of their gradient: tests/bench/train_variants.c. */
TEST(cuda_training_with_other_heads_near_cpu)
{
	struct training what = small_training(true);

	what.loss_rows = 48;
	compare_training(&what, MIN(COMPARED_STEPS, 2), 4e-3);
	what.loss_in_place = true;
	compare_training(&what, MIN(COMPARED_STEPS, 2), 4e-3);
	what.loss_rows = 2;
	what.bf16 = false;
	compare_training(&what, MIN(COMPARED_STEPS, 2), 2e-5);
}

TEST(cuda_training_with_dependent_launches)
{
	const struct training usual = wide_training();
	struct training other = usual;

	other.ways.dependent_launch = true;
	check_same_training(&usual, &other);
}

/*
 * Without dropout in the feed-forward layers the bias is added by the product's end, rounded to bf16 (2^-9 of
 * it, less than the rounding of the sum), and the sum is rounded once instead of twice.
 */
TEST(cuda_training_with_bias_in_products)
{
	struct training what = wide_training();

	what.ways.fuses_bias = what.has_no_relu_dropout = true;
	compare_training(&what, MIN(COMPARED_STEPS, 3), 4e-3);
}

/* The same bits in any order of threads, blocks and copies. */
static void train_repeatedly(const struct training *what)
{
	struct trained first, again;

	if (!complete())
		return;
	sim_seed(11);
	if (!train(&first, "cuda", what, STEPS))
		return;
	for (uint64_t seed = 12; seed < 15; seed++) {
		sim_seed(seed);
		if (!train(&again, "cuda", what, STEPS))
			break;
		check(!memcmp(first.parameters, again.parameters,
			      (size_t)first.floats * sizeof(float)));
		check(!memcmp(first.loss, again.loss, sizeof(first.loss)));
		trained_free(&again);
	}
	trained_free(&first);
}

TEST(cuda_training_repeats)
{
	const struct training small = small_training(true);

	train_repeatedly(&small);
}

TEST(cuda_training_repeats_on_tensor_cores)
{
	const struct training wide = wide_training();

	train_repeatedly(&wide);
}

/* ---- translation ------------------------------------------------------------------------ */

static const int32_t words[] = { 4, 7, 5, 11, 6, 9, 10, 8, 4, 4, 5, 11, 9, 6 };
static const struct decode_source sources[] = {
	{ words, 3 }, { words + 2, 7 }, { words + 1, 1 }, { words, 0 }, { words + 3, 11 },
};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* Weights of a model, scaled up so that its distributions are far from uniform. */
static float *sharp_weights(void)
{
	struct model *m = small_model("cpu", false);
	struct err e;
	float *w = NULL;

	if (m && !model_init(m, 6, &e))
		w = small_copy(m, model_param_arena(m));
	for (int64_t i = 0; w && i < model_floats(m); i++)
		w[i] *= 1.7f;
	model_free(m);
	return w;
}

/* few_rows: see struct dev_options. */
static bool translate(const char *backend, const float *weights, enum dtype packed, int few_rows,
		      int32_t beam, struct decode_result *r)
{
	struct decode_options o = { .beam = beam,
				    .n_best = MIN(beam, 2),
				    .alpha = 0.6,
				    .max_length_factor = 1.0,
				    .max_length_extra = 6,
				    .decode_tokens = 64 };
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = 1,
				       .is_decoding = true,
				       .bf16 = packed == DTYPE_PACKED_BF16,
				       .few_rows = few_rows };
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);
	struct model *m = ops ? model_new(&shape, ops, &options, &e) : NULL;
	struct decoder *d = NULL;
	bool good = m && !model_reserve_forward(m, SMALL_TOKENS, SMALL_TOKENS / 2, &e);

	if (good)
		small_set(m, weights);
	if (good && tensor_is_packed((struct tensor){ .dtype = packed }))
		good = !model_pack(m, packed, &e);
	if (good)
		good = (d = decoder_new(m, SMALL_TOKENS, 1, &e)) &&
		       !decoder_run(d, &o, sources, N_SOURCES, r, &e);
	if (!good)
		test_fail(__FILE__, __LINE__, "%s: %s", backend, e.text);
	decoder_free(d);
	model_free(m);
	return good;
}

static void compare_translations(enum dtype packed, int few_rows, int32_t beam)
{
	struct decode_result a[N_SOURCES], b[N_SOURCES];
	float *weights = complete() ? sharp_weights() : NULL;
	int tokens = 0;

	if (!weights)
		return;
	if (translate("cpu", weights, packed, few_rows, beam, a) &&
	    translate("cuda", weights, packed, few_rows, beam, b)) {
		for (size_t i = 0; i < N_SOURCES; i++) {
			const struct decode_hypothesis *x = &a[i].hypotheses[0],
						       *y = &b[i].hypotheses[0];

			check_int(a[i].n, b[i].n);
			check_int(x->n, y->n);
			check(x->n != y->n ||
			      !memcmp(x->tokens, y->tokens, (size_t)x->n * sizeof(*x->tokens)));
			check_near(x->log_prob, y->log_prob, 1e-3);
			tokens += x->n;
		}
		decode_results_free(a, N_SOURCES);
		decode_results_free(b, N_SOURCES);
	}
	check(tokens > 10);
	free(weights);
	check_int(sim_faults(NULL), 0);
	sim_forget();
}

TEST(cuda_decode_greedy)
{
	compare_translations(DTYPE_F32, 0, 1);
}

TEST(cuda_decode_beam)
{
	compare_translations(DTYPE_F32, 0, 4);
}

TEST(cuda_decode_packed)
{
	compare_translations(DTYPE_PACKED_F32, 0, 4);
	compare_translations(DTYPE_PACKED_BF16, 0, 4);
	compare_translations(DTYPE_PACKED_BF16, -1, 4);
	compare_translations(DTYPE_PACKED_INT8, 0, 4);
}
