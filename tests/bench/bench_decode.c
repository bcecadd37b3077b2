/*
 * bench_decode.c - speed of the decoder, with random weights of a realistic size.
 *
 * usage: bench_decode [--size tiny|base|big] [--vocabulary V] [--beam B] [--batch N] [--length L]
 *	[--precision fp32|bf16|int8] [--threads K] [--workers W] [--backend cpu|ref|…] [--no-graphs]
 *	[--few-rows N] [--mixed] [--whole-batches] [--decode-tokens N] [--dependent-launch]
 *	[--products] [--json]
 *
 * Every sentence has L source tokens and gets exactly L target tokens: the weights make </s> improbable.
 * tests/peers/ctranslate2_decode.py does the same with CTranslate2. Prints target tokens per second (of
 * the best hypotheses), milliseconds and CPU seconds of a batch, of the best of several batches; if
 * other work runs on the machine, only CPU seconds are meaningful. Several workers share the
 * sentences. --mixed: sources and translations of different lengths (decode_rig.h).
 * --whole-batches: sentences join only when no other is left. "rows" are hypotheses in a step.
 * --no-graphs: on a GPU launch each op of a step separately. --few-rows: on a GPU with bf16, products of at
 * most N rows run the own kernel, others cuBLASLt; -1: all run cuBLASLt. --dependent-launch: the starts of
 * kernels overlap (gpu_ways.dependent_launch).
 * --products: measure the products of a step one by one instead (bench_products.c).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/clock.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/bench/bench_products.h"
#include "tests/bench/decode_rig.h"

#define REPEATS 5

struct bench {
	struct decode_rig rig;
	const char *backend;
	bool json, no_graphs, products;
};

static void report(const struct bench *b, double tokens, double s, double cpu)
{
	const struct decode_rig *r = &b->rig;

	if (b->json)
		printf("{\"tool\":\"werkbank\",\"size\":\"%s\",\"vocabulary\":%d,\"beam\":%lld,"
		       "\"batch\":%lld,\"length\":%lld,\"precision\":\"%s\",\"backend\":\"%s\","
		       "\"threads\":%lld,\"workers\":%lld,\"graphs\":%s,\"few_rows\":%lld,"
		       "\"dependent_launch\":%s,"
		       "\"target_tokens_per_second\":%.1f,\"ms\":%.2f,\"cpu_seconds\":%.3f,"
		       "\"mixed\":%s,\"whole_batches\":%s,\"steps\":%lld,\"rows\":%lld,"
		       "\"most_rows\":%lld,\"slow_products\":%lld}\n",
		       r->size, r->shape.vocabulary, (long long)r->beam, (long long)r->sentences,
		       (long long)r->length, r->precision, b->backend, (long long)r->threads,
		       (long long)r->workers, r->graphs ? "true" : "false", (long long)r->few_rows,
		       r->dependent_launch ? "true" : "false", tokens / s, s * 1000, cpu,
		       r->is_mixed ? "true" : "false", r->whole_batches ? "true" : "false",
		       (long long)r->steps, (long long)r->rows, (long long)r->most_rows,
		       (long long)model_count_slow_products(r->m));
	else
		printf("%s %s %s beam %lld, %lld sentences, %lld threads, %lld workers: %.0f "
		       "target tokens/s, %.1f ms, %.3f CPU s, %lld steps of %.1f of %lld rows\n",
		       b->backend, r->size, r->precision, (long long)r->beam,
		       (long long)r->sentences, (long long)r->threads, (long long)r->workers,
		       tokens / s, s * 1000, cpu, (long long)r->steps,
		       (double)r->rows / (double)MAX(r->steps, 1), (long long)r->most_rows);
	if (model_count_slow_products(r->m))
		fprintf(stderr, "bench_decode: " MODEL_SLOW_PRODUCTS "\n");
}

static int run(struct bench *b, struct err *e)
{
	double best = 1e9, cpu = 1e9;
	int64_t tokens = 0;
	int rc;

	b->rig.graphs = !b->no_graphs;
	b->rig.ops = ops_find(b->backend, e);
	if (!b->rig.ops)
		return e->code;
	if (b->products) {
		const struct model_shape shape = decode_rig_shape(b->rig.size, b->rig.vocabulary);

		return bench_products(&shape, b->rig.ops, b->json, e);
	}
	rc = decode_rig_open(&b->rig, e);
	for (int i = 0; i < REPEATS && !rc; i++) {
		const double start = clock_mono_s(), used = (double)clock() / CLOCKS_PER_SEC;

		rc = decode_rig_run(&b->rig, &tokens, e);
		best = MIN(best, clock_mono_s() - start);
		cpu = MIN(cpu, (double)clock() / CLOCKS_PER_SEC - used);
	}
	if (!rc)
		report(b, (double)tokens, best, cpu);
	decode_rig_close(&b->rig);
	return rc;
}

/* 0, or 64 with a message on standard error. */
static int parse(struct bench *b, int argc, char **argv)
{
	struct decode_rig *r = &b->rig;
	const struct {
		const char *name;
		const char **text;
		int64_t *number;
	} options[] = {
		{ "--size", &r->size, NULL },
		{ "--precision", &r->precision, NULL },
		{ "--backend", &b->backend, NULL },
		{ "--vocabulary", NULL, &r->vocabulary },
		{ "--beam", NULL, &r->beam },
		{ "--batch", NULL, &r->sentences },
		{ "--length", NULL, &r->length },
		{ "--threads", NULL, &r->threads },
		{ "--workers", NULL, &r->workers },
		{ "--few-rows", NULL, &r->few_rows },
		{ "--decode-tokens", NULL, &r->decode_tokens },
	};
	const struct {
		const char *name;
		bool *is_set;
	} flags[] = {
		{ "--json", &b->json },		{ "--no-graphs", &b->no_graphs },
		{ "--products", &b->products }, { "--dependent-launch", &r->dependent_launch },
		{ "--mixed", &r->is_mixed },	{ "--whole-batches", &r->whole_batches },
	};

	for (int i = 1; i < argc; i++) {
		bool known = false;

		for (size_t f = 0; f < ARRAY_LEN(flags) && !known; f++) {
			known = !strcmp(argv[i], flags[f].name);
			*flags[f].is_set |= known;
		}
		for (size_t o = 0; o < ARRAY_LEN(options) && !known && i + 1 < argc; o++) {
			if (strcmp(argv[i], options[o].name))
				continue;
			known = options[o].text || text_to_int(argv[i + 1], options[o].number);
			if (options[o].text)
				*options[o].text = argv[i + 1];
			i++;
		}
		if (!known || r->length < 1 || r->sentences < 1 || r->sentences > 4096 ||
		    r->length > 4096 || r->beam < 1 || r->beam > DECODE_MAX_BEAM ||
		    r->few_rows < -1 || r->few_rows > 4096 || r->decode_tokens < 0 ||
		    r->decode_tokens > 1 << 20) {
			fprintf(stderr, "bench_decode: for options see the top of its source\n");
			return 64;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = { .backend = "cpu",
			   .rig = { .size = "base",
				    .precision = "fp32",
				    .beam = 4,
				    .sentences = 32,
				    .length = 25,
				    .threads = 2,
				    .workers = 1 } };
	struct err e = { 0 };

	if (parse(&b, argc, argv))
		return 64;
	if (run(&b, &e)) {
		fprintf(stderr, "bench_decode: %s\n", e.text);
		return err_exit_status(e.code);
	}
	return 0;
}
