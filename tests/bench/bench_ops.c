/*
 * bench_ops.c - how fast the kernels are in training and decoding, and how near the roof.
 *
 *	tests/bench_ops [WORD]... [--size tiny|base|big] [--backend cpu|cuda] [--precision fp32|bf16|int8]
 *			[--vocabulary 32768] [--tokens 4096] [--beam 4] [--batch 32] [--length 25] [--threads 0]
 *			[--repeats 15] [--calls N] [--roof 8192] [--only training|decoding|options] [--variant NAME] [--json]
 *
 * It trains a step as bench_train does and decodes a batch as bench_decode does; then come the ops of other
 * architectures at these shapes (bench_ops_options.h). op_times.h times
 * every op at each of the shapes and types that occur. WORDs select lines whose op or shapes
 * contain one of them. int8 is for decoding only: training then uses bf16.
 *
 * A line has the calls in one training step or in one decoding of the batch, the best and the median
 * time of a call of several runs; with one thread in processor time, which other work on the
 * machine disturbs least. On a GPU a run is some calls, with one wait. Then follow the rates of the
 * best run, and its share of the roof (roof.h): the longer of (FLOPs / peak rate of this precision)
 * and (bytes / memory bandwidth), divided by the measured time. Data that stay in caches may
 * exceed 100 %. On a GPU that predicted.c knows, --json adds its calculated time. --variant: ops of
 * another way to compute a training step (train_variants.c). kernels/op_cost.h counts FLOPs and
 * bytes. The sum of all calls times their best is
 * what a step would take without gaps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_ops_options.h"
#include "tests/bench/decode_rig.h"
#include "tests/bench/op_times.h"
#include "tests/bench/predicted.h"
#include "tests/bench/roof.h"
#include "tests/bench/train_variants.h"
#include "tests/train/rig.h"

#define MADE_UP 20000 /* random sentences */

struct bench {
	const char *size, *backend, *precision, *only;
	int64_t vocabulary, tokens, beam, sentences, length, threads, repeats, calls, roof_side;
	bool json;
	char **words;
	int n_words;
	const struct ops *ops;		     /* of the backend */
	const struct train_variant *variant; /* NULL: the backend's own way */
	char gpu[96];			     /* its name; "" on a CPU */
	struct roof roof;
	char folder[200];
};

/* ---- results ---------------------------------------------------------------------- */

static double peak_rate(const struct bench *b, const struct op_time *x)
{
	if (x->kind && !strcmp(x->kind, "int8"))
		return MAX(b->roof.int8, b->roof.fp32);
	return strcmp(b->precision, "fp32") ? b->roof.bf16 : b->roof.fp32;
}

/* Microseconds, as a member of the object; "" if there is no prediction. */
static const char *predicted_member(const struct bench *b, const struct op_time *x, char *text,
				    size_t n)
{
	const double s = strcmp(b->precision, "bf16")
				 ? 0
				 : predicted_seconds(b->gpu, x->op, x->flops, x->bytes);

	text[0] = '\0';
	if (s > 0)
		snprintf(text, n, ",\"predicted_us\":%.2f,\"measured_us\":%.2f,\"ratio\":%.3f",
			 s * 1e6, x->best * 1e6, x->best / s);
	return text;
}

static void print_line(const struct bench *b, const char *phase, const struct op_time *x)
{
	const double share = roof_seconds(&b->roof, peak_rate(b, x), x->flops, x->bytes) / x->best;
	char predicted[100];
	const char *gap = x->kind ? " " : "", *kind = x->kind ? x->kind : "";

	if (b->json)
		printf("{\"phase\":\"%s\",\"op\":\"%s%s%s\",\"shapes\":\"%s\",\"precision\":\"%s\","
		       "\"calls\":%lld,\"best_ms\":%.5f,\"median_ms\":%.5f,\"all_ms\":%.4f,"
		       "\"gflops\":%.1f,\"gbs\":%.1f,\"roof_share\":%.4f%s}\n",
		       phase, x->op, gap, kind, x->shapes, b->precision, (long long)x->calls,
		       x->best * 1e3, x->median * 1e3, x->best * 1e3 * (double)x->calls,
		       x->flops / x->best * 1e-9, x->bytes / x->best * 1e-9, share,
		       predicted_member(b, x, predicted, sizeof(predicted)));
	else
		printf("%-18s %-5s %6lld %9.4f %9.4f %9.1f %8.1f %6.1f%%  %s\n", x->op, kind,
		       (long long)x->calls, x->best * 1e3, x->median * 1e3,
		       x->flops / x->best * 1e-9, x->bytes / x->best * 1e-9, share * 100,
		       x->shapes);
}

static void print_results(const struct bench *b, const char *phase, const struct op_times *t,
			  int64_t slow_products)
{
	const struct op_time *list;
	double all = 0;
	size_t n;

	list = op_times_list(t, &n);
	if (!b->json)
		printf("%s\n%-18s %-5s %6s %9s %9s %9s %8s %7s  shapes\n", phase, "op", "", "calls",
		       "best ms", "median ms", "GFLOP/s", "GB/s", "roof");
	for (size_t i = 0; i < n; i++) {
		if (list[i].best > 0)
			print_line(b, phase, &list[i]);
		all += list[i].best * (double)list[i].calls;
	}
	if (b->json)
		printf("{\"phase\":\"%s\",\"size\":\"%s\",\"sum_ms\":%.3f,\"slow_products\":%lld}"
		       "\n",
		       phase, b->size, all * 1e3, (long long)slow_products);
	else
		printf("all calls together %.3f ms\n", all * 1e3);
	if (slow_products)
		fprintf(stderr, "bench_ops: " MODEL_SLOW_PRODUCTS "\n");
	fflush(stdout);
}

static void print_roof(const struct bench *b)
{
	const struct roof *r = &b->roof;

	if (b->json)
		printf("{\"roof\":\"%s\",\"threads\":%d,\"fp32_gflops\":%.1f,\"bf16_gflops\":%.1f,"
		       "\"int8_gops\":%.1f,\"memory_gbs\":%.1f,\"size\":\"%s\"}\n",
		       r->units, r->threads, r->fp32 * 1e-9, r->bf16 * 1e-9, r->int8 * 1e-9,
		       r->memory * 1e-9, b->size);
	else
		printf("roof of %d threads, %s: fp32 %.1f GFLOP/s, bf16 %.1f, int8 %.1f GOP/s, "
		       "memory %.1f GB/s; shapes of %s\n",
		       r->threads, r->units, r->fp32 * 1e-9, r->bf16 * 1e-9, r->int8 * 1e-9,
		       r->memory * 1e-9, b->size);
	fflush(stdout);
}

/* ---- a training step, a decoding --------------------------------------------------- */

static int shape_of(const struct bench *b, struct model_shape *shape, struct err *e)
{
	const int32_t vocabulary = (int32_t)b->vocabulary;
	struct conf conf;
	int rc = conf_init(&conf, e);

	if (rc)
		return rc;
	if (!(rc = conf_set(&conf, "size", b->size, "command line", e))) {
		conf_apply_size(&conf);
		*shape = (struct model_shape){ .vocabulary = vocabulary,
					       .real_vocabulary = vocabulary };
		rc = model_shape_from_conf(shape, &conf, e);
	}
	conf_free(&conf);
	return rc;
}

static int train_step(const struct bench *b, struct op_times *t, struct err *e)
{
	struct rig_how how = { .backend = b->backend,
			       .ops = op_times_ops(t),
			       .tokens = (int32_t)b->tokens,
			       .threads = (int)b->threads,
			       .bf16 = strcmp(b->precision, "fp32") != 0,
			       .dropout = 0.1f,
			       .rate = 1e-4,
			       .graphs = true };
	const int32_t vocabulary = (int32_t)b->vocabulary;
	struct rig r = { 0 };
	struct model_sums sums;
	struct shard *shard = NULL;
	char *path = file_path(e, "%s/train.shard", b->folder);
	int rc;

	if (!path)
		return e->code;
	if (b->variant) {
		how.ways = b->variant->ways;
		how.has_no_relu_dropout = b->variant->has_no_relu_dropout;
	}
	if (!(rc = shape_of(b, &how.shape, e)))
		rc = rig_make_shard(path, vocabulary, MADE_UP, e);
	if (!rc)
		rc = (how.shard = shard = shard_open(path, e)) ? 0 : e->code;
	if (!rc && !(rc = rig_open(&r, &how, e)) && !(rc = rig_step(&r, 0, &sums, e))) {
		op_times_start(t);
		rc = rig_step(&r, 1, &sums, e);
	}
	if (!rc)
		print_results(b, "training", t, model_count_slow_products(r.m));
	rig_close(&r);
	if (shard)
		shard_close(shard);
	free(path);
	return rc;
}

static int decode_batch(const struct bench *b, struct op_times *t, struct err *e)
{
	struct decode_rig r = { .ops = op_times_ops(t),
				.size = b->size,
				.precision = b->precision,
				.vocabulary = b->vocabulary,
				.beam = b->beam,
				.sentences = b->sentences,
				.length = b->length,
				.threads = b->threads,
				.workers = 1,
				.graphs = true };
	int64_t tokens;
	int rc = decode_rig_open(&r, e);

	if (!rc && !(rc = decode_rig_run(&r, &tokens, e))) {
		op_times_start(t);
		rc = decode_rig_run(&r, &tokens, e);
	}
	if (!rc)
		print_results(b, "decoding", t, model_count_slow_products(r.m));
	decode_rig_close(&r);
	return rc;
}

static int call_options(const struct bench *b, struct op_times *t, struct err *e)
{
	struct model_shape shape = { 0 };
	int rc = shape_of(b, &shape, e);
	const struct option_sizes sizes = { .tokens = b->tokens,
					    .d_model = shape.d_model,
					    .d_ff = shape.d_ff,
					    .heads = shape.heads,
					    .sentence = b->length,
					    .rows = b->sentences * b->beam,
					    .threads = (int)b->threads,
					    .bf16 = strcmp(b->precision, "fp32") != 0 };

	if (rc)
		return rc;
	op_times_start(t);
	if (!(rc = bench_ops_call_options(op_times_ops(t), &sizes, e)))
		print_results(b, "options", t, 0);
	return rc;
}

/* ---- the program -------------------------------------------------------------------- */

static int measure_roof(struct bench *b, bool gpu, struct err *e)
{
	struct dev_options options = { .threads = (int)b->threads };
	struct dev *d[2] = { NULL, NULL };
	int rc = 0;

	if (!gpu)
		return roof_measure(&b->roof, (int)b->threads, e);
	for (int i = 0; !rc && i < 2; i++) {
		options.bf16 = i == 1;
		rc = (d[i] = b->ops->open(&options, e)) ? 0 : e->code;
	}
	if (!rc)
		rc = roof_of_device(&b->roof, b->ops, d, b->roof_side, e);
	for (int i = 0; i < 2; i++)
		b->ops->close(d[i]);
	return rc;
}

static int run(struct bench *b, struct err *e)
{
	static const struct {
		const char *name;
		int (*time)(const struct bench *b, struct op_times *t, struct err *e);
	} phases[] = { { "training", train_step },
		       { "decoding", decode_batch },
		       { "options", call_options } };
	const bool gpu = !strcmp(b->backend, "cuda");
	struct op_times_how how = { .repeats = (int)b->repeats,
				    .calls = b->calls ? b->calls
					     : gpu    ? 20
						      : 1,
				    .words = (const char *const *)b->words,
				    .n_words = b->n_words };
	struct dev_info facts;
	struct op_times *t;
	int rc = 0;

	if (!(b->ops = ops_find(b->backend, e)) || measure_roof(b, gpu, e))
		return e->code;
	print_roof(b);
	if (b->ops->query_device && !b->ops->query_device(0, &facts, e))
		snprintf(b->gpu, sizeof(b->gpu), "%s", facts.name);
	how.processor_time = !gpu && b->roof.threads == 1;
	for (size_t i = 0; i < ARRAY_LEN(phases) && !rc; i++) {
		if (*b->only && strcmp(b->only, phases[i].name) != 0)
			continue;
		if (!(t = op_times_new(b->ops, &how, e)))
			return e->code;
		rc = phases[i].time(b, t, e);
		op_times_free(t);
	}
	return rc;
}

int main(int argc, char **argv)
{
	const char *variant = NULL;
	struct bench b = { .size = "tiny",
			   .backend = "cpu",
			   .precision = "bf16",
			   .only = "",
			   .vocabulary = 32768,
			   .tokens = 4096,
			   .beam = 4,
			   .sentences = 32,
			   .length = 25,
			   .repeats = 15,
			   .roof_side = 8192,
			   .folder = "/tmp/werkbank-bench-XXXXXX" };
	const struct bench_option options[] = {
		{ "size", &b.size, NULL, NULL, "tiny, base or big" },
		{ "backend", &b.backend, NULL, NULL, "cpu or cuda" },
		{ "precision", &b.precision, NULL, NULL, "fp32, bf16 or int8" },
		{ "only", &b.only, NULL, NULL, "training, decoding or options" },
		{ "vocabulary", NULL, &b.vocabulary, NULL, "entries, 64 to 10^6, a multiple of 8" },
		{ "tokens", NULL, &b.tokens, NULL, "of a batch in training, 256 to 2^20" },
		{ "beam", NULL, &b.beam, NULL, "of decoding" },
		{ "batch", NULL, &b.sentences, NULL, "sentences decoded at a time, 1 to 4096" },
		{ "length", NULL, &b.length, NULL, "tokens of a decoded sentence, 1 to 4096" },
		{ "threads", NULL, &b.threads, NULL, "0: all cores" },
		{ "repeats", NULL, &b.repeats, NULL, "runs of each op, 1 to 100" },
		{ "calls", NULL, &b.calls, NULL, "in a run; 0: 1 on a CPU, 20 on a GPU" },
		{ "roof", NULL, &b.roof_side, NULL, "side of the products that show a GPU's roof" },
		{ "variant", &variant, NULL, NULL, "another way to compute a training step" },
		{ "json", NULL, NULL, &b.json, "print one JSON object a line" },
	};
	struct err e = { 0 }, ignored;
	int rc;

	argc = bench_parse("bench_ops [WORD]...", options, ARRAY_LEN(options), argc, argv);
	b.variant = variant ? train_variant_find(variant) : NULL;
	if (variant && !b.variant) {
		fprintf(stderr,
			"bench_ops: no variant \"%s\"; bench_train --variants prints their names\n",
			variant);
		return 64;
	}
	b.words = argv + 1;
	b.n_words = argc - 1;
	b.repeats = MAX(1, MIN(b.repeats, OP_TIMES_MAX));
	b.tokens = MAX(256, MIN(b.tokens, 1 << 20));
	b.vocabulary = MAX(64, MIN(b.vocabulary, 1000000)) / 8 * 8;
	b.sentences = MAX(1, MIN(b.sentences, 4096));
	b.length = MAX(1, MIN(b.length, 4096));
	b.beam = MAX(1, MIN(b.beam, DECODE_MAX_BEAM));
	if (!mkdtemp(b.folder))
		return 73;
	rc = run(&b, &e);
	if (rc)
		fprintf(stderr, "bench_ops: %s\n", e.text);
	file_remove_tree(b.folder, &ignored);
	return err_exit_status(rc);
}
