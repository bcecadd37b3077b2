/*
 * bench_ops.c - how fast the CPU kernels are, at the shapes of the model "tiny"
 * (d_model 256, d_ff 1024, 4 heads, vocabulary 8192, 4096 tokens a batch in
 * sentences of about 14). Each line is the median and the best of several runs; rates
 * are of the best, which other work on the machine disturbs least.
 *
 *	tests/bench_ops [threads]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "share/base/clock.h"
#include "share/base/util.h"

#define T 4096
#define D 256
#define F 1024
#define V 8192
#define H 4
#define LENGTH 14
#define REPEATS 15

struct bench {
	const struct ops *o;
	struct dev *d;
	float *x[8];		/* T * F floats each */
	float *logits;		/* T * V */
	int32_t *ids, *start;
};

static const struct dropout drop = { 0.1f, { 1, 2, RNG_DROPOUT, 3, 4 } };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

typedef void piece(struct bench *b);

/* Runs f often enough and prints what a run takes; bytes and flops of one run, 0: not said. */
static void measure(struct bench *b, const char *name, piece *f, double bytes, double flops)
{
	double s[REPEATS];

	f(b);
	for (int i = 0; i < REPEATS; i++) {
		double begin = clock_mono_s();

		f(b);
		s[i] = clock_mono_s() - begin;
	}
	qsort(s, REPEATS, sizeof(s[0]), by_value);
	printf("%-36s %9.3f ms median %9.3f ms best", name, s[REPEATS / 2] * 1e3, s[0] * 1e3);
	if (bytes > 0)
		printf("  %7.1f GB/s", bytes / s[0] * 1e-9);
	if (flops > 0)
		printf("  %7.1f GFLOP/s", flops / s[0] * 1e-9);
	printf("\n");
	fflush(stdout);
}

static struct tensor wide(struct bench *b, int i, int64_t cols)
{
	return tensor_f32(b->x[i], T, cols);
}

static void run_embed(struct bench *b)
{
	b->o->embed(b->d, wide(b, 0, D), tensor_f32(b->logits, V, D), b->ids, b->ids + T, 16, drop);
}

static void run_embed_grad(struct bench *b)
{
	b->o->embed_grad(b->d, tensor_f32(b->logits, V, D), wide(b, 0, D), b->ids, 16, drop);
}

static void run_add_norm(struct bench *b)
{
	b->o->add_norm(b->d, wide(b, 0, D), wide(b, 1, D), b->x[5], b->x[6], wide(b, 2, D),
		       wide(b, 3, D), b->x[7], b->x[7], b->x[7], drop);
}

static void run_add_norm_grad(struct bench *b)
{
	b->o->add_norm_grad(b->d, wide(b, 0, D), wide(b, 1, D), b->x[4], b->x[4] + D,
			    b->x[4] + 2 * D, wide(b, 2, D), wide(b, 3, D), b->x[5], b->x[6],
			    b->x[7], drop);
}

static void run_relu(struct bench *b)
{
	b->o->relu_dropout(b->d, wide(b, 0, F), b->x[7], drop);
}

static void run_relu_grad(struct bench *b)
{
	b->o->relu_dropout_grad(b->d, wide(b, 1, F), b->x[4], wide(b, 0, F), drop);
}

static struct attention_shape sentences(struct bench *b, bool causal)
{
	return (struct attention_shape){ b->start,    b->start,	   T / LENGTH, H,
					 LENGTH + 20, LENGTH + 20, causal, 0 };
}

static void run_attention(struct bench *b)
{
	b->o->attention(b->d, wide(b, 0, D), b->x[5], wide(b, 1, D), wide(b, 2, D), wide(b, 3, D),
			sentences(b, false), drop);
}

static void run_attention_grad(struct bench *b)
{
	b->o->attention_grad(b->d, wide(b, 4, D), wide(b, 6, D), wide(b, 7, D), wide(b, 1, D),
			     wide(b, 0, D), b->x[5], wide(b, 1, D), wide(b, 2, D), wide(b, 3, D),
			     sentences(b, false), drop);
}

static void run_cross_entropy(struct bench *b)
{
	b->o->cross_entropy(b->d, tensor_f32(b->logits, T, V), b->x[0], b->x[1], b->ids, V - 3,
			    0.1f, 1e-4f);
}

static void run_adam(struct bench *b)
{
	struct adam_step s = { 1e-3f, 0.9f, 0.98f, 1e-9f, 0.1f, 0.02f, 1 };

	b->o->adam(b->d, b->logits, b->logits + T * F, b->logits + 2 * T * F, b->logits + 3 * T * F,
		   T * F, s);
}

static void run_sum_squares(struct bench *b)
{
	double sum;

	b->o->sum_squares(b->d, &sum, b->logits, T * F);
}

static void run_zero(struct bench *b)
{
	b->o->zero(b->d, b->x[0], sizeof(float) * T * F);
}

static void run_step(struct bench *b)
{
	b->o->attention_step(b->d, tensor_f32(b->x[0], 128, D), NULL, tensor_f32(b->x[1], 128, D),
			     wide(b, 2, D), wide(b, 3, D), b->start + T, b->ids + 2 * T, 20, H);
}

static void run_top_k(struct bench *b)
{
	b->o->top_k(b->d, b->x[0], b->ids + 3 * T, tensor_f32(b->logits, 128, V), V - 3, 8);
}

static struct bench_product {
	const char *name;
	int64_t rows, cols, inner;
	struct matmul_how how;
} product;

static void run_matmul(struct bench *b)
{
	struct bench_product p = product;
	bool big = p.cols == V || p.rows == V;
	float *out = big ? b->logits : b->x[0];
	struct tensor a = p.how.a_transposed ? tensor_f32(b->x[1], p.inner, p.rows)
					     : tensor_f32(b->x[1], p.rows, p.inner);
	struct tensor w = p.how.b_transposed ? tensor_f32(b->x[2], p.cols, p.inner)
					     : tensor_f32(b->x[2], p.inner, p.cols);

	b->o->matmul(b->d, tensor_f32(out, p.rows, p.cols), a, w, p.how);
}

static void bench_matmul(struct bench *b, int threads)
{
	static const struct bench_product list[] = {
		{ "q k v 4096x768x256", T, 3 * D, D, { .b_transposed = true } },
		{ "ffn 4096x1024x256", T, F, D, { .b_transposed = true } },
		{ "ffn 4096x256x1024", T, D, F, { .b_transposed = true } },
		{ "logits 1024x8192x256", 1024, V, D, { .b_transposed = true } },
		{ "ffn dx 4096x256x1024", T, D, F, { .a_transposed = false } },
		{ "ffn dw 1024x256x4096", F, D, T, { .a_transposed = true, .accumulate = true } },
		{ "square dw 256x256x4096", D, D, T, { .a_transposed = true, .accumulate = true } },
		{ "step 128x256x256", 128, D, D, { .b_transposed = true } },
		{ "step logits 128x8192x256", 128, V, D, { .b_transposed = true } },
	};
	static const char *how[] = { "oneDNN fp32", "oneDNN bf16", "own fp32", "own bf16" };
	struct dev *given = b->d;
	struct err e;

	for (int i = 0; i < 4; i++) {
		struct dev_options options = { .threads = threads, .bf16 = i & 1 };

		b->d = b->o->open(&options, &e);
		if (i >= 2) {
			cpu_onednn_close(b->d->onednn);
			b->d->onednn = NULL;
		} else if (!b->d->onednn && !(b->d->onednn = cpu_onednn_open())) {
			b->o->close(b->d);
			continue;
		}
		for (size_t j = 0; j < ARRAY_LEN(list); j++) {
			char name[80];

			product = list[j];
			snprintf(name, sizeof(name), "%s %s", how[i], product.name);
			measure(b, name, run_matmul, 0,
				2.0 * (double)(product.rows * product.cols * product.inner));
		}
		b->o->close(b->d);
	}
	b->d = given;
}

static void *need(struct bench *b, size_t bytes)
{
	struct err e;
	void *p = b->o->alloc(b->d, bytes, &e);

	if (!p) {
		fprintf(stderr, "bench_ops: %s\n", e.text);
		abort();
	}
	return p;
}

static void bench_open(struct bench *b, int threads)
{
	struct dev_options options = { .threads = threads };
	struct rng_key key = rng_key_make(1, RNG_TEST, 0, 0);
	struct err e;

	*b = (struct bench){ .o = ops_cpu() };
	b->d = b->o->open(&options, &e);
	for (int i = 0; i < 8; i++) {
		b->x[i] = need(b, sizeof(float) * T * F);
		for (int64_t j = 0; j < T * F; j++)
			b->x[i][j] = rng_unit(key, (uint64_t)j) * 2 - 1;
	}
	b->logits = need(b, sizeof(float) * T * V);
	for (int64_t j = 0; j < (int64_t)T * V; j++)
		b->logits[j] = rng_unit(key, (uint64_t)j);
	b->ids = need(b, sizeof(int32_t) * 4 * T);
	b->start = need(b, sizeof(int32_t) * 2 * T);
	for (int32_t i = 0; i < T; i++) {
		b->ids[i] = (int32_t)(rng_u32(key, (uint64_t)i) % (V - 3));
		b->ids[T + i] = i % LENGTH;
		b->ids[2 * T + i] = 20;
		b->start[i] = i * LENGTH;
		b->start[T + i] = i;
	}
}

static void bench_close(struct bench *b)
{
	for (int i = 0; i < 8; i++)
		b->o->release(b->d, b->x[i]);
	b->o->release(b->d, b->logits);
	b->o->release(b->d, b->ids);
	b->o->release(b->d, b->start);
	b->o->close(b->d);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
	double wide_bytes = 4.0 * T * F, narrow = 4.0 * T * D, logits = 4.0 * T * V,
	       scores = 2.0 * T * LENGTH * D;
	struct bench b;

	bench_open(&b, threads);
	printf("%d threads\n", b.d->threads);
	measure(&b, "embed", run_embed, 2 * narrow, 0);
	measure(&b, "embed_grad", run_embed_grad, 3 * narrow, 0);
	measure(&b, "add_norm", run_add_norm, 4 * narrow, 0);
	measure(&b, "add_norm_grad", run_add_norm_grad, 5 * narrow, 0);
	measure(&b, "relu_dropout", run_relu, 2 * wide_bytes, 0);
	measure(&b, "relu_dropout_grad", run_relu_grad, 3 * wide_bytes, 0);
	measure(&b, "attention", run_attention, 4 * narrow, 2 * scores);
	measure(&b, "attention_grad", run_attention_grad, 8 * narrow, 5 * scores);
	measure(&b, "cross_entropy", run_cross_entropy, 2 * logits, 0);
	measure(&b, "adam", run_adam, 7 * wide_bytes, 0);
	measure(&b, "sum_squares", run_sum_squares, wide_bytes, 0);
	measure(&b, "zero", run_zero, wide_bytes, 0);
	measure(&b, "attention_step 128 rows x 20", run_step, 0, 0);
	measure(&b, "top_k 8 of 128 x 8192", run_top_k, 4.0 * 128 * V, 0);
	bench_matmul(&b, threads);
	bench_close(&b);
	return 0;
}
