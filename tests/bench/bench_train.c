/*
 * bench_train.c - how fast training is, in target tokens per second.
 *
 *	tests/bench_train [SOURCE TARGET] [--size tiny|base|big] [--vocabulary 32768] [--tokens 4096]
 *			  [--seconds 20] [--threads 0] [--precision fp32|bf16] [--backend cpu|cuda] [--profile]
 *			  [--forecast-threads N] [--roof 8192] [--no-graphs] [--shapes BATCHES] [--variant NAME] [--variants] [--json]
 *
 * SOURCE and TARGET are text in BPE pieces; without them sentences are random: tokens by Zipf's law,
 * lengths as in WMT's training text. Batches come from the loader. A step is forward, backward,
 * gradient norm and Adam; two steps warm up. cpu_s is processor time of a step, summed over threads; it
 * is the better number if other work runs on the machine.
 *
 * FLOPs count matrix products and attention. The roof (roof.h) is measured just before: of a CPU the
 * vector units or the tile unit (AMX), whichever products use; of a GPU the library's large products.
 *
 * --forecast-threads computes on one thread and says how long a step would take on N (thread_forecast.h); with
 * --profile the table has the times of that forecast.
 *
 * On a GPU it trains with CUDA graphs; --no-graphs: op by op. Only --profile waits after each op. --shapes trains
 * nothing: it prints the number of graphs for BATCHES batches, and the padding rows they add.
 * --variant: another way to compute a step (train_variants.c); --variants prints their names.
 * tests/peers/pytorch_train.py measures the same with PyTorch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/words/vocab.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "tests/bench/bench.h"
#include "tests/bench/roof.h"
#include "tests/bench/thread_forecast.h"
#include "tests/bench/train_variants.h"
#include "tests/train/rig.h"
#include "train/model/model_internal.h"

#define WARM_UP	  2
#define MAX_WORDS 250
#define MADE_UP	  20000 /* random sentences */

struct bench {
	struct conf conf;
	const char *source, *target, *size, *precision, *backend;
	int64_t tokens, threads, seconds, vocabulary, roof_side;
	int64_t shapes, forecast_threads;
	const struct train_variant *variant; /* NULL: the backend's own way */
	bool json, profile, no_graphs;
	char folder[200];
	struct vocab *vocab; /* NULL: random sentences */
	struct shard *shard;
};

static int each_piece(const char *line,
		      int (*use)(void *arg, const char *piece, size_t n, struct err *e), void *arg,
		      struct err *e)
{
	int rc = 0;

	while (!rc && *line) {
		size_t n = strcspn(line, " ");

		if (n)
			rc = use(arg, line, n, e);
		line += n + (line[n] == ' ');
	}
	return rc;
}

static int count_piece(void *arg, const char *piece, size_t n, struct err *e)
{
	return vocab_count(arg, piece, n, 1, e);
}

static int count_file(struct vocab_counter *counter, const char *path, struct err *e)
{
	struct lines in;
	int got = lines_open(&in, path, e);

	if (got)
		return got;
	while ((got = lines_next(&in, e)) > 0)
		if ((got = each_piece(in.text, count_piece, counter, e)))
			break;
	lines_close(&in);
	return got;
}

struct words {
	const struct vocab *vocab;
	int32_t ids[MAX_WORDS], n;
};

static int add_word(void *arg, const char *piece, size_t n, struct err *e)
{
	struct words *w = arg;

	(void)e;
	if (w->n < MAX_WORDS)
		w->ids[w->n++] = vocab_id(w->vocab, piece, n);
	return 0;
}

static int make_shard(struct bench *b, const char *path, struct err *e)
{
	struct lines source, target;
	struct shard_writer *w =
		shard_create(path, vocab_size(b->vocab), vocab_sha256(b->vocab), e);
	int rc = w ? 0 : e->code;

	if (rc || (rc = lines_open(&source, b->source, e)))
		return rc;
	if ((rc = lines_open(&target, b->target, e)))
		return rc;
	while (!rc && lines_next(&source, e) > 0 && lines_next(&target, e) > 0) {
		struct words x = { .vocab = b->vocab }, y = { .vocab = b->vocab };

		each_piece(source.text, add_word, &x, e);
		each_piece(target.text, add_word, &y, e);
		if (x.n && y.n)
			rc = shard_append(w, x.ids, x.n, y.ids, y.n, e);
	}
	lines_close(&source);
	lines_close(&target);
	return rc ? rc : shard_finish(w, e);
}

static int prepare_text(struct bench *b, const char *shard, struct err *e)
{
	struct vocab_counter *counter = vocab_counter_new(e);
	char *vocab = file_path(e, "%s/vocab.tsv", b->folder);
	int rc = counter && vocab ? 0 : e->code;

	if (!rc)
		rc = count_file(counter, b->source, e);
	if (!rc)
		rc = count_file(counter, b->target, e);
	if (!rc)
		rc = vocab_write(counter, vocab, e);
	if (!rc && !(b->vocab = vocab_open(vocab, e)))
		rc = e->code;
	if (!rc)
		rc = make_shard(b, shard, e);
	if (!rc)
		b->vocabulary = vocab_size(b->vocab);
	vocab_counter_free(counter);
	free(vocab);
	return rc;
}

static int prepare(struct bench *b, struct err *e)
{
	char *shard = file_path(e, "%s/train.shard", b->folder);
	int rc = shard ? 0 : e->code;

	if (!rc)
		rc = b->source ? prepare_text(b, shard, e)
			       : rig_make_shard(shard, (int32_t)b->vocabulary, MADE_UP, e);
	if (!rc && !(b->shard = shard_open(shard, e)))
		rc = e->code;
	free(shard);
	return rc;
}

static int describe(struct bench *b, struct rig_how *how, struct err *e)
{
	const bool gpu = !strcmp(b->backend, "cuda");

	*how = (struct rig_how){
		.backend = b->backend,
		.shard = b->shard,
		.tokens = (int32_t)b->tokens,
		.threads = (int)(b->forecast_threads ? b->forecast_threads : b->threads),
		.bf16 = !strcmp(b->precision, "bf16"),
		.dropout = 0.1f,
		.rate = 1e-4,
		.timed = b->profile || !gpu,
		.graphs = gpu && !b->profile && !b->no_graphs,
	};
	if (b->variant) {
		how->ways = b->variant->ways;
		how->has_no_relu_dropout = b->variant->has_no_relu_dropout;
	}
	how->shape.vocabulary = (int32_t)b->vocabulary;
	how->shape.real_vocabulary = b->vocab ? vocab_real_size(b->vocab) : (int32_t)b->vocabulary;
	return model_shape_from_conf(&how->shape, &b->conf, e);
}

struct tally {
	double target, source, seconds, cpu;
	double loss;			/* of the last step, per token */
	double flops;			/* of all steps */
	double forecast;		/* seconds of all steps with --forecast-threads */
	double in_matmul, matmul_flops; /* 0: unknown */
	int steps;
};

static void add_up(struct tally *t, struct rig *r)
{
	size_t n = 0;
	const struct profile_entry *list = r->profile ? profile_entries(r->profile, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		t->flops += list[i].flops;
		if (!strcmp(list[i].op, "matmul") && r->how.timed) {
			t->in_matmul += list[i].seconds;
			t->matmul_flops += list[i].flops;
		}
	}
}

/* FLOPs of a batch, as profiles count them: products, and pairs of a query and a key in attention. */
static double flops_of(const struct model_shape *s, const struct batch *b)
{
	double source, target, pairs = 0;

	model_product_weights(s, &source, &target);
	for (int32_t i = 0; i < b->n; i++) {
		const double x = b->source_start[i + 1] - b->source_start[i],
			     y = b->target_start[i + 1] - b->target_start[i];

		pairs += s->encoder_layers * x * x + s->decoder_layers * (y * (y + 1) / 2 + x * y);
	}
	return 6 * (b->n_source * source + b->n_target * target) + 14.0 * s->d_model * pairs;
}

/* Share of the roof for the processor time used, so that other work on the machine does not matter. */
static double cpu_share(const struct tally *t, const struct roof *roof, double peak)
{
	return t->flops / t->cpu / (peak / roof->threads);
}

static double rate(double work, double seconds)
{
	return seconds > 0 ? work / seconds : 0;
}

/* GPU memory in use on the whole device, that of graphs and of the driver included. 0: none. */
static double device_gib(const struct rig *r)
{
	const struct ops *o = model_get_ops(r->m);
	struct dev_info facts;
	struct err ignored;

	if (!o->query_device || o->query_device(0, &facts, &ignored))
		return 0;
	return (double)(facts.total_bytes - facts.free_bytes) / (double)((int64_t)1 << 30);
}

static void print_json(const struct bench *b, const struct tally *t, struct rig *r,
		       const struct roof *roof, double peak)
{
	printf("{\"tool\":\"%s\",\"variant\":\"%s\",\"size\":\"%s\",\"precision\":\"%s\",\"batch_"
	       "tokens\":%lld,"
	       "\"vocabulary\":%lld,\"parameters\":%lld,\"steps\":%d,\"seconds\":%.3f,"
	       "\"target_tokens_per_second\":%.1f,\"source_tokens_per_second\":%.1f,"
	       "\"target_tokens_per_cpu_second\":%.1f,\"step_s\":%.4f,\"cpu_s\":%.4f,"
	       "\"loss\":%.4f,\"grad_norm\":%.4f,\"step_gflop\":%.2f,\"gflops\":%.1f,"
	       "\"roof_gflops\":%.1f,\"roof_share\":%.4f,\"matmul_gflops\":%.1f,"
	       "\"matmul_roof_share\":%.4f,\"cpu_roof_share\":%.4f,\"roof_memory_gbs\":%.1f,"
	       "\"slow_products\":%lld,\"device_gib\":%.3f}\n",
	       b->no_graphs ? "werkbank, no graphs" : "werkbank",
	       b->variant ? b->variant->name : "", b->size, b->precision, (long long)b->tokens,
	       (long long)b->vocabulary, (long long)model_floats(r->m), t->steps, t->seconds,
	       t->target / t->seconds, t->source / t->seconds, t->target / t->cpu,
	       t->seconds / t->steps, t->cpu / t->steps, t->loss, r->norm,
	       t->flops / t->steps * 1e-9, t->flops / t->seconds * 1e-9, peak * 1e-9,
	       t->flops / t->seconds / peak, rate(t->matmul_flops, t->in_matmul) * 1e-9,
	       rate(t->matmul_flops, t->in_matmul) / peak, cpu_share(t, roof, peak),
	       roof->memory * 1e-9, (long long)model_count_slow_products(r->m), device_gib(r));
}

static void print(const struct bench *b, const struct tally *t, struct rig *r,
		  const struct roof *roof)
{
	const double peak = !strcmp(b->precision, "bf16") ? roof->bf16 : roof->fp32;

	if (b->profile)
		profile_print(stderr, r->profile, b->forecast_threads ? t->forecast : t->seconds,
			      t->steps, NULL);
	if (model_count_slow_products(r->m))
		fprintf(stderr, "bench_train: " MODEL_SLOW_PRODUCTS "\n");
	if (b->json) {
		print_json(b, t, r, roof, peak);
		return;
	}
	printf("%s %s, vocabulary %lld, %lld tokens a batch: %.0f target and %.0f source "
	       "tokens/s, %.3f s a step (%.3f s of CPU), loss %.3f after %d steps\n",
	       b->size, b->precision, (long long)b->vocabulary, (long long)b->tokens,
	       t->target / t->seconds, t->source / t->seconds, t->seconds / t->steps,
	       t->cpu / t->steps, t->loss, t->steps + WARM_UP);
	printf("%.1f GFLOP a step: %.1f GFLOP/s, %.1f %% of the roof of %.1f with %d threads (%s); "
	       "inside matrix products %.1f GFLOP/s, %.1f %%; by processor time %.1f %%\n",
	       t->flops / t->steps * 1e-9, t->flops / t->seconds * 1e-9,
	       t->flops / t->seconds / peak * 100, peak * 1e-9, roof->threads, roof->units,
	       rate(t->matmul_flops, t->in_matmul) * 1e-9,
	       rate(t->matmul_flops, t->in_matmul) / peak * 100, cpu_share(t, roof, peak) * 100);
}

static void print_forecast(const struct bench *b, const struct tally *t)
{
	if (!b->forecast_threads)
		return;
	printf("forecast for %lld threads: %.4f s a step, %.1f times as fast as one (%.0f %% of "
	       "%lld), %.1f us a loop; without limits of memory bandwidth\n",
	       (long long)b->forecast_threads, t->forecast / t->steps, t->cpu / t->forecast,
	       100 * t->cpu / t->forecast / (double)b->forecast_threads,
	       (long long)b->forecast_threads,
	       1e6 * thread_forecast_cost((int)b->forecast_threads));
}

static int steps(struct bench *b, struct rig *r, struct tally *t, struct err *e)
{
	double begun = 0, cpu = 0, forecast_begun = 0;
	int rc = 0;

	for (int i = 0; !rc && (i <= WARM_UP || t->seconds < (double)b->seconds); i++) {
		struct model_sums sums;

		if (i == WARM_UP) {
			*t = (struct tally){ 0 };
			if (r->profile)
				profile_clear(r->profile);
			begun = clock_mono_s();
			forecast_begun = thread_forecast_now();
			cpu = (double)clock();
		}
		rc = rig_step(r, i, &sums, e);
		t->loss = sums.loss / (double)sums.tokens;
		t->target += (double)sums.tokens;
		t->source += r->batch.n_source;
		t->flops += r->profile ? 0 : flops_of(&r->how.shape, &r->batch);
		t->steps++;
		t->seconds = i < WARM_UP ? 0 : clock_mono_s() - begun;
		t->forecast = thread_forecast_now() - forecast_begun;
	}
	t->cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;
	add_up(t, r);
	return rc;
}

static int measure_device(const struct bench *b, struct roof *roof, struct err *e)
{
	const struct ops *o = ops_find(b->backend, e);
	struct dev_options options = { 0 };
	struct dev *d[2] = { NULL, NULL };
	int rc = o ? 0 : e->code;

	for (int i = 0; !rc && i < 2; i++) {
		options.bf16 = i == 1;
		rc = (d[i] = o->open(&options, e)) ? 0 : e->code;
	}
	if (!rc)
		rc = roof_of_device(roof, o, d, b->roof_side, e);
	for (int i = 0; o && i < 2; i++)
		o->close(d[i]);
	return rc;
}

/* A padded shape that was seen, as bytes. */
struct shape {
	struct batch_extent x;
	int64_t times;
};

static void note_shape(struct shape *list, int64_t *n, struct batch_extent x)
{
	int64_t i = 0;

	while (i < *n && memcmp(&list[i].x, &x, sizeof(x)) != 0)
		i++;
	if (i == *n)
		list[(*n)++] = (struct shape){ .x = x };
	list[i].times++;
}

static int count_shapes(const struct bench *b, struct err *e)
{
	struct loader_options order = { .seed = 1, .batch_tokens = (int32_t)b->tokens, .ranks = 1 };
	struct loader *loader = loader_new(b->shard, &order, e);
	struct shape *list = mem_alloc((size_t)b->shapes, sizeof(*list), e);
	struct batch batch = { 0 };
	int64_t n = 0, often = 0, rows[2] = { 0 }, real[2] = { 0 };
	int rc = loader && list
			 ? batch_alloc(&batch, loader_max_sentences(loader), (int32_t)b->tokens, e)
			 : e->code;

	for (int64_t i = 0; !rc && i < b->shapes && !(rc = loader_next(loader, &batch, e)); i++) {
		const struct batch_extent x = model_extent(&batch, (int32_t)b->tokens, true);

		note_shape(list, &n, x);
		rows[0] += x.source;
		rows[1] += x.target;
		real[0] += batch.n_source;
		real[1] += batch.n_target;
	}
	for (int64_t i = 0; i < n; i++)
		often += list[i].times > 8 ? list[i].times : 0;
	if (!rc)
		printf("%lld batches of %lld tokens: %lld shapes; of those that came more than 8 "
		       "times are %.1f %% of the batches; %.2f %% rows more of source, %.2f %% of "
		       "target\n",
		       (long long)b->shapes, (long long)b->tokens, (long long)n,
		       100.0 * (double)often / (double)b->shapes,
		       100.0 * (double)(rows[0] - real[0]) / (double)real[0],
		       100.0 * (double)(rows[1] - real[1]) / (double)real[1]);
	batch_free(&batch);
	free(list);
	if (loader)
		loader_free(loader);
	return rc;
}

static int run(struct bench *b, struct err *e)
{
	struct rig r = { 0 };
	struct rig_how how;
	struct roof roof;
	struct tally t = { 0 };
	int rc = describe(b, &how, e);

	if (b->shapes)
		return rc ? rc : count_shapes(b, e);
	if (!rc)
		rc = strcmp(b->backend, "cuda")
			     ? roof_measure(&roof, b->forecast_threads ? 1 : (int)b->threads, e)
			     : measure_device(b, &roof, e);
	if (!rc)
		rc = rig_open(&r, &how, e);
	if (!rc && b->forecast_threads) {
		thread_forecast_start();
		profile_set_clock(r.profile, thread_forecast_now);
	}
	if (!rc)
		rc = steps(b, &r, &t, e);
	if (!rc) {
		print(b, &t, &r, &roof);
		print_forecast(b, &t);
	}
	thread_forecast_stop();
	rig_close(&r);
	return rc;
}

static int print_variants(void)
{
	int n;
	const struct train_variant *list = train_variants(&n);

	for (int i = 0; i < n; i++)
		puts(list[i].name);
	return 0;
}

int main(int argc, char **argv)
{
	const char *variant = NULL;
	bool list_variants = false;
	struct bench b = { .size = "tiny",
			   .precision = "bf16",
			   .backend = "cpu",
			   .tokens = 4096,
			   .seconds = 20,
			   .vocabulary = 32768,
			   .roof_side = 8192,
			   .folder = "/tmp/werkbank-bench-XXXXXX" };
	const struct bench_option options[] = {
		{ "size", &b.size, NULL, NULL, "tiny, base or big" },
		{ "vocabulary", NULL, &b.vocabulary, NULL, "entries, for sentences made up" },
		{ "tokens", NULL, &b.tokens, NULL, "tokens a side of a batch" },
		{ "seconds", NULL, &b.seconds, NULL, "measure for so long" },
		{ "threads", NULL, &b.threads, NULL, "0: all cores" },
		{ "forecast-threads", NULL, &b.forecast_threads, NULL,
		  "forecast a step on so many threads" },
		{ "precision", &b.precision, NULL, NULL, "fp32 or bf16" },
		{ "backend", &b.backend, NULL, NULL, "cpu, ref or cuda" },
		{ "roof", NULL, &b.roof_side, NULL, "side of the products that show a GPU's roof" },
		{ "variant", &variant, NULL, NULL, "another way to compute a step" },
		{ "variants", NULL, NULL, &list_variants, "only print the names of the ways" },
		{ "no-graphs", NULL, NULL, &b.no_graphs, "on a GPU op by op, not by graphs" },
		{ "shapes", NULL, &b.shapes, NULL, "only count the shapes of so many batches" },
		{ "profile", NULL, NULL, &b.profile, "where the time goes, on standard error" },
		{ "json", NULL, NULL, &b.json, "print one JSON object" },
	};
	struct err e = { 0 }, ignored;
	int rc;

	argc = bench_parse("bench_train [SOURCE TARGET]", options, ARRAY_LEN(options), argc, argv);
	if (argc != 1 && argc != 3) {
		fputs("bench_train: give both SOURCE and TARGET, or neither\n", stderr);
		return 64;
	}
	if (list_variants)
		return print_variants();
	b.variant = variant ? train_variant_find(variant) : NULL;
	if (variant && !b.variant) {
		fprintf(stderr, "bench_train: no variant \"%s\"; --variants prints their names\n",
			variant);
		return 64;
	}
	b.source = argc == 3 ? argv[1] : NULL;
	b.target = argc == 3 ? argv[2] : NULL;
	if (!mkdtemp(b.folder))
		return 73;
	rc = conf_init(&b.conf, &e);
	if (!rc)
		rc = conf_set(&b.conf, "size", b.size, "command line", &e);
	conf_apply_size(&b.conf);
	if (!rc)
		rc = prepare(&b, &e);
	if (!rc)
		rc = run(&b, &e);
	if (rc)
		fprintf(stderr, "bench_train: %s\n", e.text);
	if (b.shard)
		shard_close(b.shard);
	vocab_close(b.vocab);
	conf_free(&b.conf);
	file_remove_tree(b.folder, &ignored);
	return err_exit_status(rc);
}
