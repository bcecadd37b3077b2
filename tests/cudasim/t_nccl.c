/* t_nccl.c - reductions between GPUs by the simulated NCCL (nccl.cc), compared with those of hosts. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/cuda/cuda_queue.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "tests/cudasim/ranks.h"
#include "tests/cudasim/sim.h"
#include "tests/train/fake_ranks.h"
#include "tests/train/small_model.h"
#include "train/comm/comm_nccl.h"
#include "train/comm/compress.h"
#include "train/comm/reduce.h"
#include "train/model/model_internal.h"
#include "train/optim/adam.h"

enum { FLOATS = 9001, ROUNDS = 3, MAX_RANKS = 4 };

static void fill(float *x, size_t n, uint32_t what)
{
	const struct rng_key key = rng_key_make(7, RNG_TEST, what, 0);

	for (size_t i = 0; i < n; i++) {
		const uint32_t u = rng_u32(key, i);

		x[i] = ((float)(u & 0xFFFF) / 32768 - 1) * powf(2, 7 - (float)((u >> 16) % 24));
	}
}

static struct dev *open_gpu(struct err *e)
{
	struct dev_options options = { .threads = 1 };
	struct dev *d = ops_cuda()->open(&options, e);

	if (!d)
		test_fail(__FILE__, __LINE__, "%s", e->text);
	return d;
}

/* ---- wire formats ----------------------------------------------------------- */

static void *to_gpu(struct dev *d, const void *from, size_t bytes)
{
	struct err e = { 0 };
	void *p = ops_cuda()->alloc(d, bytes, &e);

	check(p);
	ops_cuda()->to_device(d, p, from, bytes);
	return p;
}

/* Encode and decode n numbers, on the GPU and on the host; bad: one number is not finite. */
static void compare_form(struct dev *d, struct cuda_queue *q, enum wire_format w, size_t n,
			 bool bad)
{
	const struct ops *o = ops_cuda();
	const size_t bytes = compress_bytes(w, n), size = n * sizeof(float);
	float *x = malloc(size), *error_feedback = malloc(size), *back = malloc(size);
	unsigned char *wire = malloc(bytes), *want = malloc(bytes);
	void *gpu_x, *gpu_residual, *gpu_wire;
	struct wire_pieces p = { .n = (int64_t)n,
				 .piece_len = (int64_t)(n + 511) / 512 * 512,
				 .ranks = 1,
				 .own_piece = -1 };

	fill(x, n, (uint32_t)n);
	fill(error_feedback, n, (uint32_t)n + 1);
	if (bad)
		x[n / 2] = n % 2 ? INFINITY : NAN;
	memset(want, 0, bytes);
	gpu_x = to_gpu(d, x, size);
	gpu_residual = to_gpu(d, error_feedback, size);
	gpu_wire = to_gpu(d, want, bytes);
	p.x = gpu_x;
	p.error_feedback = compress_feeds_back(w) ? gpu_residual : NULL;
	cuda_queue_wait_for_ops(q);
	cuda_wire_encode(q, w, gpu_wire, &p);
	cuda_wire_decode(q, w, &p, gpu_wire);
	cuda_ops_wait_for_queue(q);
	compress_encode(w, want, x, p.error_feedback ? error_feedback : NULL, n);
	o->to_host(d, wire, gpu_wire, bytes);
	check(!memcmp(wire, want, bytes));
	o->to_host(d, back, gpu_residual, size);
	check(!memcmp(back, error_feedback, size));
	compress_decode(w, x, want, n);
	o->to_host(d, back, gpu_x, size);
	check(bad || !memcmp(back, x, size));
	for (size_t i = 0; i < n; i++)
		if (isnan(back[i]) != isnan(x[i]))
			test_fail(__FILE__, __LINE__, "%s: number %zu", compress_name(w), i);
	o->release(d, gpu_x);
	o->release(d, gpu_residual);
	o->release(d, gpu_wire);
	free(x);
	free(error_feedback);
	free(back);
	free(wire);
	free(want);
}

TEST(cuda_wire_equals_host)
{
	static const size_t sizes[] = { 1, 7, 130, 511, 512, 513, 1024 + 65, 2048 + 250 };
	struct err e = { 0 };
	struct dev *d = open_gpu(&e);
	struct cuda_queue *q = d ? cuda_queue_open(d, &e) : NULL;

	for (enum wire_format w = WIRE_FP32; check(q) && w < WIRE_FORMATS; w++)
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			sim_seed(i);
			compare_form(d, q, w, sizes[i], false);
			compare_form(d, q, w, sizes[i], true);
		}
	cuda_queue_close(q);
	check_err(ops_cuda()->sync(d, &e), 0);
	ops_cuda()->close(d);
	check_int(sim_allocated(), 0);
}

/* ---- reductions --------------------------------------------------------------- */

struct reduction {
	struct reduce_options how;
	uint64_t seed;
	float (*result)[FLOATS]; /* results of each rank, in shared memory */
};

static void contribution(float *x, int rank, int round)
{
	fill(x, FLOATS, (uint32_t)(100 + 10 * round + rank));
}

static void reduce_on_hosts(struct comm *c, void *arg)
{
	struct reduction *t = arg;
	struct err e = { 0 };
	struct reduce *r = reduce_open(c, &t->how, &e);
	float *x = t->result[c->rank];

	for (int round = 0; check(r) && round < ROUNDS; round++) {
		reduce_set_exact(r, t->how.may_be_exact && round < 1);
		contribution(x, c->rank, round);
		check_err(reduce_all(r, x, &e), 0);
	}
	if (t->how.shards)
		check_err(reduce_all_gather(r, x, &e), 0);
	reduce_free(r);
}

/* A round: gradients become ready from the end to the start, and are reduced at once. */
static bool reduce_round(struct reduce *r, struct dev *d, float *x, int rank, int round,
			 struct err *e)
{
	static float host[FLOATS];
	bool done = false;

	contribution(host, rank, round);
	reduce_begin(r, x);
	for (size_t end = FLOATS; end;) {
		const size_t from = end > 2000 ? end - 2000 : 0;

		ops_cuda()->to_device(d, x + from, host + from, (end - from) * sizeof(*x));
		reduce_ready(r, from);
		end = from;
	}
	while (!done)
		if (!check_err(reduce_poll(r, &done, e), 0)) {
			test_fail(__FILE__, __LINE__, "%s", e->text);
			return false;
		}
	return true;
}

static void reduce_on_gpus(struct comm *c, void *arg)
{
	struct reduction *t = arg;
	struct reduce_options how = t->how;
	const struct ops *o = ops_cuda();
	struct err e = { 0 };
	struct dev *d;
	struct reduce_counts counts;
	struct reduce *r;
	float *x;

	sim_seed(t->seed + (uint64_t)c->rank);
	d = open_gpu(&e);
	if (!check_err(comm_nccl_open(c, &e), 0))
		return;
	how.ops = o;
	how.dev = d;
	r = reduce_open(c, &how, &e);
	x = o->alloc(d, FLOATS * sizeof(*x), &e);
	for (int round = 0; check(r && x) && round < ROUNDS; round++) {
		reduce_set_exact(r, how.may_be_exact && round < 1);
		if (!reduce_round(r, d, x, c->rank, round, &e))
			return;
		if (how.may_be_exact)
			check_err(o->sync(d, &e), 0); /* as at the end of each step */
	}
	if (how.shards)
		check_err(reduce_all_gather(r, x, &e), 0);
	o->to_host(d, t->result[c->rank], x, FLOATS * sizeof(*x));
	check_err((c->check)(c, &e), 0);
	check_err(o->sync(d, &e), 0);
	counts = reduce_collect(r);
	check(counts.sent_bytes > 0);
	check(counts.busy_s > 0);
	reduce_free(r);
	o->release(d, x);
	o->close(d);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

/* Compare sums of GPUs with those of hosts; tolerance: relative to the sum of |x|, 0: same bits. */
static void compare_reductions(int ranks, int on_host, enum wire_format w, bool shards,
			       double tolerance)
{
	float(*all)[FLOATS] = ranks_memory(2 * MAX_RANKS * sizeof(*all));
	struct reduction t = {
		.how = { .buckets = buckets_make(FLOATS, 0.01, ranks),
			 .wire = w,
			 .may_be_exact = ranks == 3,
			 .shards = shards },
		.seed = (uint64_t)(ranks * 100 + (int)w * 10 + shards),
		.result = all,
	};
	static float x[FLOATS], size[FLOATS];
	double worst = 0;

	if (!check(all))
		return;
	fake_ranks(ranks, reduce_on_hosts, &t);
	t.result = all + MAX_RANKS;
	check_int(ranks_run(ranks, on_host, reduce_on_gpus, &t, NULL), 0);
	for (int i = 1; i < ranks; i++)
		check(!memcmp(t.result[0], t.result[i], sizeof(*all)));
	memset(size, 0, sizeof(size));
	for (int i = 0; i < ranks; i++) {
		contribution(x, i, ROUNDS - 1);
		for (size_t k = 0; k < FLOATS; k++)
			size[k] += fabsf(x[k]);
	}
	for (size_t k = 0; k < FLOATS; k++)
		worst = fmax(worst, fabs((double)all[0][k] - t.result[0][k]) /
					    fmax((double)size[k], 1e-30));
	if (!(worst <= tolerance))
		test_fail(__FILE__, __LINE__, "%d ranks, %s%s: %g of the sum", ranks,
			  compress_name(w), shards ? ", shards" : "", worst);
}

TEST(nccl_sums_equal_those_of_hosts)
{
	for (int ranks = 2; ranks <= 4; ranks++)
		for (enum wire_format w = WIRE_FP32; w < WIRE_FORMATS; w++)
			compare_reductions(ranks, ranks, w, false, w == WIRE_FP32 ? 1e-6 : 0);
}

TEST(nccl_shards_equal_those_of_hosts)
{
	for (int ranks = 2; ranks <= 3; ranks++)
		for (enum wire_format w = WIRE_FP32; w < WIRE_FORMATS; w++)
			compare_reductions(ranks, ranks, w, true, w == WIRE_FP32 ? 1e-6 : 0);
}

/* Several ranks on several hosts: NCCL itself sums bf16. */
TEST(nccl_bf16_between_crowded_hosts_is_near)
{
	compare_reductions(4, 2, WIRE_BF16, false, 4 / 256.0);
	compare_reductions(4, 2, WIRE_BF16, true, 4 / 256.0);
	compare_reductions(4, 2, WIRE_2BIT, false, 0);
}

/* ---- failures -------------------------------------------------------------------- */

static void open_without_library(struct comm *c, void *arg)
{
	struct err e = { 0 };

	(void)arg;
	sim_nccl_absent(c->rank == 1);
	open_gpu(&e);
	check_err(comm_nccl_open(c, &e), ERR_UNAVAILABLE);
	check_str(e.text, c->rank == 1 ? "the library libnccl.so.2 was not found"
				       : "another host has no NCCL: install it there");
	check(!c->gpus);
	check_err(c->barrier(c, &e), 0);
}

TEST(nccl_is_used_by_all_ranks_or_none)
{
	check_int(ranks_run(3, 3, open_without_library, NULL, NULL), 0);
}

/* A rank dies during a reduction: the other ranks get an error, wherever they wait. */
static void lose_a_rank(struct comm *c, void *arg)
{
	struct reduce_options how = { .buckets = buckets_make(FLOATS, 0.01, c->size) };
	const bool waits_in_sync = *(bool *)arg;
	const struct ops *o = ops_cuda();
	struct err e = { 0 };
	struct dev *d = open_gpu(&e);
	struct reduce *r;
	float *x;
	bool done = false;
	int rc = 0;

	check_err(comm_nccl_open(c, &e), 0);
	/* all ranks are connected before one dies, which may be seen before the barrier ends */
	rc = c->barrier(c, &e);
	if (rc == ERR_NOHOST)
		c->abort(c, err_exit_status(rc));
	check_err(rc, 0);
	how.ops = o;
	how.dev = d;
	r = reduce_open(c, &how, &e);
	x = o->alloc(d, FLOATS * sizeof(*x), &e);
	if (c->rank == 1)
		sim_nccl_break(2);
	reduce_begin(r, x);
	reduce_ready(r, 0);
	if (waits_in_sync)
		check_err(o->sync(d, &e), 0);
	while (!rc)
		rc = waits_in_sync ? (c->check)(c, &e) : reduce_poll(r, &done, &e);
	check_int(rc, ERR_NOHOST);
	if (!strstr(e.text, "of 3 failed to ") || !strstr(e.text, "NCCL: remote process exited"))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	c->abort(c, test_failures() ? 1 : err_exit_status(rc));
}

TEST(nccl_lost_rank_ends_the_others)
{
	for (int sync = 0; sync < 2; sync++) {
		bool waits = sync;
		int status[3];

		check_int(ranks_run(3, 3, lose_a_rank, &waits, status), 3);
		for (int i = 0; i < 3; i++)
			check_int(status[i], 68);
	}
}

/* The simulated NCCL detects ranks that call different operations. */
static void call_differently(struct comm *c, void *arg)
{
	struct err e = { 0 };
	struct dev *d = open_gpu(&e);
	struct cuda_queue *q = cuda_queue_open(d, &e);
	const char *last = "";
	void *x = ops_cuda()->alloc(d, 4096, &e);

	(void)arg;
	check_err(comm_nccl_open(c, &e), 0);
	sim_quiet(true);
	cuda_queue_wait_for_ops(q);
	check_err(gpus_all_reduce(c->gpus, x, c->rank ? 100 : 200, WIRE_FP32, cuda_queue_stream(q),
				  &e),
		  0);
	cuda_ops_wait_for_queue(q);
	check(ops_cuda()->sync(d, &e));
	check(sim_faults(&last) > 0);
	check(strstr(last, "expects message 0 of rank"));
	_exit(test_failures() != 0);
}

TEST(nccl_stand_in_notices_other_calls)
{
	check_int(ranks_run(2, 2, call_differently, NULL, NULL), 0);
}

/* ---- training -------------------------------------------------------------------- */

enum { STEPS = 3, BATCHES = 2 };

struct training {
	float *parameters;		  /* (ranks, floats), shared */
	struct model_sums sums[4][STEPS]; /* as read by each rank */
	size_t floats;
	bool shards;
};

/* One rank of the training run. */
struct trainee {
	struct model *m;
	struct adam adam;
	struct reduce *reduce; /* NULL: one rank alone */
	struct reduce_options how;
	struct range own[64];
	struct batch batch[BATCHES];
};

static const struct model_pass_options quiet = { .smoothing = 0.1f,
						 .grad_scale = 1.0f / 11,
						 .seed = 3 };

static void on_ready(void *arg, int64_t from)
{
	reduce_ready(arg, (size_t)from);
}

static bool other_batch(struct batch *b, int which)
{
	struct err e;

	if (batch_alloc(b, SMALL_SENTENCES, SMALL_TOKENS, &e))
		return false;
	for (int s = 0; s < 3; s++)
		small_add(b, s + 5 * which, small_lengths[(s + which) % 3][0], small_lengths[s][1]);
	return true;
}

static int open_training(struct trainee *t, struct comm *c, bool shards, struct err *e)
{
	struct model *m = t->m = small_model("cuda", false);

	if (!check(m && other_batch(&t->batch[0], 0) && other_batch(&t->batch[1], 1)) ||
	    model_init(m, 8, e) || adam_open(&t->adam, m, 0.9, 0.98, 1e-9, e))
		return -1;
	if (c->size == 1)
		return 0;
	t->how = (struct reduce_options){
		.buckets = buckets_make((size_t)model_floats(m), 0.01, c->size),
		.shards = shards,
		.ops = model_get_ops(m),
		.dev = model_get_dev(m),
	};
	if (comm_nccl_open(c, e) || !(t->reduce = reduce_open(c, &t->how, e)))
		return e->code;
	for (size_t i = 0; i < t->how.buckets.count && i < ARRAY_LEN(t->own); i++)
		t->own[i] = buckets_piece(&t->how.buckets, i, c->rank);
	return shards ? adam_set_parts(&t->adam, t->own, t->how.buckets.count, e) : 0;
}

/* As in train/trainer/trainer_step.c: divided by the tokens, and clipped by the norm, of all ranks. */
static void told_update(struct trainee *t, int step, double tokens, struct err *e)
{
	const struct adam_update how = { .step = step,
					 .rate = 0.01,
					 .scale = t->reduce ? 1 : 1 / tokens,
					 .tokens = t->reduce != NULL,
					 .clip = 0.02 };
	const double counts[] = { tokens, 2 * tokens };
	struct model_tally *tally = model_tally(t->m);
	bool done = false;

	if (!t->reduce) {
		adam_measure_and_update(&t->adam, &how);
		return;
	}
	reduce_ready(t->reduce, 0);
	check_err(reduce_poll(t->reduce, &done, e), 0);
	check(done);
	adam_measure(&t->adam, t->own, t->how.buckets.count);
	t->how.ops->to_device(t->how.dev, &tally->target, counts, sizeof(counts));
	check_err(reduce_numbers(t->reduce, &tally->loss, sizeof(*tally) / sizeof(double), e), 0);
	adam_update_measured(&t->adam, &how);
	if (t->how.shards)
		check_err(reduce_all_gather(t->reduce, model_param_arena(t->m), e), 0);
}

/* The whole step is enqueued before the host waits. */
static void train_step(struct trainee *t, struct comm *c, int step, struct model_sums *sums)
{
	const uint64_t waits = sim_waits(), allocations = sim_allocations();
	struct err e = { 0 };
	double tokens = 0;

	t->m->ops->zero(t->m->dev, model_grad_arena(t->m),
			(size_t)model_floats(t->m) * sizeof(float));
	if (t->reduce)
		reduce_begin(t->reduce, model_grad_arena(t->m));
	for (int k = c->rank; k < BATCHES; k += c->size) {
		struct model_pass_options how = quiet;

		how.ready = t->reduce && k + c->size >= BATCHES ? on_ready : NULL;
		how.ready_arg = t->reduce;
		check_err(model_forward_backward(t->m, &t->batch[k], &how, NULL, &e), 0);
		tokens += t->batch[k].n_target;
	}
	told_update(t, step, tokens, &e);
	check_int(sim_waits() - waits, 0);
	check_int(step ? sim_allocations() - allocations : 0, 0);
	check_err(model_collect_sums(t->m, sums, &e), 0);
	check_int(sim_waits() - waits, 3); /* one waits for the copy; two find the stream empty */
	check_err((c->check)(c, &e), 0);
}

static void train_rank(struct comm *c, void *arg)
{
	struct training *t = arg;
	struct trainee r = { 0 };
	struct err e = { 0 };

	sim_seed(77 + (uint64_t)c->rank);
	if (!check_err(open_training(&r, c, t->shards, &e), 0))
		return;
	for (int i = 0; i < STEPS; i++)
		train_step(&r, c, i, &t->sums[c->rank][i]);
	r.m->ops->to_host(r.m->dev, t->parameters + (size_t)c->rank * t->floats,
			  model_param_arena(r.m), t->floats * sizeof(float));
	check_err((c->check)(c, &e), 0);
	reduce_free(r.reduce);
	adam_close(&r.adam);
	for (int k = 0; k < BATCHES; k++)
		batch_free(&r.batch[k]);
	model_free(r.m);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

/* Both ranks read the same sums, equal to those of a single rank. */
static void compare_sums(const struct training *t, const struct training *one)
{
	for (int i = 0; i < STEPS; i++) {
		const struct model_sums *a = &t->sums[0][i], *b = &t->sums[1][i],
					*want = &one->sums[0][i];

		check(a->loss == b->loss && a->nll == b->nll && a->squares == b->squares);
		check_near(a->loss, want->loss, 1e-4 * want->loss);
		check_near(a->nll, want->nll, 1e-4 * want->nll);
		check_near(a->squares, want->squares, 1e-3 * want->squares);
		check(a->target == (double)(a->tokens + b->tokens));
		check(a->source == 2 * a->target);
		check_int(a->tokens + b->tokens, want->tokens);
	}
}

/*
 * Two ranks with one batch each equal one rank with both batches, sharded or not. A sum of two terms
 * does not depend on their order, so the bits are the same.
 */
TEST(nccl_training_equals_one_rank)
{
	struct model *m = small_model("ref", false);
	const size_t floats = m ? (size_t)model_floats(m) : 0;
	struct training *t[3];

	model_free(m);
	for (int k = 0; k < 3; k++) {
		t[k] = ranks_memory(sizeof(*t[k]));
		t[k]->floats = floats;
		t[k]->shards = k == 2;
		t[k]->parameters = ranks_memory(2 * floats * sizeof(float));
		check_int(ranks_run(k ? 2 : 1, 2, train_rank, t[k], NULL), 0);
	}
	for (int k = 1; k < 3; k++) {
		double worst = 0;

		for (size_t i = 0; i < floats; i++)
			worst = fmax(worst,
				     fabs((double)t[k]->parameters[i] - t[0]->parameters[i]));
		check_near(worst, 0, 2e-4);
		check(!memcmp(t[k]->parameters, t[k]->parameters + floats, floats * sizeof(float)));
		compare_sums(t[k], t[0]);
	}
	check(!memcmp(t[1]->parameters, t[2]->parameters, floats * sizeof(float)));
	for (int i = 0; i < STEPS; i++)
		check(t[1]->sums[0][i].squares == t[2]->sums[0][i].squares);
}
