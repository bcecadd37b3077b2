/* t_cuda.c - the GPU backend on the simulated GPU (sim.h), against the definition and the CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "kernels/ops/bf16.h"
#include "share/base/util.h"
#include "tests/cudasim/sim.h"
#include "tests/kernels/ops_list.h"
#include "tests/test.h"

/* Does the backend have the op? */
static bool is_written(const char *op)
{
	const struct ops *o = ops_cuda();
	bool found = false;

	if (!strcmp(op, "linear_top_k") && !o->top_k)
		return false; /* tested with the other op */
#define OP(name, args, names) found = found || (!strcmp(op, #name) && o->name);
#include "kernels/ops/ops.def"
#undef OP
	return found;
}

/*
 * Every case in several orders of threads, blocks and streams, with and without aligned vectors. only
 * (or NULL): ops whose name begins so; from the environment variable OPS (tests/cudasim/mutants.sh).
 */
static void compare(uint64_t seed, int flags, const char *only)
{

	for (size_t i = 0; i < ops_n_cases; i++) {
		struct op_case c = ops_cases[i];

		c.flags |= flags;
		sim_seed(seed + i);
		if (is_written(c.op) && (!only || !strncmp(c.op, only, strlen(only))))
			ops_compare(ops_cuda(), "cuda", &c);
		sim_forget();
	}
}

TEST(cuda_ops)
{
	uint64_t before = sim_threads_run();

	compare(1, 0, getenv("OPS"));
	check(sim_threads_run() > before);
	check_int(sim_allocated(), 0);
}

TEST(cuda_ops_aligned)
{
	compare(1000, ALIGNED, getenv("OPS"));
	check_int(sim_allocated(), 0);
}

/* Sanitizers check memory, for which one order is enough; several would take minutes. */
static bool one_order_is_enough(void)
{
	if (HAS_ADDRESS_SANITIZER)
		test_skip("other orders are tried without sanitizers");
	return HAS_ADDRESS_SANITIZER;
}

TEST(cuda_ops_other_order)
{
	if (one_order_is_enough())
		return;
	compare(2000, ALIGNED, getenv("OPS"));
	compare(3000, 0, getenv("OPS"));
}

/* A GPU without tensor cores for bf16. */
TEST(cuda_old)
{
	sim_pretend_old(true);
	compare(5000, ALIGNED, "attention");
	sim_pretend_old(false);
	check_int(sim_faults(NULL), 0);
}

/* The same bits in every order of execution, and by dependent launches. */
TEST(cuda_bits)
{
	if (one_order_is_enough())
		return;
	for (size_t i = 0; i < ops_n_cases; i++) {
		op_function *f = ops_function(ops_cases[i].op);
		struct op_case c = ops_cases[i];
		struct run first, again;

		c.flags |= ALIGNED;
		if (!is_written(c.op))
			continue;
		sim_seed(4000 + i);
		run_case(&first, ops_cuda(), 1, &c, f);
		c.flags |= DEPENDENT;
		run_case(&again, ops_cuda(), 1, &c, f);
		run_check_same(&first, &again, "another order");
		run_free(&first);
		run_free(&again);
	}
}

/* The bias of a product may be unaligned even if the other operands are aligned. */
TEST(cuda_linear_bias)
{
	enum { ROWS = 5, COLS = 16, INNER = 8, BIAS = COLS + 4 };
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .bf16 = true };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float *a = o->alloc(d, ROWS * INNER * sizeof(float), &e),
	      *b = o->alloc(d, COLS * INNER * sizeof(float), &e),
	      *bias = o->alloc(d, BIAS * sizeof(float), &e),
	      *out = o->alloc(d, ROWS * COLS * sizeof(float), &e), host[BIAS], got[ROWS * COLS];

	for (int i = 0; i < BIAS; i++)
		host[i] = (float)(i % 5 - 2);
	o->to_device(d, bias, host, sizeof(host));
	for (int shift = 0; shift < 4; shift++) {
		o->linear(d, tensor_f32(out, ROWS, COLS), tensor_f32(a, ROWS, INNER),
			  tensor_f32(b, COLS, INNER), bias + shift, true);
		o->to_host(d, got, out, sizeof(got));
		for (int i = 0; i < ROWS * COLS; i++)
			check_near(got[i], MAX(host[i % COLS + shift], 0), 0);
	}
	check_int(o->sync(d, &e), 0);
	o->release(d, a);
	o->release(d, b);
	o->release(d, bias);
	o->release(d, out);
	o->close(d);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

enum { FEW_INNER = 1000, FEW_OUTPUTS = 2056, FEW_ROWS = 35 };

/* rows of a times `outputs` of the bf16 weights, by a new device with these options. */
static void multiply_rows(const struct dev_options *options, float *got, const float *a, int rows,
			  const uint16_t *b, int outputs)
{
	const struct ops *o = ops_cuda();
	const size_t b_bytes = (size_t)outputs * FEW_INNER * sizeof(*b),
		     a_bytes = (size_t)rows * FEW_INNER * sizeof(*a),
		     bytes = (size_t)rows * (size_t)outputs * sizeof(*got);
	struct err e = { 0 };
	struct dev *d = o->open(options, &e);
	struct tensor weights = { o->alloc(d, b_bytes, &e), outputs, FEW_INNER, FEW_INNER,
				  DTYPE_BF16 };
	float *in = o->alloc(d, a_bytes, &e), *out = o->alloc(d, bytes, &e);

	o->to_device(d, weights.data, b, b_bytes);
	o->to_device(d, in, a, a_bytes);
	o->linear(d, tensor_f32(out, rows, outputs), tensor_f32(in, rows, FEW_INNER), weights, NULL,
		  false);
	o->to_host(d, got, out, bytes);
	check_err(o->sync(d, &e), 0);
	o->release(d, weights.data);
	o->release(d, in);
	o->release(d, out);
	o->close(d);
}

/*
 * The kernel for few rows: the bits of a row depend neither on the other rows nor on the other outputs.
 * Decoding uses it up to 15 rows, training never. The library's bits differ from the kernel's.
 */
TEST(cuda_few_rows)
{
	enum { A = FEW_ROWS * FEW_INNER, B = FEW_OUTPUTS * FEW_INNER, N = 40 };
	const struct dev_options own = { .bf16 = true, .few_rows = 100 },
				 library = { .bf16 = true, .is_decoding = true, .few_rows = -1 },
				 decoding = { .bf16 = true, .is_decoding = true },
				 training = { .bf16 = true };
	const struct rng_key key = rng_key_make(3, RNG_TEST, 0, 0);
	static float a[A], one[FEW_ROWS * N], two[FEW_ROWS * N], wide[2 * FEW_OUTPUTS];
	static uint16_t b[B];

	for (int i = 0; i < A; i++)
		a[i] = rng_unit(key, (uint64_t)i) - 0.5f;
	for (int i = 0; i < B; i++)
		b[i] = bf16_from_float(rng_unit(key, (uint64_t)(A + i)) - 0.5f);
	multiply_rows(&own, one, a, FEW_ROWS, b, N);
	for (int r = 0; r < FEW_ROWS; r += 17) {
		multiply_rows(&own, two, a + r * FEW_INNER, 1, b, N);
		check(!memcmp(two, one + r * N, N * sizeof(*two)));
	}
	multiply_rows(&own, wide, a, 2, b, FEW_OUTPUTS);
	check(!memcmp(wide, one, N * sizeof(*one)));
	check(!memcmp(wide + FEW_OUTPUTS, one + N, N * sizeof(*one)));

	multiply_rows(&decoding, two, a, 15, b, N);
	check(!memcmp(two, one, 15 * N * sizeof(*one)));
	multiply_rows(&decoding, two, a, 16, b, N);
	multiply_rows(&library, one, a, 16, b, N);
	check(!memcmp(two, one, 16 * N * sizeof(*one)));
	multiply_rows(&training, two, a, 2, b, N);
	check(!memcmp(two, one, 2 * N * sizeof(*one)));
	check(memcmp(wide, one, N * sizeof(*one)) != 0);
	for (int i = 0; i < N; i++)
		check_near(wide[i], one[i], 1e-4);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

/* A product that the library refuses is computed all the same, and counted. */
TEST(cuda_products_refused)
{
	enum { ROWS = 3, INNER = 8 };
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .bf16 = true };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float *a = o->alloc(d, ROWS * INNER * sizeof(float), &e),
	      *out = o->alloc(d, ROWS * ROWS * sizeof(float), &e), ones[ROWS * INNER],
	      got[ROWS * ROWS];

	for (int i = 0; i < ROWS * INNER; i++)
		ones[i] = 1;
	o->to_device(d, a, ones, sizeof(ones));
	for (int i = 0; i < 2; i++) {
		sim_refuse_products(i == 0);
		o->matmul(d, tensor_f32(out, ROWS, ROWS), tensor_f32(a, ROWS, INNER),
			  tensor_f32(a, ROWS, INNER), (struct matmul_how){ .b_transposed = true });
		sim_refuse_products(false);
		o->to_host(d, got, out, sizeof(got));
		for (int j = 0; j < ROWS * ROWS; j++)
			check_near(got[j], INNER, 0);
		check_int(o->count_slow_products(d), 1);
	}
	check_int(o->sync(d, &e), 0);
	o->release(d, a);
	o->release(d, out);
	o->close(d);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

TEST(cuda_memory)
{
	const struct ops *o = ops_cuda();
	struct dev_options options = { .threads = 1 };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	enum { N = 3000000 };
	unsigned char *host = malloc(N), *back = malloc(N), *p;
	size_t wrong = 0;

	if (!check(d && host && back))
		return;
	check(!o->alloc(d, SIZE_MAX, &e));
	check_int(e.code, ERR_NOMEM);
	p = o->alloc(d, N, &e);
	o->to_host(d, back, p, N);
	for (size_t i = 0; i < N; i++) {
		wrong += back[i] != 0;
		host[i] = (unsigned char)(i * 7 + i / 251);
	}
	o->to_device(d, p, host, N);
	memset(host, 0, N); /* the caller may reuse it at once */
	o->to_host(d, back, p, N);
	for (size_t i = 0; i < N; i++)
		wrong += back[i] != (unsigned char)(i * 7 + i / 251);
	check_int(wrong, 0);
	check_int(o->sync(d, &e), 0);
	o->release(d, p);
	o->release(d, NULL);
	o->close(d);
	check_int(sim_allocated(), 0);
	free(host);
	free(back);
}

/*
 * A failed call also becomes the last error of the CUDA runtime. sync() reports it once; the launches behind
 * sync() must not report it again.
 */
TEST(cuda_fault_is_reported_once)
{
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .threads = 1 };
	const int64_t too_many = (int64_t)1 << 36;
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	float *x = o->alloc(d, 16, &e), host[4] = { 1, 2, 3, 4 };
	int32_t *index = o->alloc(d, sizeof(*index), &e);
	struct tensor row = tensor_f32(x, 1, 4);

	o->to_device(d, x, host, sizeof(host));
	/* scratch memory for the scores of so many keys does not exist */
	o->attention_step(d, row, x, row, row, row, index, index, too_many, 1);
	check_int(o->sync(d, &e), ERR_NOMEM);
	o->add(d, row, row);
	o->to_host(d, host, x, sizeof(host));
	check_err(o->sync(d, &e), 0);
	check_near(host[3], 8, 0);
	o->release(d, x);
	o->release(d, index);
	o->close(d);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

/*
 * x = 2 x + y, as a graph of two pieces; y is copied between them, which a graph cannot contain. Returns
 * the number of pieces that were replayed.
 */
static int run_in_pieces(struct dev *d, float *x, float *y, const float *sent, uint64_t key)
{
	const struct ops *o = ops_cuda();
	const struct graph_key k = { { key } };
	const int n = o->graph_begin(d, &k);

	for (int i = 0; i < n; i++) {
		o->graph_replay(d, i);
		if (i == 0)
			o->to_device(d, y, sent, 16);
	}
	if (n)
		return n;
	o->add(d, tensor_f32(x, 1, 4), tensor_f32(x, 1, 4));
	o->graph_pause(d);
	o->to_device(d, y, sent, 16);
	o->graph_resume(d);
	o->add(d, tensor_f32(x, 1, 4), tensor_f32(y, 1, 4));
	o->graph_end(d);
	return 0;
}

/* First time: ops run normally. Second time: they are captured. Then they are replayed. */
static void graphs(bool wanted, int keys)
{
	const struct dev_options options = { .graphs = wanted };
	const struct ops *o = ops_cuda();
	struct err e = { 0 };
	struct dev *d = cuda_open(&options, &e);
	float *x = o->alloc(d, 16, &e), *y = o->alloc(d, 16, &e), host[4] = { 0 };
	float want = 0;

	for (int i = 0; i < 4; i++)
		for (int k = 0; k < keys; k++) {
			const float now[4] = { (float)(i + k), 1, 1, 1 };

			o->to_device(d, x, host, sizeof(host));
			/* with more keys than table entries, each key is evicted before it returns */
			check_int(run_in_pieces(d, x, y, now, (uint64_t)k + 1),
				  wanted && keys < 100 && i > 1 ? 2 : 0);
			want = 2 * host[0] + now[0];
			o->to_host(d, host, x, sizeof(host));
			check_near(host[0], want, 0);
			host[0] = (float)(k % 7);
		}
	check_int(o->sync(d, &e), 0);
	o->release(d, x);
	o->release(d, y);
	cuda_close(d);
	sim_forget();
	check_int(sim_allocated(), 0);
}

TEST(cuda_graphs)
{
	graphs(false, 3);
	graphs(true, 3);
	graphs(true, 400);
}

/* A graph that finds no memory is tried again without the other graphs; then it is a fault. */
/*
 * An op between two pieces needs more scratch memory, so all graphs are discarded. The second piece cannot be
 * replayed then: this must be an error, not a step with a part missing.
 */
TEST(cuda_graph_discarded_between_pieces)
{
	const struct ops *o = ops_cuda();
	const struct dev_options options = { .graphs = true };
	const struct graph_key key = { { 1 } };
	const float sent[4] = { 1, 1, 1, 1 };
	struct err e = { 0 };
	struct dev *d = cuda_open(&options, &e);
	float *x = o->alloc(d, 16, &e), *y = o->alloc(d, 16, &e), *weights = o->alloc(d, 400, &e);
	int32_t *index = o->alloc(d, 400, &e);
	struct tensor row = tensor_f32(x, 1, 4);

	for (int i = 0; i < 2; i++)
		check_int(run_in_pieces(d, x, y, sent, 1), 0);
	check_int(o->graph_begin(d, &key), 2);
	o->graph_replay(d, 0);
	o->attention_step(d, row, weights, row, row, row, index, index, 100, 1);
	o->graph_replay(d, 1);
	check_int(o->sync(d, &e), ERR_INTERNAL);
	check(strstr(e.text, "cuda_graphs = no") != NULL);
	check_int(run_in_pieces(d, x, y, sent, 1), 0);
	check_err(o->sync(d, &e), 0);
	o->release(d, x);
	o->release(d, y);
	o->release(d, weights);
	o->release(d, index);
	cuda_close(d);
	check_int(sim_faults(NULL), 0);
	check_int(sim_allocated(), 0);
}

TEST(cuda_graph_without_memory)
{
	static const float sent[4] = { 1, 2, 3, 4 };

	for (int failures = 1; failures <= 2; failures++) {
		const struct dev_options options = { .graphs = true };
		const struct ops *o = ops_cuda();
		struct err e = { 0 };
		struct dev *d = cuda_open(&options, &e);
		float *x = o->alloc(d, 16, &e), *y = o->alloc(d, 16, &e), host[4];

		check_int(run_in_pieces(d, x, y, sent, 1), 0);
		check_int(run_in_pieces(d, x, y, sent, 1), 0);
		check_int(run_in_pieces(d, x, y, sent, 1), 2);
		check_int(run_in_pieces(d, x, y, sent, 2), 0);
		sim_fail_instantiations(failures);
		check_int(run_in_pieces(d, x, y, sent, 2), 0);
		check_int(o->sync(d, &e), failures == 1 ? 0 : ERR_NOMEM);
		if (failures == 1) {
			check_int(run_in_pieces(d, x, y, sent, 1), 0); /* it was discarded */
			o->to_host(d, host, x, sizeof(host));
			for (int i = 0; i < 4; i++) /* 6 times x = 2 x + sent */
				check_near(host[i], 63.0f * sent[i], 0);
		}
		o->release(d, x);
		o->release(d, y);
		cuda_close(d);
		sim_forget();
		check_int(sim_allocated(), 0);
	}
}

/* Graphs that fill the memory of the GPU: the oldest ones are discarded, and results stay right. */
TEST(cuda_graphs_fill_memory)
{
	static const float sent[4] = { 1, 2, 3, 4 };
	const struct dev_options options = { .graphs = true };
	const struct ops *o = ops_cuda();
	struct err e = { 0 };
	struct dev *d = cuda_open(&options, &e);
	float *x = o->alloc(d, 16, &e), *y = o->alloc(d, 16, &e), host[4];

	sim_set_graph_bytes((size_t)1500 << 20); /* of 8 GiB; a key has two pieces of one kernel */
	for (uint64_t key = 1; key <= 3; key++)
		for (int i = 0; i < 2; i++)
			check_int(run_in_pieces(d, x, y, sent, key), 0);
	check_int(run_in_pieces(d, x, y, sent, 3), 2);
	check_int(run_in_pieces(d, x, y, sent, 1), 0); /* it was discarded */
	o->to_host(d, host, x, sizeof(host));
	for (int i = 0; i < 4; i++) /* 8 times x = 2 x + sent */
		check_near(host[i], 255.0f * sent[i], 0);
	check_err(o->sync(d, &e), 0);
	o->release(d, x);
	o->release(d, y);
	cuda_close(d);
	sim_set_graph_bytes(0);
	sim_forget();
	check_int(sim_allocated(), 0);
}

/* Without a driver the reason is reported. */
TEST(cuda_absent)
{
	struct dev_options options = { .threads = 1 };
	struct err e = { 0 };

	sim_pretend_absent(true);
	check(!ops_cuda()->usable());
	check_str(cuda_unusable_reason(), "there is no NVIDIA driver on this machine");
	check(!ops_cuda()->open(&options, &e));
	check_int(e.code, ERR_UNAVAILABLE);
	check(ops_find("auto", &e) == ops_cpu());
	sim_pretend_absent(false);
	sim_pretend_unfit(true);
	check(!ops_cuda()->open(&options, &e));
	check_int(e.code, ERR_UNAVAILABLE);
	check(strstr(e.text, "this program has no kernels for it") != NULL);
	sim_pretend_unfit(false);
	sim_forget();
	check(ops_cuda()->usable());
	check(ops_find("cuda", &e) == ops_cuda());
	check(ops_find("auto", &e) == ops_cuda());
}
