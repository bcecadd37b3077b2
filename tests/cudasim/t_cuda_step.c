/*
 * t_cuda_step.c - a training step on the simulated GPU (sim.h): the host does not wait, nothing is
 * allocated, and batches are copied while others are computed.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/ops/bf16.h"
#include "tests/cudasim/sim.h"
#include "tests/train/small_model.h"
#include "train/model/model_internal.h"
#include "train/optim/adam.h"

#define LONG_TOKENS 76

static const struct model_pass_options how = { .dropout = 0.1f,
					       .attention_dropout = 0.1f,
					       .relu_dropout = 0.1f,
					       .smoothing = 0.1f,
					       .grad_scale = 1,
					       .seed = 5 };

struct fixture {
	struct model *m;
	struct adam adam;
	struct batch batch;
	int32_t tokens;
	int64_t step;
};

/* wide: one head of 64 columns, for tensor cores, and long sentences. */
static bool set_up(struct fixture *f, const char *backend, bool wide)
{
	struct model_shape shape = small_shape();
	struct dev_options options = { .threads = 1, .bf16 = true };
	struct err e = { 0 };
	const struct ops *ops = ops_find(backend, &e);

	if (wide)
		shape = (struct model_shape){ 64, 40, 1, 1, 1, 32, 29 };
	*f = (struct fixture){ .tokens = wide ? LONG_TOKENS : SMALL_TOKENS };
	f->m = ops ? model_new(&shape, ops, &options, &e) : NULL;
	if (!f->m || model_reserve_training(f->m, f->tokens, SMALL_SENTENCES, &e) ||
	    model_init(f->m, 8, &e) || adam_open(&f->adam, f->m, 0.9, 0.98, 1e-9, &e) ||
	    batch_alloc(&f->batch, SMALL_SENTENCES, f->tokens, &e)) {
		test_fail(__FILE__, __LINE__, "%s: %s", backend, e.text);
		return false;
	}
	return true;
}

static void tear_down(struct fixture *f)
{
	adam_close(&f->adam);
	batch_free(&f->batch);
	model_free(f->m);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
	sim_forget();
}

/* Two sentences, n tokens in source and in target; `which` selects the tokens. */
static void fill(struct fixture *f, int which, int32_t n)
{
	int32_t ids[LONG_TOKENS];

	batch_clear(&f->batch);
	for (int s = 0; s < 2; s++) {
		for (int32_t i = 0; i < n; i++)
			ids[i] = 4 + (7 * s + 3 * i + 11 * which) % 25;
		check(batch_add(&f->batch, s, ids, s ? 1 : n - 3, ids, s ? 1 : n - 3));
	}
}

static void micro_batch(struct fixture *f, int which, int32_t n, struct model_sums *sums)
{
	struct model_pass_options now = how;
	struct err e = { 0 };

	now.step = (uint32_t)f->step;
	now.micro = (uint32_t)which;
	fill(f, which, n);
	check_err(model_forward_backward(f->m, &f->batch, &now, sums, &e), 0);
}

static void update(struct fixture *f, double clip)
{
	const struct adam_update u = {
		.step = f->step++, .rate = 0.01, .scale = 0.1, .clip = clip
	};

	adam_measure_and_update(&f->adam, &u);
}

static void check_step(bool wide)
{
	struct fixture f;
	struct model_sums sums;
	struct err e = { 0 };

	if (!set_up(&f, "cuda", wide))
		return;
	for (int i = 0; i < 3; i++) {
		const uint64_t waits = sim_waits(), allocations = sim_allocations();

		/* later batches are longer: they must not allocate */
		small_clear_grad(f.m);
		micro_batch(&f, 0, i == 0 ? 5 : f.tokens / 2, NULL);
		micro_batch(&f, 1, i == 0 ? 4 : f.tokens, NULL);
		update(&f, 1);
		check_int(sim_waits() - waits, 0);
		check_int(sim_allocations() - allocations, 0);
		check_err(model_collect_sums(f.m, &sums, &e), 0);
		check_int(sim_waits() - waits,
			  3); /* one waits for the copy; two find the stream empty */
		check_int(sim_allocations() - allocations, 0);
		check(isfinite(sums.loss) && sums.loss > 0 && sums.squares > 0);
		check_int(sums.tokens, i == 0 ? 5 + 4 : f.tokens / 2 + f.tokens);
	}
	tear_down(&f);
}

TEST(cuda_step_without_waits)
{
	check_step(false);
	check_step(true);
}

/* Gradients of five batches: a wait after each, or one wait at the end. */
static float *five(uint64_t seed, bool waits, struct model_sums *sums)
{
	struct fixture f;
	struct err e = { 0 };
	float *grad;

	sim_seed(seed);
	if (!set_up(&f, "cuda", false))
		return NULL;
	small_clear_grad(f.m);
	for (int i = 0; i < 5; i++) {
		struct model_sums one;

		micro_batch(&f, i, 5 + 2 * i, waits ? &one : NULL);
		if (!waits)
			continue;
		sums->loss += one.loss;
		sums->nll += one.nll;
		sums->tokens += one.tokens;
	}
	if (!waits)
		check_err(model_collect_sums(f.m, sums, &e), 0);
	grad = small_copy(f.m, model_grad_arena(f.m));
	tear_down(&f);
	return grad;
}

TEST(cuda_step_sends_ahead)
{
	struct model_sums want = { 0 };
	float *one_by_one = five(1, true, &want);
	struct model_shape shape = small_shape();
	struct model_param *params;
	struct err e = { 0 };
	size_t n;
	int64_t floats;

	if (!one_by_one || !check_err(model_params(&shape, &params, &n, &floats, &e), 0))
		return;
	for (uint64_t seed = 21; seed < 23; seed++) {
		struct model_sums got = { 0 };
		float *at_once = five(seed, false, &got);

		check(at_once && !memcmp(at_once, one_by_one, (size_t)floats * sizeof(float)));
		check(got.loss == want.loss && got.nll == want.nll);
		check_int(got.tokens, want.tokens);
		free(at_once);
	}
	free(one_by_one);
	free(params);
}

/* The bf16 copy equals the rounded weights: after updates, and after the caller wrote weights. */
TEST(cuda_step_rounds)
{
	struct fixture f;
	struct model_sums sums, other;
	struct err e = { 0 };
	int64_t wrong = 0;
	float *w;
	uint16_t *half;

	if (!set_up(&f, "cuda", false))
		return;
	half = malloc((size_t)model_floats(f.m) * sizeof(*half));
	for (int i = 0; i < 3; i++) {
		small_clear_grad(f.m);
		micro_batch(&f, 0, 20, NULL);
		update(&f, 0);
	}
	check(!f.m->rounded_is_stale && half);
	f.m->ops->to_host(f.m->dev, half, f.m->rounded, (size_t)model_floats(f.m) * sizeof(*half));
	w = small_copy(f.m, f.m->param);
	for (int64_t i = 0; i < model_floats(f.m); i++)
		wrong += half[i] != bf16_from_float(w[i]);
	check_int(wrong, 0);
	check_err(model_evaluate(f.m, &f.batch, 0.1f, &sums, &e), 0);
	for (int64_t i = 0; i < model_floats(f.m); i++)
		w[i] *= 1.5f;
	small_set(f.m, w);
	check_err(model_evaluate(f.m, &f.batch, 0.1f, &other, &e), 0);
	check(fabs(other.loss - sums.loss) > 0.1);
	f.m->ops->to_host(f.m->dev, half, f.m->rounded, (size_t)model_floats(f.m) * sizeof(*half));
	for (int64_t i = 0; i < model_floats(f.m); i++)
		wrong += half[i] != bf16_from_float(w[i]);
	check_int(wrong, 0);
	free(w);
	free(half);
	tear_down(&f);
}

static double length_of(struct fixture *f, const float *x)
{
	float *copy = small_copy(f->m, x);
	double sum = 0;

	for (int64_t i = 0; copy && i < model_floats(f->m); i++)
		sum += (double)copy[i] * copy[i];
	free(copy);
	return sqrt(sum);
}

/* The GPU clips like the CPU: the first moment has the length of the clipped gradient. */
TEST(cuda_step_clips)
{
	double moment[2], squares[2];

	for (int b = 0; b < 2; b++) {
		struct fixture f;
		struct model_sums sums;
		struct err e = { 0 };

		if (!set_up(&f, b ? "cuda" : "cpu", false))
			return;
		small_clear_grad(f.m);
		micro_batch(&f, 0, 20, NULL);
		update(&f, 0.25);
		check_near(length_of(&f, f.adam.first), 0.1 * 0.25, 1e-4);
		small_clear_grad(f.m);
		micro_batch(&f, 0, 20, NULL);
		update(&f, 1e3);
		check_err(model_collect_sums(f.m, &sums, &e), 0);
		squares[b] = sums.squares;
		moment[b] = length_of(&f, f.adam.first);
		tear_down(&f);
	}
	check(sqrt(squares[0]) * 0.1 > 0.5); /* longer than the clip length */
	check_near(squares[1], squares[0], 0.05 * squares[0]);
	check_near(moment[1], moment[0], 0.05 * moment[0]);
}

/* A gradient that is not finite changes neither weights nor moments nor the bf16 copy. */
TEST(cuda_step_leaves_out)
{
	const float bad = NAN;
	struct fixture f;
	struct model_sums sums;
	struct err e = { 0 };
	float *before[2], *after[2];
	size_t bytes;

	if (!set_up(&f, "cuda", false))
		return;
	bytes = (size_t)model_floats(f.m) * sizeof(float);
	for (int i = 0; i < 2; i++) {
		small_clear_grad(f.m);
		micro_batch(&f, i, 20, NULL);
		if (i) {
			before[0] = small_copy(f.m, f.m->param);
			before[1] = small_copy(f.m, f.adam.second);
			f.m->ops->to_device(f.m->dev, model_grad_arena(f.m) + 77, &bad,
					    sizeof(bad));
		}
		update(&f, 1);
		check_err(model_collect_sums(f.m, &sums, &e), 0);
		check(isfinite(sums.squares) == (i == 0));
	}
	after[0] = small_copy(f.m, f.m->param);
	after[1] = small_copy(f.m, f.adam.second);
	for (int i = 0; i < 2; i++) {
		check(!memcmp(before[i], after[i], bytes));
		free(before[i]);
		free(after[i]);
	}
	tear_down(&f);
}
