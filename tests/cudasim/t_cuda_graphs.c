/*
 * t_cuda_graphs.c - training with CUDA graphs on the simulated GPU (sim.h): the same bits as without
 * graphs, with batches of changing shapes; and graphs are really replayed.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/cudasim/sim.h"
#include "tests/train/small_model.h"
#include "train/model/model_internal.h"
#include "train/optim/adam.h"

enum { TOKENS = 76, SENTENCES = 9, STEPS = 5 };

struct setting {
	bool bf16, wide; /* wide: one head of 64 columns, for tensor cores */
	bool graphs;
	bool reads;	  /* every other step registers a callback for gradients that are ready */
	int micro, kinds; /* micro-batches of a step; kinds of batches */
	uint64_t seed;	  /* sim_seed() */
};

/* The result of a training run. */
struct left {
	float *parameters, *moments; /* owned */
	double loss[STEPS], nll[STEPS], squares[STEPS];
	int64_t tokens[STEPS];
	int64_t floats;
};

struct fixture {
	struct setting is;
	struct model *m;
	struct adam adam;
	struct batch batch;
	float *seen;  /* owned: the gradient, part by part when it was ready */
	int64_t next; /* start of the part that was ready last */
	int n_read;
};

static bool set_up(struct fixture *f, const struct setting *is)
{
	struct model_shape shape = { 16, 24, 2, 1, 1, 32, 29 };
	struct dev_options options = { .bf16 = is->bf16, .graphs = is->graphs };
	struct err e = { 0 };

	sim_seed(is->seed);
	if (is->wide)
		shape = (struct model_shape){ 64, 24, 1, 1, 1, 32, 29 };
	*f = (struct fixture){ .is = *is };
	f->m = model_new(&shape, ops_cuda(), &options, &e);
	if (!f->m || model_reserve_training(f->m, TOKENS, SENTENCES, &e) ||
	    model_init(f->m, 8, &e) || adam_open(&f->adam, f->m, 0.9, 0.98, 1e-9, &e) ||
	    batch_alloc(&f->batch, SENTENCES, TOKENS, &e) ||
	    !(f->seen = ops_cuda()->alloc(f->m->dev, (size_t)f->m->floats * sizeof(float), &e))) {
		test_fail(__FILE__, __LINE__, "%s", e.text);
		return false;
	}
	return true;
}

static void tear_down(struct fixture *f)
{
	ops_cuda()->release(f->m->dev, f->seen);
	adam_close(&f->adam);
	batch_free(&f->batch);
	model_free(f->m);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
	sim_forget();
}

/* Three kinds of batches in turn: a few short sentences, one long sentence, a full batch. */
static void fill(struct fixture *f, int number)
{
	static const int kinds[][3] = { { 3, 5, 7 }, { 1, 70, 20 }, { 9, 3, 4 } };
	const int *kind = kinds[number % f->is.kinds];

	batch_clear(&f->batch);
	for (int s = 0; s < kind[0]; s++) {
		int32_t ids[2][TOKENS];
		const int n[2] = { kind[1] - (number / 3 + s) % 3, kind[2] - (number / 3 + s) % 2 };

		for (int side = 0; side < 2; side++)
			for (int i = 0; i < n[side]; i++)
				ids[side][i] = 4 + (7 * s + (3 + side) * i + 11 * number) % 25;
		check(batch_add(&f->batch, s, ids[0], n[0], ids[1], n[1]));
	}
}

/* Copy each part of the gradient when it is reported ready, as a reduction would. */
static void on_ready(void *arg, int64_t from)
{
	struct fixture *f = arg;
	const int64_t n = f->next - from;

	check(n > 0 && from >= 0);
	f->m->ops->copy(f->m->dev, tensor_f32(f->seen + from, 1, n),
			tensor_f32(f->m->grad + from, 1, n));
	f->next = from;
	f->n_read++;
}

/* Was each part complete when it was reported ready? */
static void check_seen(struct fixture *f)
{
	float *seen = small_copy(f->m, f->seen), *gradient = small_copy(f->m, f->m->grad);

	check_int(f->next, 0);
	check_int(f->n_read, f->m->shape.encoder_layers + f->m->shape.decoder_layers + 3);
	check(!memcmp(seen, gradient, (size_t)f->m->floats * sizeof(float)));
	free(seen);
	free(gradient);
}

static void step(struct fixture *f, int number, int first, struct left *to)
{
	const struct adam_update update = { .step = number, .rate = 0.01, .scale = 0.1, .clip = 1 };
	const bool reads = f->is.reads && number % 2 == 0;
	struct model_sums sums;
	struct err e = { 0 };

	small_clear_grad(f->m);
	for (int i = 0; i < f->is.micro; i++) {
		const struct model_pass_options how = {
			.dropout = 0.1f,
			.attention_dropout = 0.2f,
			.relu_dropout = 0.3f,
			.smoothing = 0.1f,
			.grad_scale = 1,
			.seed = 5,
			.step = (uint32_t)number,
			.micro = (uint32_t)i,
			.ready = reads ? on_ready : NULL,
			.ready_arg = f,
		};

		f->next = f->m->floats;
		f->n_read = 0;
		fill(f, first + i);
		check_err(model_forward_backward(f->m, &f->batch, &how, NULL, &e), 0);
		to->tokens[number] -= f->batch.n_target;
	}
	if (reads)
		check_seen(f);
	adam_measure_and_update(&f->adam, &update);
	check_err(model_collect_sums(f->m, &sums, &e), 0);
	to->loss[number] = sums.loss;
	to->nll[number] = sums.nll;
	to->squares[number] = sums.squares;
	to->tokens[number] += sums.tokens;
}

static bool train(struct left *to, const struct setting *is)
{
	struct fixture f;

	*to = (struct left){ .floats = 0 };
	if (!set_up(&f, is))
		return false;
	for (int i = 0; i < STEPS; i++)
		step(&f, i, is->micro * i, to);
	to->floats = f.m->floats;
	to->parameters = small_copy(f.m, f.m->param);
	to->moments = small_copy(f.m, f.adam.second);
	tear_down(&f);
	return true;
}

static void left_free(struct left *l)
{
	free(l->parameters);
	free(l->moments);
}

static void compare(const struct setting *is)
{
	struct setting plain = *is;
	struct left a, b;
	uint64_t before;

	plain.graphs = false;
	plain.seed++;
	if (!train(&a, &plain))
		return;
	before = sim_graphs();
	if (train(&b, is)) {
		const size_t bytes = (size_t)a.floats * sizeof(float);

		check_int(sim_graphs() - before > 0, is->graphs);
		check(!memcmp(a.parameters, b.parameters, bytes));
		check(!memcmp(a.moments, b.moments, bytes));
		for (int i = 0; i < STEPS; i++) {
			check(isfinite(a.loss[i]) && a.loss[i] > 0 && a.squares[i] > 0);
			check(a.loss[i] == b.loss[i] && a.nll[i] == b.nll[i]);
			check(a.squares[i] == b.squares[i]);
			check_int(a.tokens[i], 0);
			check_int(b.tokens[i], 0);
		}
		left_free(&b);
	}
	left_free(&a);
}

/* Each test below is short enough for the time limit of a test on a busy machine. */
static void compare_graphs(bool bf16_and_wide)
{
	/* three batches a step: each kind uses both batch slots */
	compare(&(struct setting){ .bf16 = bf16_and_wide,
				   .wide = bf16_and_wide,
				   .graphs = true,
				   .micro = 3,
				   .kinds = 3,
				   .seed = 40 + (uint64_t)bf16_and_wide });
}

TEST(cuda_graphs_train_to_the_bit)
{
	compare_graphs(false);
}

TEST(cuda_graphs_train_to_the_bit_on_tensor_cores)
{
	compare_graphs(true);
}

TEST(cuda_graphs_end_where_something_is_ready)
{
	for (int i = 0; i < 2; i++)
		compare(&(struct setting){ .bf16 = i,
					   .graphs = true,
					   .reads = true,
					   .micro = 2,
					   .kinds = 1,
					   .seed = 50 + (uint64_t)i });
}

/*
 * A batch of each kind uses both batch slots: first without a graph, then captured, then replayed.
 * A replay allocates nothing and does not wait.
 */
TEST(cuda_graphs_are_played)
{
	const struct setting is = {
		.bf16 = true,
		.graphs = true,
		.micro = 2,
		.kinds = 2,
		.seed = 3,
	};
	struct fixture f;
	struct left ignored = { .floats = 0 };

	if (!set_up(&f, &is))
		return;
	for (int i = 0; i < STEPS; i++) {
		const uint64_t graphs = sim_graphs(), allocations = sim_allocations(),
			       waits = sim_waits();

		step(&f, i, 0, &ignored); /* micro-batch and slot are the same each time */
		check_int(sim_graphs() - graphs, i ? is.micro : 0);
		check_int(sim_allocations() - allocations, 0);
		check_int(sim_waits() - waits, 3); /* all in model_collect_sums() */
	}
	tear_down(&f);
}

static struct batch_extent extent_of(int32_t n, int32_t n_source, int32_t n_target, int32_t longest)
{
	const struct batch b = { .n = n,
				 .n_source = n_source,
				 .n_target = n_target,
				 .max_source = longest,
				 .max_target = longest };

	return model_extent(&b, 4096, true);
}

/* Padding maps many shapes to few; each is large enough for its batch and the padding rows. */
TEST(cuda_graphs_shapes_are_few)
{
	const struct batch_extent most = model_max_extent(4096, 2048, true),
				  plain = model_max_extent(4000, 7, false);

	check_int(plain.source, 4000);
	check_int(plain.sentences, 7);
	for (int32_t n = 1; n <= 4096; n += 37) {
		for (int32_t longest = 2; longest <= 300; longest += 23) {
			const int32_t sentences = MIN(CEIL_DIV(n, longest) + 3, 2048);
			const struct batch_extent x = extent_of(sentences, n, 4096 - n, longest);
			const int32_t added[2] = { x.source - n, x.target - (4096 - n) };

			check(x.source % 128 == 0 && x.target % 128 == 0);
			check(x.source <= most.source && x.target <= most.target);
			check(x.sentences <= most.sentences && x.max_source >= longest);
			check((x.max_source & (x.max_source - 1)) == 0);
			for (int side = 0; side < 2; side++) {
				check(added[side] >= 0 && added[side] < 128);
				check(added[side] <=
				      (int64_t)(x.sentences - sentences) * x.max_source);
			}
		}
	}
}
