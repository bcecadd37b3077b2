/*
 * bench_ops.c - how fast the CPU kernels are, and how near the roof.
 *
 *	tests/bench_ops [WORD]... [--size tiny|base] [--threads 0] [--repeats 15] [--json]
 *
 * Every op at the shapes of a model in training (4096 tokens in sentences of 30; tiny:
 * d_model 256, vocabulary 8192; base: 512, 32768) and in decoding (32 and 1 rows);
 * with WORDs only lines that contain one of them. A line is the best and the median of
 * several runs (with one thread in processor time), which other work on the machine disturbs
 * least, the rates of the best, and the share
 * of the roof (roof.h): the time that computing at the peak rate of this
 * precision or reading and writing all bytes once at the speed of memory would take,
 * whichever is longer, over the time it took. What stays in caches may exceed 100 %.
 * What an op has to do is counted by kernels/work.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu.h"
#include "kernels/panels.h"
#include "kernels/profile.h"
#include "share/base/clock.h"
#include "share/base/util.h"
#include "tests/bench.h"
#include "tests/roof.h"

#define T 4096
#define SENTENCE 30
#define HEAD_ROWS 512
#define MOST_REPEATS 100

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
	int64_t threads, repeats;
	bool json;
	char **words;
	int n_words;
	struct roof roof;
	struct profile *profile;
	const struct ops *o;
	struct dev *d[2];	/* products of fp32, of bf16 */
	float *x[8];		/* T * F floats each */
	float *table;		/* V * D */
	float *logits;		/* HEAD_ROWS * V */
	float *flat;		/* 4 * V * D */
	void *packed;		/* V * D packed, any precision */
	int32_t *ids, *positions, *start, *ones;
};

static const struct dropout drop = { 0.1f, { 1, 2, RNG_DROPOUT, 3, 4 } };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A line: an op at a shape. What the numbers mean is up to run. */
struct line {
	const char *name;
	void (*run)(struct bench *b, struct dev *d, const struct line *l);
	int64_t rows, cols, inner;
	struct matmul_how how;
	enum dtype dtype;	/* of packed weights */
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

/* One thread: its processor time, to which nothing else on the machine adds. */
static double seconds(const struct bench *b)
{
	struct timespec t;

	if (b->roof.threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return clock_mono_s();
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(struct bench *b, const struct line *l, bool bf16, const char *precision)
{
	const struct profile_entry *entry;
	double s[MOST_REPEATS];
	size_t n;

	if (!wanted(b, l->name))
		return;
	l->run(b, b->d[bf16], l);
	profile_clear(b->profile);
	for (int i = 0; i < b->repeats; i++) {
		double begun = seconds(b);

		l->run(b, b->d[bf16], l);
		s[i] = seconds(b) - begun;
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
	return tensor_f32(b->x[i], T, cols);
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
					 .n = T / SENTENCE,
					 .heads = (int32_t)b->s.H,
					 .max_q = SENTENCE,
					 .max_k = SENTENCE,
					 .pairs = (int64_t)T / SENTENCE * SENTENCE * SENTENCE };
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
	b->o->cross_entropy(d, tensor_f32(b->logits, HEAD_ROWS, b->s.V), b->x[0], b->x[1], b->ids,
			    b->s.V - 3, 0.1f, 1e-4f);
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
	double sum;

	(void)l;
	b->o->sum_squares(d, &sum, b->flat, b->s.V * b->s.D);
}

static void run_adam(struct bench *b, struct dev *d, const struct line *l)
{
	const int64_t n = b->s.V * b->s.D;
	const struct adam_step how = { 1e-3f, 0.9f, 0.98f, 1e-9f, 0.1f, 0.02f, 1 };

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

	b->o->matmul(d, tensor_f32(out, l->rows, l->cols), a, w, l->how);
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

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		measure(b, &list[i], false, "fp32");
}

static void bench_products(struct bench *b)
{
	const int64_t D = b->s.D, F = b->s.F, V = b->s.V;
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
		for (int bf16 = 0; bf16 < 2; bf16++)
			measure(b, &list[i], bf16, bf16 ? "bf16" : "fp32");
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

static float *need_floats(struct bench *b, int64_t n)
{
	struct rng_key key = rng_key_make(1, RNG_TEST, 0, 0);
	float *p = need(b, n, sizeof(*p));

	for (int64_t i = 0; i < n; i++)
		p[i] = (float)((double)(i * 2654435761u % 4294967296u) / 4294967296.0 * 2 - 1);
	p[0] = rng_unit(key, 0);
	return p;
}

static bool open_devices(struct bench *b, struct err *e)
{
	struct dev_options options = { .threads = (int)b->threads };

	b->profile = options.profile = profile_new(ops_cpu(), e);
	if (!b->profile)
		return false;
	b->o = profile_ops(b->profile);
	b->d[0] = b->o->open(&options, e);
	options.bf16 = true;
	b->d[1] = b->d[0] ? b->o->open(&options, e) : NULL;
	return b->d[1] && !roof_measure(&b->roof, (int)b->threads, e);
}

static void take_memory(struct bench *b)
{
	const int64_t n = b->s.V * b->s.D;

	for (int i = 0; i < 8; i++)
		b->x[i] = need_floats(b, T * b->s.F);
	b->table = need_floats(b, n);
	b->logits = need_floats(b, HEAD_ROWS * b->s.V);
	b->flat = need(b, 4 * n, sizeof(float));
	b->packed = need(b, n + 4 * b->s.V, sizeof(float));
	b->ids = need(b, T, sizeof(int32_t));
	b->positions = need(b, T, sizeof(int32_t));
	b->start = need(b, T, sizeof(int32_t));
	b->ones = need(b, T, sizeof(int32_t));
	for (int32_t i = 0; i < T; i++) {
		b->ids[i] = (int32_t)((uint32_t)i * 2654435761u % (uint32_t)(b->s.V - 3));
		b->positions[i] = i % SENTENCE;
		b->start[i] = MIN(i * SENTENCE, T);
		b->ones[i] = SENTENCE;
	}
}

static void close_bench(struct bench *b)
{
	void *all[] = { b->table, b->logits, b->flat, b->packed, b->ids, b->positions, b->start,
			b->ones };

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
	struct bench b = { .repeats = 15 };
	const struct bench_option options[] = {
		{ "size", &size, NULL, NULL, "tiny or base" },
		{ "threads", NULL, &b.threads, NULL, "0: all cores" },
		{ "repeats", NULL, &b.repeats, NULL, "runs of each op, 1 to 100" },
		{ "json", NULL, NULL, &b.json, "print one JSON object a line" },
	};
	struct err e = { 0 };

	argc = bench_parse("bench_ops [WORD]...", options, ARRAY_LEN(options), argc, argv);
	b.words = argv + 1;
	b.n_words = argc - 1;
	b.s = all_sizes[!strcmp(size, "base")];
	b.repeats = MAX(1, MIN(b.repeats, MOST_REPEATS));
	if (!open_devices(&b, &e)) {
		fprintf(stderr, "bench_ops: %s\n", e.text);
		close_bench(&b);
		return err_exit_status(e.code);
	}
	take_memory(&b);
	print_roof(&b);
	bench_light(&b);
	bench_products(&b);
	bench_packed(&b);
	close_bench(&b);
	return 0;
}
