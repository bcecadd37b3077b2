/*
 * bench_products.c - which kernel multiplies fastest in a decoding step? For each shape of product of a
 * step and each number of rows: the own kernel for few rows (cuda_few_rows.cu) against cuBLASLt.
 *
 * Weights are bf16; inputs and outputs have the types that incremental.c gives them. The calls of one
 * measurement are one graph, as in decoding, so launches are not measured. They take turns with so
 * many copies of the weights that none is in a cache when its turn comes.
 */
#include "tests/bench/bench_products.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/clock.h"
#include "share/base/mem.h"

#define COLD_BYTES ((int64_t)128 << 20) /* more than the L2 cache of any GPU */
#define MIN_CALLS  24
#define REPLAYS	   10
#define REPEATS	   5
#define MAX_ROWS   1024
#define OWN_ROWS   128 /* the own kernel is not measured with more */

enum way { OWN, LIBRARY, N_WAYS };

struct step_product {
	const char *name;
	int64_t outputs, inner;
	int64_t in_step; /* how many products of this shape a step has */
	enum dtype input;
	bool relu; /* with bias and ReLU */
};

struct products_bench {
	const struct ops *ops;
	struct dev *dev[N_WAYS];
	char *memory[N_WAYS]; /* device: weights, inputs, outputs, bias */
	size_t weight_bytes, input_bytes, output_bytes;
	uint64_t graphs; /* keys used so far */
	bool json;
};

static void close_bench(struct products_bench *b)
{
	for (int way = 0; way < N_WAYS; way++) {
		if (b->dev[way])
			b->ops->release(b->dev[way], b->memory[way]);
		b->ops->close(b->dev[way]);
	}
}

/* Small numbers of both signs, readable as bf16 and as floats. */
static int fill_device(struct products_bench *b, int way, size_t bytes, struct err *e)
{
	static uint16_t host[1 << 16];

	for (size_t i = 0; i < ARRAY_LEN(host); i++)
		host[i] = (uint16_t)(0x3C00 + i * 7919 % 256 + (i % 3 ? 0x8000 : 0));
	for (size_t at = 0; at < bytes; at += sizeof(host))
		b->ops->to_device(b->dev[way], b->memory[way] + at, host,
				  MIN(sizeof(host), bytes - at));
	return b->ops->sync(b->dev[way], e);
}

static int open_bench(struct products_bench *b, const struct model_shape *s, struct err *e)
{
	const size_t widest = (size_t)MAX(s->vocabulary, MAX(s->d_ff, 3 * s->d_model));
	size_t bytes;

	b->weight_bytes =
		(size_t)MAX(COLD_BYTES, 2 * (int64_t)s->vocabulary * MAX(s->d_model, s->d_ff));
	b->input_bytes = (size_t)MAX_ROWS * (size_t)MAX(s->d_model, s->d_ff) * sizeof(float);
	b->output_bytes = (size_t)MAX_ROWS * widest * sizeof(float);
	bytes = b->weight_bytes + b->input_bytes + b->output_bytes + widest * sizeof(float);
	for (int way = 0; way < N_WAYS; way++) {
		const struct dev_options options = { .threads = 1,
						     .is_decoding = true,
						     .bf16 = true,
						     .few_rows = way == OWN ? INT_MAX : -1,
						     .graphs = true };

		b->dev[way] = b->ops->open(&options, e);
		if (!b->dev[way])
			return e->code;
		b->memory[way] = b->ops->alloc(b->dev[way], bytes, e);
		if (!b->memory[way] || fill_device(b, way, bytes, e))
			return e->code;
	}
	return 0;
}

/* One call; number: selects the copy of the weights. */
static void call_product(struct products_bench *b, int way, const struct step_product *p,
			 int64_t rows, int64_t number)
{
	const size_t one = (size_t)(p->outputs * p->inner) * sizeof(uint16_t);
	const int64_t copies = MAX(1, (int64_t)(b->weight_bytes / one));
	char *inputs = b->memory[way] + b->weight_bytes, *outputs = inputs + b->input_bytes;
	const struct tensor weight = { b->memory[way] + (size_t)(number % copies) * one, p->outputs,
				       p->inner, p->inner, DTYPE_BF16 },
			    in = { inputs, rows, p->inner, p->inner, p->input },
			    out = tensor_f32((float *)(void *)outputs, rows, p->outputs);
	const float *bias = (const float *)(const void *)(outputs + b->output_bytes);

	b->ops->linear(b->dev[way], out, in, weight, p->relu ? bias : NULL, p->relu);
}

/* Microseconds of a call, the least of several measurements; negative: failure. */
static double time_product(struct products_bench *b, int way, const struct step_product *p,
			   int64_t rows, struct err *e)
{
	const struct graph_key key = { { ++b->graphs } };
	const int64_t copies = COLD_BYTES / (p->outputs * p->inner * (int64_t)sizeof(uint16_t)) + 1;
	const int64_t calls = MAX(MIN_CALLS, MIN(copies, 256));
	double best = 1e9;

	for (int round = 0; round < 2 + REPEATS; round++) {
		const int repeats = round < 2 ? 1 : REPLAYS; /* the first two record the graph */
		const double start = clock_mono_s();

		for (int i = 0; i < repeats; i++) {
			if (b->ops->graph_begin(b->dev[way], &key)) {
				b->ops->graph_replay(b->dev[way], 0);
				continue;
			}
			for (int64_t c = 0; c < calls; c++)
				call_product(b, way, p, rows, c);
			b->ops->graph_end(b->dev[way]);
		}
		if (b->ops->sync(b->dev[way], e))
			return -1;
		if (round >= 2)
			best = MIN(best,
				   (clock_mono_s() - start) * 1e6 / (double)(calls * repeats));
	}
	return best;
}

/* us[OWN] 0: not measured. */
static void print_product(const struct products_bench *b, const struct step_product *p,
			  int64_t rows, const double us[N_WAYS])
{
	const double mb = (double)(p->outputs * p->inner) * sizeof(uint16_t) / 1e6,
		     flops = 2.0 * (double)(rows * p->outputs * p->inner);
	char own[32];

	snprintf(own, sizeof(own), us[OWN] > 0 ? "%.2f" : b->json ? "null" : "-", us[OWN]);
	if (b->json)
		printf("{\"product\":\"%s\",\"rows\":%lld,\"outputs\":%lld,\"inner\":%lld,"
		       "\"own_us\":%s,\"cublaslt_us\":%.2f,\"weight_mb\":%.2f,\"mflop\":%.1f}\n",
		       p->name, (long long)rows, (long long)p->outputs, (long long)p->inner, own,
		       us[LIBRARY], mb, flops / 1e6);
	else
		printf("%4lld rows, %-13s %8s us own, %8.2f us cuBLASLt (%.0f GB/s, %.1f "
		       "TFLOP/s)\n",
		       (long long)rows, p->name, own, us[LIBRARY], mb / us[LIBRARY] * 1000,
		       flops / us[LIBRARY] / 1e6);
}

static void print_step(bool json, int64_t rows, const double us[N_WAYS])
{
	if (rows > OWN_ROWS)
		printf(json ? "{\"step_rows\":%lld,\"own_us\":null,\"cublaslt_us\":%.1f}\n"
			    : "%4lld rows, a step: %.1f us cuBLASLt\n",
		       (long long)rows, us[LIBRARY]);
	else
		printf(json ? "{\"step_rows\":%lld,\"own_us\":%.1f,\"cublaslt_us\":%.1f}\n"
			    : "%4lld rows, a step: %.1f us own, %.1f us cuBLASLt\n",
		       (long long)rows, us[OWN], us[LIBRARY]);
}

/* All products of a step with so many rows: *total gets their microseconds, way by way. */
static int measure_rows(struct products_bench *b, const struct step_product *list, size_t n,
			int64_t rows, double total[N_WAYS], struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		double us[N_WAYS] = { 0 };

		for (int way = rows > OWN_ROWS ? LIBRARY : OWN; way < N_WAYS; way++) {
			us[way] = time_product(b, way, &list[i], rows, e);
			if (us[way] < 0)
				return e->code;
			total[way] += us[way] * (double)list[i].in_step;
		}
		print_product(b, &list[i], rows, us);
	}
	return 0;
}

int bench_products(const struct model_shape *shape, const struct ops *ops, bool json, struct err *e)
{
	const int64_t d = shape->d_model, f = shape->d_ff, layers = shape->decoder_layers;
	const struct step_product list[] = {
		{ "qkv", 3 * d, d, layers, DTYPE_BF16, false },
		{ "attention out", d, d, 3 * layers, DTYPE_BF16, false },
		{ "ffn in", f, d, layers, DTYPE_BF16, true },
		{ "ffn out", d, f, layers, DTYPE_F32, false },
		{ "output", shape->vocabulary, d, 1, DTYPE_BF16, false },
	};
	struct products_bench b = { .ops = ops, .json = json };
	int64_t best = -1; /* as in --few-rows: always cuBLASLt */
	int rc;

	if (!ops->graph_begin)
		return err_set(e, ERR_UNAVAILABLE,
			       "backend %s records no graphs: --products measures a GPU",
			       ops->name);
	rc = open_bench(&b, shape, e);
	for (int64_t rows = 1; rows <= MAX_ROWS && !rc; rows *= 2) {
		double total[N_WAYS] = { 0 };

		rc = measure_rows(&b, list, ARRAY_LEN(list), rows, total, e);
		if (rc)
			break;
		if (rows <= OWN_ROWS && total[OWN] <= total[LIBRARY])
			best = rows;
		print_step(json, rows, total);
	}
	if (!rc)
		printf(json ? "{\"best_few_rows\":%lld}\n" : "best limit: --few-rows %lld\n",
		       (long long)best);
	close_bench(&b);
	return rc;
}
