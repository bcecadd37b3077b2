/*
 * bench_decode.c - speed of the decoder, with random weights of a realistic size.
 *
 * usage: bench_decode [--size tiny|base|big] [--vocabulary V] [--beam B] [--batch N] [--length L]
 *	[--precision fp32|bf16|int8] [--threads K] [--workers W] [--backend cpu|ref|…] [--no-graphs]
 *	[--few-rows N] [--products] [--json]
 *
 * Every sentence has L source tokens and gets exactly L target tokens: the weights make </s> improbable.
 * tests/peers/ctranslate2_decode.py does the same with CTranslate2. Prints target tokens per second (of
 * the best hypotheses), milliseconds and CPU seconds of a batch, of the best of several batches; if
 * other work runs on the machine, only CPU seconds are meaningful. Several workers share the
 * sentences. --no-graphs: on a GPU launch each op of a step separately. --few-rows: on a GPU with
 * bf16, products of at most N rows run the own kernel, others cuBLASLt; -1: all run cuBLASLt.
 * --products: measure the products of a step one by one instead (bench_products.c).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/decode/decode.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "tests/bench/bench_products.h"
#include "train/model/model.h"

#define REPEATS 5

struct bench {
	struct model_shape shape;
	const char *backend;
	const char *size, *precision;
	int64_t vocabulary, beam, sentences, length, threads, workers, few_rows;
	bool json, no_graphs, products;
};

static const struct model_shape shapes[] = {
	{ 256, 1024, 4, 3, 3, 8192, 8192 },
	{ 512, 2048, 8, 6, 6, 32768, 32768 },
	{ 1024, 4096, 16, 6, 6, 32768, 32768 },
};

/* With </s> as unlikely as the norm's shift can make it, every hypothesis goes on to the greatest
 * length. */
static int turn_from_end(struct model *m, struct err *e)
{
	const struct ops *o = model_get_ops(m);
	int32_t d = model_get_shape(m)->d_model;
	const struct model_weights *w = model_get_weights(m);
	float *end = mem_alloc((size_t)d, sizeof(*end), e);

	if (!end)
		return e->code;
	o->to_host(model_get_dev(m), end, (float *)w->embed.data + TOKEN_END * d,
		   (size_t)d * sizeof(*end));
	for (int32_t i = 0; i < d; i++)
		end[i] *= -20;
	o->to_device(model_get_dev(m), w->decoder_norm_shift.data, end, (size_t)d * sizeof(*end));
	free(end);
	return 0;
}

static void report(const struct bench *b, double tokens, double s, double cpu)
{
	if (b->json)
		printf("{\"tool\":\"werkbank\",\"size\":\"%s\",\"vocabulary\":%d,\"beam\":%lld,"
		       "\"batch\":%lld,\"length\":%lld,\"precision\":\"%s\",\"backend\":\"%s\","
		       "\"threads\":%lld,\"workers\":%lld,\"graphs\":%s,\"few_rows\":%lld,"
		       "\"target_tokens_per_second\":%.1f,\"ms\":%.2f,\"cpu_seconds\":%.3f}\n",
		       b->size, b->shape.vocabulary, (long long)b->beam, (long long)b->sentences,
		       (long long)b->length, b->precision, b->backend, (long long)b->threads,
		       (long long)b->workers, b->no_graphs ? "false" : "true",
		       (long long)b->few_rows, tokens / s, s * 1000, cpu);
	else
		printf("%s %s %s beam %lld, %lld sentences, %lld threads, %lld workers: %.0f "
		       "target tokens/s, %.1f ms, %.3f CPU s\n",
		       b->backend, b->size, b->precision, (long long)b->beam,
		       (long long)b->sentences, (long long)b->threads, (long long)b->workers,
		       tokens / s, s * 1000, cpu);
}

static int measure(struct decoder *d, const struct bench *b, struct err *e)
{
	struct decode_options o = { .beam = (int32_t)b->beam,
				    .n_best = 1,
				    .alpha = 0.6,
				    .max_length_factor = 0,
				    .max_length_extra = (int32_t)b->length,
				    .decode_tokens = 1 << 20 };
	size_t n = (size_t)b->sentences, length = (size_t)b->length;
	struct decode_source *sources = mem_alloc(n, sizeof(*sources), e);
	struct decode_result *results = mem_alloc(n, sizeof(*results), e);
	int32_t *ids = mem_alloc(n * length, sizeof(*ids), e);
	double best = 1e9, cpu = 1e9;
	int64_t tokens = 0;
	int rc = sources && results && ids ? 0 : e->code;

	for (size_t i = 0; i < n * length && !rc; i++)
		ids[i] = (int32_t)(N_SPECIAL_TOKENS +
				   i * 7919 % (size_t)(b->shape.vocabulary - N_SPECIAL_TOKENS));
	for (size_t i = 0; i < n && !rc; i++)
		sources[i] = (struct decode_source){ ids + i * length, (int32_t)length };
	for (int r = 0; r < REPEATS && !rc; r++) {
		double start = clock_mono_s(), used = (double)clock() / CLOCKS_PER_SEC;

		rc = decoder_run(d, &o, sources, n, results, e);
		best = MIN(best, clock_mono_s() - start);
		cpu = MIN(cpu, (double)clock() / CLOCKS_PER_SEC - used);
		tokens = 0;
		for (size_t i = 0; i < n && !rc; i++)
			tokens += results[i].hypotheses[0].n;
		decode_results_free(results, rc ? 0 : n);
	}
	if (!rc)
		report(b, (double)tokens, best, cpu);
	free(sources);
	free(results);
	free(ids);
	return rc;
}

static int run(const struct bench *b, const struct ops *ops, struct err *e)
{
	enum dtype packed = !strcmp(b->precision, "int8")   ? DTYPE_PACKED_INT8
			    : !strcmp(b->precision, "bf16") ? DTYPE_PACKED_BF16
							    : DTYPE_PACKED_F32;
	struct dev_options dev = { .threads = (int)b->threads,
				   .is_decoding = true,
				   .few_rows = (int)b->few_rows,
				   .graphs = !b->no_graphs,
				   .bf16 = packed == DTYPE_PACKED_BF16 };
	struct model *m = model_new(&b->shape, ops, &dev, e);
	int32_t capacity = (int32_t)(b->sentences * (b->length + 1));
	struct decoder *d = NULL;
	int rc = m ? model_reserve_forward(m, capacity, MAX(1, capacity / 2), e) : e->code;

	if (!rc)
		rc = model_init(m, 1, e);
	if (!rc)
		rc = turn_from_end(m, e);
	if (!rc)
		rc = model_pack(m, packed, e);
	if (!rc) {
		d = decoder_new(m, capacity, (int32_t)b->workers, e);
		rc = d ? measure(d, b, e) : e->code;
	}
	decoder_free(d);
	model_free(m);
	return rc;
}

/* 0, or 64 with a message on standard error. */
static int parse(struct bench *b, int argc, char **argv)
{
	const struct {
		const char *name;
		const char **text;
		int64_t *number;
	} options[] = {
		{ "--size", &b->size, NULL },	    { "--precision", &b->precision, NULL },
		{ "--backend", &b->backend, NULL }, { "--vocabulary", NULL, &b->vocabulary },
		{ "--beam", NULL, &b->beam },	    { "--batch", NULL, &b->sentences },
		{ "--length", NULL, &b->length },   { "--threads", NULL, &b->threads },
		{ "--workers", NULL, &b->workers }, { "--few-rows", NULL, &b->few_rows },
	};

	for (int i = 1; i < argc; i++) {
		const bool json = !strcmp(argv[i], "--json"),
			   no_graphs = !strcmp(argv[i], "--no-graphs"),
			   products = !strcmp(argv[i], "--products");
		bool known = json || no_graphs || products;

		b->json |= json;
		b->no_graphs |= no_graphs;
		b->products |= products;
		for (size_t o = 0; o < ARRAY_LEN(options) && !known && i + 1 < argc; o++) {
			if (strcmp(argv[i], options[o].name))
				continue;
			known = options[o].text || text_to_int(argv[i + 1], options[o].number);
			if (options[o].text)
				*options[o].text = argv[i + 1];
			i++;
		}
		if (!known || b->length < 1 || b->sentences < 1 || b->sentences > 4096 ||
		    b->length > 4096 || b->beam < 1 || b->beam > DECODE_MAX_BEAM ||
		    b->few_rows < -1 || b->few_rows > 4096) {
			fprintf(stderr, "bench_decode: for options see the top of its source\n");
			return 64;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .size = "base",
			   .precision = "fp32",
			   .backend = "cpu",
			   .beam = 4,
			   .sentences = 32,
			   .length = 25,
			   .threads = 2,
			   .workers = 1 };
	struct err e = { 0 };
	const struct ops *ops;
	int rc;

	if (parse(&b, argc, argv))
		return 64;
	b.shape = shapes[!strcmp(b.size, "tiny") ? 0 : !strcmp(b.size, "big") ? 2 : 1];
	if (b.vocabulary >= 8)
		b.shape.vocabulary = b.shape.real_vocabulary = (int32_t)(b.vocabulary / 8 * 8);
	ops = ops_find(b.backend, &e);
	rc = !ops	  ? e.code
	     : b.products ? bench_products(&b.shape, ops, b.json, &e)
			  : run(&b, ops, &e);
	if (rc) {
		fprintf(stderr, "bench_decode: %s\n", e.text);
		return err_exit_status(e.code);
	}
	return 0;
}
