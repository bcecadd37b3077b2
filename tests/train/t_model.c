/* t_model.c - the whole model: its size, its loss and its gradients. */
#include <math.h>
#include <stdio.h>

#include "tests/train/small_model.h"
#include "train/optim/adam.h"

static int64_t count_floats(struct model_shape shape)
{
	struct model_param *params;
	struct err e;
	size_t n;
	int64_t floats, sum = 0;

	if (!check_err(model_params(&shape, &params, &n, &floats, &e), 0))
		return -1;
	for (size_t i = 0; i < n; i++) {
		check_int(params[i].offset, sum);
		sum += params[i].rows * params[i].cols;
	}
	check_int(sum, floats);
	free(params);
	return floats;
}

TEST(model_parameter_counts)
{
	struct model_shape base = { .d_model = 512,
				    .d_ff = 2048,
				    .heads = 8,
				    .encoder_layers = 6,
				    .decoder_layers = 6,
				    .vocabulary = 32768,
				    .real_vocabulary = 32768 };
	struct model_shape big = base;

	check_int(count_floats(base), 60880896);
	big.d_model = 1024;
	big.d_ff = 4096;
	big.heads = 16;
	check_int(count_floats(big), 209842176);
}

TEST(model_names)
{
	struct model_shape shape = small_shape();
	struct model_param *params;
	struct err e;
	size_t n;
	int64_t floats;

	if (!check_err(model_params(&shape, &params, &n, &floats, &e), 0))
		return;
	check_int(n, 1 + 2 * 10 + 3 + 2 * 14 + 2);
	check_str(params[0].name, "embed");
	check_str(params[1].name, "encoder.0.self.norm.scale");
	check_str(params[11].name, "encoder.1.self.norm.scale");
	check_str(params[23].name, "decoder.cross.kv");
	check_str(params[n - 3].name, "decoder.1.ffn.out.bias");
	check_str(params[n - 1].name, "decoder.norm.shift");
	free(params);
}

TEST(model_refuses_impossible_shapes)
{
	struct model_shape good = small_shape(), s;
	struct model_param *params;
	struct err e;
	size_t n;
	int64_t floats;
#define BAD(field, value)                                                                          \
	s = good;                                                                                  \
	s.field = value;                                                                           \
	check_err(model_params(&s, &params, &n, &floats, &e), ERR_CONFIG);
	BAD(heads, 5)
	BAD(heads, 0)
	BAD(d_model, 15)
	BAD(d_ff, 0)
	BAD(encoder_layers, 0)
	BAD(decoder_layers, 65)
	BAD(vocabulary, 30)
	BAD(real_vocabulary, 33)
	BAD(real_vocabulary, 3)
#undef BAD
}

/* ---- logits in pieces, dropout ----------------------------------------- */

/* Logits in pieces of a few rows, with separate gradients or in place, give the same result. */
static void compare_pieces(bool in_place)
{
	struct ops pieces = *ops_ref();
	const struct model_pass_options how = { .smoothing = 0.1f, .grad_scale = 1 };
	struct model *m[2] = { small_model("ref", false), NULL };
	struct model_sums sums[2];
	float *grad[2] = { NULL, NULL };
	struct batch b;
	struct err e;

	pieces.loss_rows = 3; /* of 11 */
	pieces.loss_in_place = in_place;
	m[1] = small_model_on(&pieces, false);
	if (m[0] && m[1] && small_batch(&b)) {
		for (int i = 0; i < 2; i++) {
			small_formula_weights(m[i]);
			check_err(model_forward_backward(m[i], &b, &how, &sums[i], &e), 0);
			grad[i] = small_copy(m[i], model_grad_arena(m[i]));
		}
		check_near(sums[1].loss, sums[0].loss, 0);
		check(!memcmp(grad[0], grad[1], (size_t)model_floats(m[0]) * sizeof(float)));
		batch_free(&b);
	}
	for (int i = 0; i < 2; i++) {
		free(grad[i]);
		model_free(m[i]);
	}
}

TEST(model_logits_in_pieces)
{
	compare_pieces(false);
	compare_pieces(true);
}

/* Dropout masks depend on step and micro-batch only. */
TEST(model_drops_by_step_and_micro_batch)
{
	static const uint32_t moments[][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 0, 0 } };
	struct model *m = small_model("cpu", false);
	double loss[4] = { 0 };
	struct batch b;
	struct err e;

	if (!m || !small_batch(&b))
		return;
	small_formula_weights(m);
	for (int i = 0; i < 4; i++) {
		const struct model_pass_options how = { .dropout = 0.3f,
							.smoothing = 0.1f,
							.grad_scale = 1,
							.step = moments[i][0],
							.micro = moments[i][1] };
		struct model_sums sums = { 0 };

		check_err(model_forward_backward(m, &b, &how, &sums, &e), 0);
		loss[i] = sums.loss;
	}
	check(loss[0] != loss[1] && loss[0] != loss[2] && loss[1] != loss[2]);
	check_near(loss[3], loss[0], 0);
	batch_free(&b);
	model_free(m);
}

/* ---- gradients by finite differences ------------------------------------ */

static const struct model_pass_options all_dropout = {
	.dropout = 0.1f,
	.attention_dropout = 0.2f,
	.relu_dropout = 0.15f,
	.smoothing = 0.1f,
	.grad_scale = 1,
	.seed = 5,
	.step = 3,
	.micro = 1,
};

static double loss_at(struct model *m, const struct batch *b, const float *params)
{
	struct model_sums sums = { 0 };
	struct err e;

	small_set(m, params);
	check_err(model_forward_backward(m, b, &all_dropout, &sums, &e), 0);
	return sums.loss;
}

/*
 * The masks of each site have random numbers that never change, also when other kinds of sublayers
 * are added: with others, a run would not resume with the same bits.
 */
TEST(model_keeps_its_dropout_numbers)
{
	struct model *m = small_model("ref", false);
	struct batch b;

	if (!m || !small_batch(&b))
		return;
	small_formula_weights(m);
	check_near(loss_at(m, &b, model_param_arena(m)), 42.757482, 1e-3);
	batch_free(&b);
	model_free(m);
}

/*
 * The derivative along one random direction of each tensor, with all dropouts. The masks depend
 * only on the position, so the loss is smooth except for the kinks of ReLU.
 */
TEST(model_gradient_by_differences)
{
	const float h = 5e-4f;
	struct model *m = small_model("ref", false);
	struct model_param *params = NULL;
	struct batch b;
	struct err e;
	size_t n = 0;
	int64_t floats;
	float *base, *grad, *moved;

	if (!m || !small_batch(&b))
		return;
	small_formula_weights(m);
	base = small_copy(m, model_param_arena(m));
	moved = small_copy(m, model_param_arena(m));
	small_clear_grad(m);
	loss_at(m, &b, base);
	grad = small_copy(m, model_grad_arena(m));
	check_err(model_params(model_get_shape(m), &params, &n, &floats, &e), 0);
	for (size_t p = 0; p < n; p++) {
		const struct rng_key key = rng_key_make(9, RNG_TEST, (uint32_t)p, 0);
		double along = 0, size = 0, up, down;

		for (int64_t k = params[p].offset;
		     k < params[p].offset + params[p].rows * params[p].cols; k++) {
			float d = rng_unit(key, (uint64_t)k) < 0.5f ? -1 : 1;

			moved[k] = base[k] + h * d;
			along += (double)d * grad[k];
			size += (double)grad[k] * grad[k];
		}
		up = loss_at(m, &b, moved);
		for (int64_t k = params[p].offset;
		     k < params[p].offset + params[p].rows * params[p].cols; k++)
			moved[k] = 2 * base[k] - moved[k];
		down = loss_at(m, &b, moved);
		for (int64_t k = params[p].offset;
		     k < params[p].offset + params[p].rows * params[p].cols; k++)
			moved[k] = base[k];
		if (!(fabs((up - down) / (2 * h) - along) <= 2e-2 * sqrt(size) + 5e-3))
			test_fail(__FILE__, __LINE__, "%s: difference %g, gradient %g",
				  params[p].name, (up - down) / (2 * h), along);
	}
	free(params);
	free(base);
	free(grad);
	free(moved);
	batch_free(&b);
	model_free(m);
}

/* ---- learning ---------------------------------------------------------- */

TEST(model_overfits_one_batch)
{
	struct model_pass_options how = { .grad_scale = 1 };
	struct model *m = small_model("cpu", false);
	struct model_sums sums = { 0 };
	struct adam adam;
	struct batch b;
	struct err e;

	if (!m || !small_batch(&b))
		return;
	check_err(model_init(m, 3, &e), 0);
	if (check_err(adam_open(&adam, m, 0.9, 0.98, 1e-9, &e), 0)) {
		for (int step = 0; step < 150; step++) {
			small_clear_grad(m);
			check_err(model_forward_backward(m, &b, &how, &sums, &e), 0);
			if (step == 0)
				check(sums.nll / (double)sums.tokens > 2.5);
			adam_apply(&adam, step, 3e-3, 1.0 / (double)sums.tokens);
		}
		check(sums.nll / (double)sums.tokens < 0.02);
		check_err(model_evaluate(m, &b, 0, &sums, &e), 0);
		check(sums.nll / (double)sums.tokens < 0.02);
	}
	adam_close(&adam);
	batch_free(&b);
	model_free(m);
}

/* ---- packing ----------------------------------------------------------- */

TEST(model_packed_equals_alone)
{
	struct model_pass_options how = { .smoothing = 0.1f, .grad_scale = 1 };
	struct model *m = small_model("cpu", false);
	struct model_sums together, alone, sum = { 0 };
	struct batch b;
	struct err e;
	float *packed, *single;
	double worst = 0;

	if (!m || !small_batch(&b))
		return;
	check_err(model_init(m, 4, &e), 0);
	check_err(model_forward_backward(m, &b, &how, &together, &e), 0);
	packed = small_copy(m, model_grad_arena(m));
	small_clear_grad(m);
	for (int s = 0; s < 3; s++) {
		batch_clear(&b);
		small_add(&b, s, small_lengths[s][0], small_lengths[s][1]);
		check_err(model_forward_backward(m, &b, &how, &alone, &e), 0);
		sum.loss += alone.loss;
		sum.nll += alone.nll;
		sum.tokens += alone.tokens;
	}
	single = small_copy(m, model_grad_arena(m));
	check_int(together.tokens, sum.tokens);
	check_near(together.loss, sum.loss, 1e-5 * sum.loss);
	check_near(together.nll, sum.nll, 1e-5 * sum.nll);
	for (int64_t i = 0; i < model_floats(m); i++)
		worst = fmax(worst, fabs((double)packed[i] - single[i]));
	check_near(worst, 0, 2e-4);
	free(packed);
	free(single);
	batch_free(&b);
	model_free(m);
}

/* A model for evaluation only needs less memory and gives the same result. */
TEST(model_evaluates_in_less_memory)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = 1 };
	struct err e;
	struct model *training = small_model("cpu", false),
		     *forward = model_new(&shape, ops_find("cpu", &e), &options, &e);
	struct model_pass_options how = { .smoothing = 0.1f, .grad_scale = 1 };
	struct model_sums a, b, c;
	struct batch batch;

	if (!training || !check(forward) || !small_batch(&batch))
		return;
	check_err(model_reserve_forward(forward, SMALL_TOKENS, SMALL_SENTENCES, &e), 0);
	check_err(model_reserve_forward(forward, SMALL_TOKENS, SMALL_SENTENCES, &e), ERR_INTERNAL);
	check_err(model_init(training, 6, &e), 0);
	check_err(model_init(forward, 6, &e), 0);
	check_err(model_evaluate(training, &batch, 0.1f, &a, &e), 0);
	check_err(model_evaluate(forward, &batch, 0.1f, &b, &e), 0);
	check_err(model_forward_backward(training, &batch, &how, &c, &e), 0);
	check_near(a.loss, b.loss, 0);
	check_near(a.nll, b.nll, 0);
	check_near(a.loss, c.loss, 1e-5);
	check(model_grad_arena(forward) == NULL);
	check_err(model_forward_backward(forward, &batch, &how, &c, &e), ERR_INTERNAL);
	batch_free(&batch);
	model_free(training);
	model_free(forward);
}

TEST(model_refuses_a_batch_that_does_not_fit)
{
	struct model *m = small_model("cpu", false);
	struct model_sums sums;
	struct batch b;
	struct err e;
	int32_t words[SMALL_TOKENS] = { 0 };

	if (!m || !check_err(batch_alloc(&b, 3, 2 * SMALL_TOKENS, &e), 0))
		return;
	check_err(model_evaluate(m, &b, 0, &sums, &e), ERR_INTERNAL); /* empty */
	check(batch_add(&b, 0, words, SMALL_TOKENS, words, 1));	      /* and </s>: one too many */
	check_err(model_evaluate(m, &b, 0, &sums, &e), ERR_INTERNAL);
	batch_free(&b);
	model_free(m);
}

/* ---- backends ---------------------------------------------------------- */

TEST(model_cpu_equals_ref)
{
	struct model *cpu = small_model("cpu", false), *ref = small_model("ref", false);
	struct model_sums a, b;
	struct batch batch;
	struct err e;
	float *x, *y;
	double worst = 0;

	if (!cpu || !ref || !small_batch(&batch))
		return;
	check_err(model_init(cpu, 8, &e), 0);
	check_err(model_init(ref, 8, &e), 0);
	check_err(model_forward_backward(cpu, &batch, &all_dropout, &a, &e), 0);
	check_err(model_forward_backward(ref, &batch, &all_dropout, &b, &e), 0);
	check_near(a.loss, b.loss, 1e-5 * b.loss);
	x = small_copy(cpu, model_grad_arena(cpu));
	y = small_copy(ref, model_grad_arena(ref));
	for (int64_t i = 0; i < model_floats(cpu); i++)
		worst = fmax(worst, fabs((double)x[i] - y[i]));
	check_near(worst, 0, 2e-4);
	free(x);
	free(y);
	batch_free(&batch);
	model_free(cpu);
	model_free(ref);
}

/* Two runs give the same bits; another seed, step or micro-batch gives other masks. */
TEST(model_repeats_bit_by_bit)
{
	struct model *m = small_model("cpu", false);
	struct model_pass_options how = all_dropout;
	struct model_sums first, again, other;
	struct batch b;
	struct err e;
	float *x, *y;

	if (!m || !small_batch(&b))
		return;
	check_err(model_init(m, 8, &e), 0);
	check_err(model_forward_backward(m, &b, &how, &first, &e), 0);
	x = small_copy(m, model_grad_arena(m));
	small_clear_grad(m);
	check_err(model_forward_backward(m, &b, &how, &again, &e), 0);
	y = small_copy(m, model_grad_arena(m));
	check(first.loss == again.loss);
	check(memcmp(x, y, (size_t)model_floats(m) * sizeof(*x)) == 0);
	how.step++;
	check_err(model_forward_backward(m, &b, &how, &other, &e), 0);
	check(other.loss != first.loss);
	how.step--;
	how.micro++;
	check_err(model_forward_backward(m, &b, &how, &other, &e), 0);
	check(other.loss != first.loss);
	how.micro--;
	how.seed++;
	check_err(model_forward_backward(m, &b, &how, &other, &e), 0);
	check(other.loss != first.loss);
	free(x);
	free(y);
	batch_free(&b);
	model_free(m);
}

/* Gradients of a step with this number of threads, owned by the caller; NULL: a check failed. */
static float *gradients_by(int threads, bool bf16)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = threads, .bf16 = bf16 };
	struct err e = { 0 };
	struct model *m = model_new(&shape, ops_cpu(), &options, &e);
	struct model_sums sums;
	struct batch b;
	float *x = NULL;

	if (m && !model_reserve_training(m, SMALL_TOKENS, SMALL_SENTENCES, &e) &&
	    !model_init(m, 8, &e) && small_batch(&b)) {
		if (!model_forward_backward(m, &b, &all_dropout, &sums, &e))
			x = small_copy(m, model_grad_arena(m));
		batch_free(&b);
	}
	if (!x)
		test_fail(__FILE__, __LINE__, "%d threads: %s", threads, e.text);
	model_free(m);
	return x;
}

/* Products have the same bits for any number of threads. */
TEST(model_threads_change_nothing)
{
	const size_t bytes = 16 * 32 * sizeof(float); /* of the table, which all else reaches */

	for (int bf16 = 0; bf16 < 2; bf16++) {
		float *one = gradients_by(1, bf16);

		for (int threads = 2; one && threads <= 5; threads++) {
			float *many = gradients_by(threads, bf16);

			if (!many)
				break;
			check(memcmp(one, many, bytes) == 0);
			free(many);
		}
		free(one);
	}
}

TEST(model_initial_weights)
{
	struct model_shape shape = { .d_model = 64,
				     .d_ff = 256,
				     .heads = 4,
				     .encoder_layers = 1,
				     .decoder_layers = 1,
				     .vocabulary = 1000,
				     .real_vocabulary = 1000 };
	struct dev_options options = { 0 };
	struct err e;
	struct model *m = model_new(&shape, ops_ref(), &options, &e);
	const struct model_weights *w;
	const float *x;
	double sum = 0, squares = 0, largest = 0;

	if (!check(m) || !check_err(model_init(m, 1, &e), 0))
		return;
	w = model_get_weights(m);
	x = w->embed.data;
	for (int i = 0; i < 64000; i++) {
		sum += x[i];
		squares += (double)x[i] * x[i];
	}
	check_near(sum / 64000, 0, 0.002);
	check_near(sqrt(squares / 64000), 0.125, 0.002);
	x = w->stack[STACK_ENCODER].sub[0].in.data;
	for (int i = 0; i < 3 * 64 * 64; i++)
		largest = fmax(largest, fabs((double)x[i]));
	check_near(largest, sqrt(6.0 / 128), 0.001);
	largest = 0;
	x = w->stack[STACK_DECODER].sub[2].in.data;
	for (int i = 0; i < 256 * 64; i++)
		largest = fmax(largest, fabs((double)x[i]));
	check_near(largest, sqrt(6.0 / 320), 0.001);
	check(model_output_norm(m).scale[63] == 1);
	check(model_output_norm(m).shift[63] == 0);
	model_free(m);
}

TEST(model_training_memory)
{
	struct model_shape shape = { .d_model = 512,
				     .d_ff = 2048,
				     .heads = 8,
				     .encoder_layers = 6,
				     .decoder_layers = 6,
				     .vocabulary = 32768,
				     .real_vocabulary = 32768 };
	struct err e;
	struct dev_options fp32 = { 0 }, bf16 = { .bf16 = true };
	struct model_size size = { &shape, ops_cpu(), &fp32, 1024, 512, 1 };
	struct dev_memory small, large, halves, twice;

	check_err(model_memory_needs(&size, &small, &e), 0);
	size.tokens = 4096;
	size.sentences = 2048;
	check_err(model_memory_needs(&size, &large, &e), 0);
	size.options = &bf16;
	check_err(model_memory_needs(&size, &halves, &e), 0);
	check(small.device_bytes > 4 * 4 * (size_t)60880896 &&
	      large.device_bytes > small.device_bytes);
	check(large.device_bytes < (size_t)4 << 30);
	/* weights, moments and the residual stream stay as they are */
	check(halves.device_bytes < large.device_bytes - large.device_bytes / 5 &&
	      halves.device_bytes > large.device_bytes / 2);
	size = (struct model_size){ &shape, ops_cpu(), &fp32, 4096, 2048, 2 };
	check_err(model_memory_needs(&size, &twice, &e), 0);
	size.tokens = 8192;
	size.sentences = 4096;
	size.copies = 1;
	check_err(model_memory_needs(&size, &large, &e), 0);
	check_int(twice.device_bytes, large.device_bytes);
	shape.heads = 0;
	check_err(model_memory_needs(&size, &halves, &e), ERR_CONFIG);
}

/* Graph function of a backend that can record graphs and has none. */
static int kept_never(struct dev *d, const struct graph_key *key)
{
	(void)d;
	(void)key;
	return 0;
}

/* With graphs, rows are rounded up to granules; whole granules need hardly more memory. */
TEST(model_memory_for_graphs)
{
	const struct model_shape shape = { .d_model = 512,
					   .d_ff = 2048,
					   .heads = 8,
					   .encoder_layers = 6,
					   .decoder_layers = 6,
					   .vocabulary = 32768,
					   .real_vocabulary = 32768 };
	const struct dev_options plain = { 0 }, graphs = { .graphs = true };
	struct ops table = *ops_ref();
	struct model_size size = { &shape, &table, &graphs, 4096, 2048, 1 };
	struct dev_memory want, even, more, without;
	struct err e;

	check_err(model_memory_needs(&size, &want, &e), 0); /* not a GPU: it pads nothing */
	table.graph_begin = kept_never;
	check_err(model_memory_needs(&size, &even, &e), 0);
	size.tokens++;
	check_err(model_memory_needs(&size, &more, &e), 0);
	check(even.device_bytes > want.device_bytes &&
	      even.device_bytes - want.device_bytes < (size_t)1 << 20);
	check(more.device_bytes > even.device_bytes + even.device_bytes / 200 &&
	      more.device_bytes < even.device_bytes + even.device_bytes / 16);
	size.options = &plain; /* a GPU without graphs pads, too */
	check_err(model_memory_needs(&size, &without, &e), 0);
	check(without.device_bytes == more.device_bytes);
}

/* The shape of a checkpoint may come from a stranger: its products must not overflow. */
TEST(model_refuses_huge_shapes)
{
	const struct model_shape huge[] = {
		{ .d_model = 2147483646,
		  .d_ff = 16,
		  .heads = 2,
		  .encoder_layers = 1,
		  .decoder_layers = 1,
		  .vocabulary = 32,
		  .real_vocabulary = 29 },
		{ .d_model = 16,
		  .d_ff = 2147483646,
		  .heads = 2,
		  .encoder_layers = 1,
		  .decoder_layers = 1,
		  .vocabulary = 32,
		  .real_vocabulary = 29 },
		{ .d_model = 16,
		  .d_ff = 16,
		  .heads = 2,
		  .encoder_layers = 1,
		  .decoder_layers = 1,
		  .vocabulary = 2147483640,
		  .real_vocabulary = 29 },
	};
	const struct model_shape large = { .d_model = 1 << 20,
					   .d_ff = 1 << 20,
					   .heads = 2,
					   .encoder_layers = 64,
					   .decoder_layers = 64,
					   .vocabulary = 1 << 26,
					   .real_vocabulary = 29 };
	struct model_param *params = NULL;
	struct err e = { 0 };
	int64_t floats = 0;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(huge); i++)
		check_err(model_params(&huge[i], &params, &n, &floats, &e), ERR_CONFIG);
	check_err(model_params(&large, &params, &n, &floats, &e), 0);
	check(floats > 0 && floats < (int64_t)1 << 51);
	free(params);
}
