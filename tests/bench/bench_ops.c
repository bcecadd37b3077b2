/*
 * bench_ops.c - how fast the kernels are, and how near the roof.
 *
 *	tests/bench_ops [WORD]... [--size tiny|base] [--backend cpu|cuda] [--tokens 4096] [--threads 0]
 *			[--repeats 15] [--calls N] [--roof 8192] [--json]
 *
 * Every op at the shapes of training (tokens in sentences of 30; tiny: d_model 256, vocabulary 8192;
 * base: 512, 32768) and of decoding (32 and 1 rows). WORDs select lines that contain one of them.
 *
 * A line has the best and the median time of several runs; with one thread in processor time, which
 * other work on the machine disturbs least. On a GPU a run is some calls, with one wait. Then follow
 * the rates of the best run, and its share of the roof (roof.h): the longer of (FLOPs / peak rate of
 * this precision) and (bytes / memory bandwidth), divided by the measured time. Data that stay in
 * caches may exceed 100 %. kernels/op_cost.h counts FLOPs and bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/ops/panels.h"
#include "kernels/profile.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "tests/bench/bench.h"
#include "tests/bench/roof.h"

#define SENTENCE    30
#define HEAD_ROWS   512
#define MAX_REPEATS 100

struct sizes {
	const char *name;
	int64_t D, F, H, V;
};

static const struct sizes all_sizes[] = {
	{ "tiny", 256, 1024, 4, 8192 },
	{ "base", 512, 2048, 8, 32768 },
};

struct bench {
	struct sizes s;
	int64_t tokens, threads, repeats, calls, roof_side;
	const char *backend;
	bool json, gpu;
	enum dtype dtype; /* of activations */
	char **words;
	int n_words;
	struct roof roof;
	struct profile *profile;
	const struct ops *o;
	struct dev *d[2]; /* products of fp32, of bf16 */
	float *x[8];	  /* tokens * F floats each */
	float *table;	  /* V * D */
	float *logits;	  /* HEAD_ROWS * V */
	float *flat;	  /* 4 * V * D */
	void *packed;	  /* V * D packed, any precision */
	int32_t *ids, *positions, *start, *ones;
	double *sum;
};

static const struct dropout drop = { .rate = 0.1f, .key = { 1, 2, RNG_DROPOUT, 3, 4 } };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A line: an op at a shape. The meaning of the numbers depends on run. */
struct line {
	const char *name;
	void (*run)(struct bench *b, struct dev *d, const struct line *l);
	int64_t rows, cols, inner;
	struct matmul_how how;
	enum dtype dtype; /* of packed weights */
};

static void print(const struct bench *b, const char *name, const char *precision, const double *s,
		  double flops, double bytes)
{
	double top = !strcmp(precision, "bf16")	  ? b->roof.bf16
		     : !strcmp(precision, "int8") ? MAX(b->roof.int8, b->roof.fp32)
						  : b->roof.fp32;
	double share = roof_seconds(&b->roof, top, flops, bytes) / s[0];

	if (b->json)
		printf("{\"op\":\"%s\",\"precision\":\"%s\",\"best_ms\":%.4f,\"median_ms\":%.4f,"
		       "\"gflops\":%.1f,\"gbs\":%.1f,\"roof_share\":%.4f}\n",
		       name, precision, s[0] * 1e3, s[b->repeats / 2] * 1e3, flops / s[0] * 1e-9,
		       bytes / s[0] * 1e-9, share);
	else
		printf("%-36s %-5s %9.3f %9.3f %9.1f %8.1f %6.1f%%\n", name, precision, s[0] * 1e3,
		       s[b->repeats / 2] * 1e3, flops / s[0] * 1e-9, bytes / s[0] * 1e-9,
		       share * 100);
	fflush(stdout);
}

static bool wanted(const struct bench *b, const char *name)
{
	bool any = b->n_words == 0;

	for (int i = 0; i < b->n_words; i++)
		any |= strstr(name, b->words[i]) != NULL;
	return any;
}

/* One thread: processor time, which other work on the machine does not change. */
static double seconds(const struct bench *b)
{
	struct timespec t;

	if (b->gpu || b->roof.threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return clock_mono_s();
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Some calls, and one wait at the end. */
static void run_line(struct bench *b, struct dev *d, const struct line *l)
{
	struct err e;

	for (int64_t i = 0; i < b->calls; i++)
		l->run(b, d, l);
	if (b->o->sync(d, &e)) {
		fprintf(stderr, "bench_ops: %s: %s\n", l->name, e.text);
		exit(err_exit_status(e.code));
	}
}

static void measure(struct bench *b, const struct line *l, bool bf16, const char *precision)
{
	const struct profile_entry *entry;
	double s[MAX_REPEATS];
	size_t n;

	if (!wanted(b, l->name))
		return;
	run_line(b, b->d[bf16], l);
	profile_clear(b->profile);
	for (int i = 0; i < b->repeats; i++) {
		double begun = seconds(b);

		run_line(b, b->d[bf16], l);
		s[i] = (seconds(b) - begun) / (double)b->calls;
	}
	qsort(s, (size_t)b->repeats, sizeof(s[0]), by_value);
	entry = profile_entries(b->profile, &n);
	if (n == 1)
		print(b, l->name, precision, s, entry->flops / (double)entry->calls,
		      entry->bytes / (double)entry->calls);
}

/* ---- the ops ------------------------------------------------------------------ */

static struct tensor wide(struct bench *b, int i, int64_t cols)
{
	struct tensor t = tensor_f32(b->x[i], b->tokens, cols);

	t.dtype = b->dtype;
	return t;
}

static struct tensor narrow(struct bench *b, int i)
{
	return wide(b, i, b->s.D);
}

static void run_embed(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->embed(d, narrow(b, 0), tensor_f32(b->table, b->s.V, b->s.D), b->ids, b->positions, 16,
		    drop);
}

static void run_embed_grad(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->embed_grad(d, tensor_f32(b->flat, b->s.V, b->s.D), narrow(b, 0), b->ids, 16, drop);
}

static void run_norm(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->norm(d, narrow(b, 1), b->x[5], b->x[6], narrow(b, 0), b->x[7], b->x[7]);
}

static void run_norm_grad(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->norm_grad(d, narrow(b, 0), b->x[4], b->x[4] + b->s.D, narrow(b, 2), narrow(b, 3),
			b->x[5], b->x[6], b->x[7], true);
}

static void run_add_norm(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->add_norm(d, narrow(b, 0), narrow(b, 1), b->x[5], b->x[6], narrow(b, 2), narrow(b, 3),
		       b->x[7], b->x[7], b->x[7], drop);
}

static void run_add_norm_grad(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->add_norm_grad(d, narrow(b, 0), narrow(b, 1), b->x[4], b->x[4] + b->s.D,
			    b->x[4] + 2 * b->s.D, narrow(b, 2), narrow(b, 3), b->x[5], b->x[6],
			    b->x[7], drop);
}

static void run_relu(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->relu_dropout(d, wide(b, 0, b->s.F), b->x[7], drop);
}

static void run_relu_grad(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->relu_dropout_grad(d, wide(b, 1, b->s.F), b->x[4], wide(b, 0, b->s.F), drop);
}

static struct attention_shape sentences(const struct bench *b)
{
	return (struct attention_shape){ .q_start = b->start,
					 .k_start = b->start,
					 .n = (int32_t)(b->tokens / SENTENCE),
					 .heads = (int32_t)b->s.H,
					 .max_q = SENTENCE,
					 .max_k = SENTENCE,
					 .pairs = b->tokens / SENTENCE * SENTENCE * SENTENCE };
}

static void run_attention(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->attention(d, narrow(b, 0), b->x[5], narrow(b, 1), narrow(b, 2), narrow(b, 3),
			sentences(b), drop);
}

static void run_attention_grad(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->attention_grad(d, narrow(b, 4), narrow(b, 6), narrow(b, 7), narrow(b, 1),
			     narrow(b, 0), b->x[5], narrow(b, 1), narrow(b, 2), narrow(b, 3),
			     sentences(b), drop);
}

static void run_cross_entropy(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	const struct tensor logits = tensor_f32(b->logits, HEAD_ROWS, b->s.V);

	b->o->cross_entropy(d, logits, b->x[0], b->x[1], logits, b->ids, b->s.V - 3, 0.1f, 1e-4f);
}

static void run_add(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->add(d, narrow(b, 0), narrow(b, 1));
}

static void run_zero(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->zero(d, b->flat, (size_t)(b->s.V * b->s.D) * sizeof(float));
}

static void run_sum_squares(struct bench *b, struct dev *d, const struct line *l)
{
	(void)l;
	b->o->sum_squares(d, b->sum, b->flat, b->s.V * b->s.D);
}

static void run_adam(struct bench *b, struct dev *d, const struct line *l)
{
	const int64_t n = b->s.V * b->s.D;
	const struct adam_step how = { .rate = 1e-3f,
				       .beta1 = 0.9f,
				       .beta2 = 0.98f,
				       .epsilon = 1e-9f,
				       .correction1 = 0.1f,
				       .correction2 = 0.02f,
				       .grad_scale = 1 };

	(void)l;
	b->o->adam(d, b->flat, b->flat + n, b->flat + 2 * n, b->flat + 3 * n, n, how);
}

static void run_matmul(struct bench *b, struct dev *d, const struct line *l)
{
	float *out = l->cols == b->s.V	 ? b->logits
		     : l->rows == b->s.V ? b->flat
					 : b->x[0],
	      *left = l->inner == b->s.V || l->rows == b->s.V ? b->logits : b->x[1],
	      *right = l->inner == b->s.V || l->cols == b->s.V ? b->table : b->x[2];
	struct tensor a = l->how.a_transposed ? tensor_f32(left, l->inner, l->rows)
					      : tensor_f32(left, l->rows, l->inner);
	struct tensor w = l->how.b_transposed ? tensor_f32(right, l->cols, l->inner)
					      : tensor_f32(right, l->inner, l->cols);
	struct tensor y = tensor_f32(out, l->rows, l->cols);

	a.dtype = w.dtype = b->dtype;
	y.dtype = l->how.accumulate ? DTYPE_F32 : b->dtype; /* gradients of weights */
	b->o->matmul(d, y, a, w, l->how);
}

static struct tensor packed(const struct bench *b, const struct line *l)
{
	return (struct tensor){ b->packed, l->cols, l->inner, 0, l->dtype };
}

static void run_pack(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->pack(d, packed(b, l), tensor_f32(b->table, l->cols, l->inner));
}

static void run_linear(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->linear(d, tensor_f32(b->logits, l->rows, l->cols),
		     tensor_f32(b->x[1], l->rows, l->inner), packed(b, l), NULL, false);
}

static void run_linear_top_k(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->linear_top_k(d, b->x[0], b->positions, tensor_f32(b->x[1], l->rows, l->inner),
			   packed(b, l), l->cols - 3, 8);
}

static void run_step(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->attention_step(d, tensor_f32(b->x[0], l->rows, b->s.D), NULL,
			     tensor_f32(b->x[1], l->rows, b->s.D), narrow(b, 2), narrow(b, 3),
			     b->positions, b->ones, SENTENCE, (int32_t)b->s.H);
}

static void run_gather(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->gather_rows(d, tensor_f32(b->x[0], l->rows, b->s.D), narrow(b, 1), b->ones);
}

static void run_scatter(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->scatter_rows(d, narrow(b, 1), tensor_f32(b->x[0], l->rows, b->s.D), b->start);
}

static void run_top_k(struct bench *b, struct dev *d, const struct line *l)
{
	b->o->top_k(d, b->x[0], b->ids, tensor_f32(b->logits, l->rows, b->s.V), b->s.V - 3, 8);
}

/* ---- lists of lines --------------------------------------------------------------- */

static void bench_light(struct bench *b)
{
	const struct line list[] = {
		{ .name = "embed", .run = run_embed },
		{ .name = "embed_grad", .run = run_embed_grad },
		{ .name = "norm", .run = run_norm },
		{ .name = "norm_grad", .run = run_norm_grad },
		{ .name = "add_norm", .run = run_add_norm },
		{ .name = "add_norm_grad", .run = run_add_norm_grad },
		{ .name = "relu_dropout", .run = run_relu },
		{ .name = "relu_dropout_grad", .run = run_relu_grad },
		{ .name = "attention", .run = run_attention },
		{ .name = "attention_grad", .run = run_attention_grad },
		{ .name = "cross_entropy", .run = run_cross_entropy },
		{ .name = "add", .run = run_add },
		{ .name = "zero", .run = run_zero },
		{ .name = "sum_squares", .run = run_sum_squares },
		{ .name = "adam", .run = run_adam },
		{ .name = "attention_step 32 rows x 30", .run = run_step, .rows = 32 },
		{ .name = "gather_rows 32", .run = run_gather, .rows = 32 },
		{ .name = "scatter_rows 32", .run = run_scatter, .rows = 32 },
		{ .name = "top_k 8 of 32 rows", .run = run_top_k, .rows = 32 },
	};

	for (int half = 0; half < (b->gpu ? 2 : 1); half++) {
		b->dtype = half ? DTYPE_BF16 : DTYPE_F32;
		for (size_t i = 0; i < ARRAY_LEN(list); i++)
			measure(b, &list[i], half, half ? "bf16" : "fp32");
	}
	b->dtype = DTYPE_F32;
}

static void bench_products(struct bench *b)
{
	const int64_t T = b->tokens, D = b->s.D, F = b->s.F, V = b->s.V;
	const struct matmul_how forward = { .b_transposed = true }, back = { 0 },
				weights = { .a_transposed = true, .accumulate = true };
	const struct line list[] = {
		{ "matmul q k v", run_matmul, T, 3 * D, D, forward, 0 },
		{ "matmul q k v dx", run_matmul, T, D, 3 * D, back, 0 },
		{ "matmul q k v dw", run_matmul, 3 * D, D, T, weights, 0 },
		{ "matmul square", run_matmul, T, D, D, forward, 0 },
		{ "matmul square dx", run_matmul, T, D, D, back, 0 },
		{ "matmul square dw", run_matmul, D, D, T, weights, 0 },
		{ "matmul ffn in", run_matmul, T, F, D, forward, 0 },
		{ "matmul ffn in dx", run_matmul, T, D, F, back, 0 },
		{ "matmul ffn in dw", run_matmul, F, D, T, weights, 0 },
		{ "matmul ffn out", run_matmul, T, D, F, forward, 0 },
		{ "matmul ffn out dx", run_matmul, T, F, D, back, 0 },
		{ "matmul ffn out dw", run_matmul, D, F, T, weights, 0 },
		{ "matmul head", run_matmul, HEAD_ROWS, V, D, forward, 0 },
		{ "matmul head dx", run_matmul, HEAD_ROWS, D, V, back, 0 },
		{ "matmul head dw", run_matmul, V, D, HEAD_ROWS, weights, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		for (int bf16 = 0; bf16 < 2; bf16++) {
			b->dtype = bf16 && b->gpu ? DTYPE_BF16 : DTYPE_F32;
			measure(b, &list[i], bf16, bf16 ? "bf16" : "fp32");
		}
	b->dtype = DTYPE_F32;
}

static void bench_packed(struct bench *b)
{
	static const char *const precisions[] = { "fp32", "bf16", "int8" };
	const int64_t D = b->s.D, F = b->s.F, V = b->s.V;
	struct line list[] = {
		{ "pack head", run_pack, 0, V, D, { 0 }, 0 },
		{ "linear ffn in, 1 row", run_linear, 1, F, D, { 0 }, 0 },
		{ "linear ffn in, 32 rows", run_linear, 32, F, D, { 0 }, 0 },
		{ "linear ffn in, 512 rows", run_linear, 512, F, D, { 0 }, 0 },
		{ "linear head, 1 row", run_linear, 1, V, D, { 0 }, 0 },
		{ "linear head, 32 rows", run_linear, 32, V, D, { 0 }, 0 },
		{ "linear_top_k 8 of head, 32 rows", run_linear_top_k, 32, V, D, { 0 }, 0 },
	};

	for (size_t j = 0; j < ARRAY_LEN(precisions); j++) {
		struct line pack = list[0];

		for (size_t i = 0; i < ARRAY_LEN(list); i++) {
			list[i].dtype = pack.dtype = DTYPE_PACKED_F32 + (int)j;
			pack.cols = list[i].cols;
			run_pack(b, b->d[0], &pack);
			measure(b, &list[i], false, precisions[j]);
		}
	}
}

/* ---- opening and closing ---------------------------------------------------------- */

static void *need(struct bench *b, int64_t n, size_t size)
{
	struct err e;
	void *p = b->o->alloc(b->d[0], (size_t)n * size, &e);

	if (!p) {
		fprintf(stderr, "bench_ops: %s\n", e.text);
		exit(71);
	}
	return p;
}

/* Memory for n numbers; the first ones are copied from those given, or none. */
static void *need_copy(struct bench *b, int64_t n, size_t size, const void *from)
{
	void *p = need(b, n, size);

	b->o->to_device(b->d[0], p, from, (size_t)n * size);
	return p;
}

/* Numbers between -1 and 1. */
static float *need_floats(struct bench *b, int64_t n)
{
	float *p = need(b, n, sizeof(*p)), some[4096];

	for (size_t i = 0; i < ARRAY_LEN(some); i++)
		some[i] = rng_unit(rng_key_make(1, RNG_TEST, 0, 0), i) * 2 - 1;
	for (int64_t i = 0; i < n; i += (int64_t)ARRAY_LEN(some))
		b->o->to_device(b->d[0], p + i, some,
				(size_t)MIN(n - i, (int64_t)ARRAY_LEN(some)) * sizeof(*p));
	return p;
}

static bool open_devices(struct bench *b, struct err *e)
{
	struct dev_options options = { .threads = (int)b->threads };
	const struct ops *ops = ops_find(b->backend, e);

	b->profile = options.profile = ops ? profile_new(ops, e) : NULL;
	if (!b->profile)
		return false;
	profile_set_waiting(b->profile, false);
	b->o = profile_ops(b->profile);
	b->d[0] = b->o->open(&options, e);
	options.bf16 = true;
	b->d[1] = b->d[0] ? b->o->open(&options, e) : NULL;
	if (!b->d[1])
		return false;
	return b->gpu ? !roof_of_device(&b->roof, b->o, b->d, b->roof_side, e)
		      : !roof_measure(&b->roof, (int)b->threads, e);
}

static bool take_memory(struct bench *b, struct err *e)
{
	const int64_t n = b->s.V * b->s.D, T = b->tokens;
	int32_t *p = mem_alloc(4 * (size_t)T, sizeof(*p), e);

	if (!p)
		return false;
	for (int32_t i = 0; i < T; i++) {
		p[i] = (int32_t)((uint32_t)i * 2654435761u % (uint32_t)(b->s.V - 3));
		p[T + i] = i % SENTENCE;
		p[2 * T + i] = (int32_t)MIN((int64_t)i * SENTENCE, T);
		p[3 * T + i] = SENTENCE;
	}
	b->ids = need_copy(b, T, sizeof(*p), p);
	b->positions = need_copy(b, T, sizeof(*p), p + T);
	b->start = need_copy(b, T, sizeof(*p), p + 2 * T);
	b->ones = need_copy(b, T, sizeof(*p), p + 3 * T);
	free(p);
	for (int i = 0; i < 8; i++)
		b->x[i] = need_floats(b, T * b->s.F);
	b->table = need_floats(b, n);
	b->logits = need_floats(b, HEAD_ROWS * b->s.V);
	b->flat = need(b, 4 * n, sizeof(float));
	b->packed = need(b, n + 4 * b->s.V, sizeof(float));
	b->sum = need(b, 1, sizeof(double));
	return true;
}

static void close_bench(struct bench *b)
{
	void *all[] = { b->table,     b->logits, b->flat, b->packed, b->ids,
			b->positions, b->start,	 b->ones, b->sum };

	for (size_t i = 0; i < ARRAY_LEN(all) && b->d[0]; i++)
		b->o->release(b->d[0], all[i]);
	for (int i = 0; i < 8 && b->d[0]; i++)
		b->o->release(b->d[0], b->x[i]);
	for (int i = 0; i < 2 && b->o; i++)
		b->o->close(b->d[i]);
	profile_free(b->profile);
}

static void print_roof(const struct bench *b)
{
	const struct roof *r = &b->roof;

	if (b->json) {
		printf("{\"roof\":\"%s\",\"threads\":%d,\"fp32_gflops\":%.1f,\"bf16_gflops\":%.1f,"
		       "\"int8_gops\":%.1f,\"memory_gbs\":%.1f,\"size\":\"%s\"}\n",
		       r->units, r->threads, r->fp32 * 1e-9, r->bf16 * 1e-9, r->int8 * 1e-9,
		       r->memory * 1e-9, b->s.name);
		return;
	}
	printf("roof of %d threads, %s: fp32 %.1f GFLOP/s, bf16 %.1f, int8 %.1f GOP/s, memory "
	       "%.1f GB/s; shapes of %s\n",
	       r->threads, r->units, r->fp32 * 1e-9, r->bf16 * 1e-9, r->int8 * 1e-9,
	       r->memory * 1e-9, b->s.name);
	printf("%-36s %-5s %9s %9s %9s %8s %7s\n", "op", "", "best ms", "median ms", "GFLOP/s",
	       "GB/s", "roof");
}

int main(int argc, char **argv)
{
	const char *size = "tiny";
	struct bench b = { .repeats = 15, .tokens = 4096, .backend = "cpu", .roof_side = 8192 };
	const struct bench_option options[] = {
		{ "size", &size, NULL, NULL, "tiny or base" },
		{ "backend", &b.backend, NULL, NULL, "cpu or cuda" },
		{ "tokens", NULL, &b.tokens, NULL, "of a batch in training, 960 to 2^20" },
		{ "threads", NULL, &b.threads, NULL, "0: all cores" },
		{ "repeats", NULL, &b.repeats, NULL, "runs of each op, 1 to 100" },
		{ "calls", NULL, &b.calls, NULL, "in a run; 0: 1 on a CPU, 20 on a GPU" },
		{ "roof", NULL, &b.roof_side, NULL, "side of the products that show a GPU's roof" },
		{ "json", NULL, NULL, &b.json, "print one JSON object a line" },
	};
	struct err e = { 0 };

	argc = bench_parse("bench_ops [WORD]...", options, ARRAY_LEN(options), argc, argv);
	b.words = argv + 1;
	b.n_words = argc - 1;
	b.s = all_sizes[!strcmp(size, "base")];
	b.repeats = MAX(1, MIN(b.repeats, MAX_REPEATS));
	b.gpu = !strcmp(b.backend, "cuda");
	b.calls = b.calls ? b.calls : b.gpu ? 20 : 1;
	b.tokens = MAX(32 * SENTENCE, MIN(b.tokens, 1 << 20));
	if (!open_devices(&b, &e) || !take_memory(&b, &e)) {
		fprintf(stderr, "bench_ops: %s\n", e.text);
		close_bench(&b);
		return err_exit_status(e.code);
	}
	print_roof(&b);
	bench_light(&b);
	bench_products(&b);
	bench_packed(&b);
	close_bench(&b);
	return 0;
}
