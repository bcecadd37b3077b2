/*
 * bench_train.c - how fast training is, in target tokens per second.
 *
 *	tests/bench_train [SOURCE TARGET] [--size tiny|base|big] [--vocabulary 32768] [--tokens 4096]
 *			  [--seconds 20] [--threads 0] [--precision fp32|bf16] [--backend cpu] [--json]
 *
 * SOURCE and TARGET are text in BPE pieces; without them sentences are made up: Zipf's
 * distribution of tokens, lengths as in WMT's training text. The batches are those
 * of the loader; a step is forward, backward, norm and Adam. Two steps warm up. cpu_s is
 * processor time a step over all threads, which says more on a machine that does
 * other things too. tests/peers/pytorch_train.py is the same with PyTorch.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data/loader.h"
#include "data/shard.h"
#include "data/vocab.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "train/adam.h"
#include "train/model.h"
#include "tests/bench.h"

#define WARM_UP   2
#define MAX_WORDS 250
#define MADE_UP   20000		/* sentences */

struct bench {
	struct conf conf;
	const char *source, *target, *size, *precision, *backend;
	int64_t tokens, threads, seconds, vocabulary;
	bool json;
	char folder[200];
	struct vocab *vocab;		/* NULL: sentences are made up */
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

/* Two numbers in (0, 1], the same ones for the same i. */
static void draw(uint32_t i, uint32_t j, double u[2])
{
	struct rng_block x = rng_block_at(rng_key_make(1, RNG_TEST, i, 0), j);

	u[0] = (x.v[0] + 1.0) / 4294967296.0;
	u[1] = (x.v[1] + 1.0) / 4294967296.0;
}

static void make_up(int32_t *ids, int32_t n, uint32_t sentence, int64_t vocabulary)
{
	for (int32_t i = 0; i < n; i++) {
		double u[2];

		draw(sentence, 1 + (uint32_t)i, u);
		ids[i] = (int32_t)MIN(N_SPECIAL_TOKENS - 1 + pow((double)vocabulary, u[0]),
				      (double)vocabulary - 1);
	}
}

/* Lengths of WMT16 after BPE: log-normal, 26 tokens in the middle, 30 on average. */
static int prepare_made_up(struct bench *b, const char *shard, struct err *e)
{
	static const char no_file[HASH_SHA256_HEX] =
		"0000000000000000000000000000000000000000000000000000000000000000";
	struct shard_writer *w = shard_create(shard, (int32_t)b->vocabulary, no_file, e);
	int32_t ids[2][MAX_WORDS];
	int rc = w ? 0 : e->code;

	for (uint32_t i = 0; !rc && i < MADE_UP; i++) {
		double u[2], length;
		int32_t n[2];

		draw(i, 0, u);
		length = exp(log(26) + 0.55 * sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]));
		n[0] = (int32_t)MIN(MAX(length, 1), 100);
		draw(i, 999, u);
		n[1] = (int32_t)MIN(MAX(n[0] * (0.8 + 0.45 * u[0]), 1), 110);
		make_up(ids[0], n[0], 2 * i, b->vocabulary);
		make_up(ids[1], n[1], 2 * i + 1, b->vocabulary);
		rc = shard_append(w, ids[0], n[0], ids[1], n[1], e);
	}
	if (!rc)
		return shard_finish(w, e);
	shard_cancel(w);
	return rc;
}

static int prepare(struct bench *b, struct err *e)
{
	char *shard = file_path(e, "%s/train.shard", b->folder);
	int rc = shard ? 0 : e->code;

	if (!rc)
		rc = b->source ? prepare_text(b, shard, e) : prepare_made_up(b, shard, e);
	if (!rc && !(b->shard = shard_open(shard, e)))
		rc = e->code;
	free(shard);
	return rc;
}

struct rig {
	struct model *m;
	struct adam adam;
	struct loader *loader;
	struct batch batch;
};

static int open_rig(struct rig *r, struct bench *b, struct err *e)
{
	struct loader_options order = { .seed = 1, .batch_tokens = (int32_t)b->tokens,
					.ranks = 1 };
	struct dev_options options = { .threads = (int)b->threads,
				       .bf16 = !strcmp(b->precision, "bf16") };
	const struct ops *ops = ops_find(b->backend, e);
	struct model_shape shape;

	r->loader = loader_new(b->shard, &order, e);
	if (!ops || !r->loader ||
	    model_shape_from_conf(&shape, &b->conf, (int32_t)b->vocabulary,
				  b->vocab ? vocab_real_size(b->vocab) : (int32_t)b->vocabulary,
				  e))
		return e->code;
	r->m = model_new(&shape, ops, &options, e);
	if (!r->m || model_reserve_training(r->m, (int32_t)b->tokens,
					      loader_max_sentences(r->loader), e) ||
	    model_init(r->m, 1, e) || adam_open(&r->adam, r->m, 0.9, 0.98, 1e-9, e) ||
	    batch_alloc(&r->batch, loader_max_sentences(r->loader), (int32_t)b->tokens, e))
		return e->code;
	return 0;
}

struct tally {
	double target, source, seconds, cpu;
	double loss, norm;		/* of the last step, a token */
	int steps;
};

static int step(struct rig *r, int number, struct tally *t, struct err *e)
{
	struct model_how how = { .dropout = 0.1f, .attention_dropout = 0.1f, .relu_dropout = 0.1f,
				 .smoothing = 0.1f, .grad_scale = 1, .seed = 1,
				 .step = (uint32_t)number };
	struct model_sums sums = { 0 };

	model_get_ops(r->m)->zero(model_get_dev(r->m), model_grad_arena(r->m),
				  (size_t)model_floats(r->m) * sizeof(float));
	if (loader_next(r->loader, &r->batch, e) ||
	    model_forward_backward(r->m, &r->batch, &how, &sums, e))
		return e->code;
	t->norm = adam_grad_norm(&r->adam) / (double)sums.tokens;
	adam_apply(&r->adam, number, 1e-4, 1.0 / (double)sums.tokens);
	t->loss = sums.loss / (double)sums.tokens;
	t->target += (double)sums.tokens;
	t->source += r->batch.n_source;
	t->steps++;
	return 0;
}

static void print(const struct bench *b, const struct tally *t, int64_t parameters)
{
	if (!b->json) {
		printf("%s %s, vocabulary %lld, %lld tokens a batch: %.0f target and %.0f source "
		       "tokens/s, %.3f s a step (%.3f s of CPU), loss %.3f after %d steps\n",
		       b->size, b->precision, (long long)b->vocabulary, (long long)b->tokens,
		       t->target / t->seconds, t->source / t->seconds, t->seconds / t->steps,
		       t->cpu / t->steps, t->loss, t->steps + WARM_UP);
		return;
	}
	printf("{\"tool\":\"werkbank\",\"size\":\"%s\",\"precision\":\"%s\",\"batch_tokens\":%lld,"
	       "\"vocabulary\":%lld,\"parameters\":%lld,\"steps\":%d,\"seconds\":%.3f,"
	       "\"target_tokens_per_second\":%.1f,\"source_tokens_per_second\":%.1f,"
	       "\"target_tokens_per_cpu_second\":%.1f,\"step_s\":%.4f,\"cpu_s\":%.4f,"
	       "\"loss\":%.4f,\"grad_norm\":%.4f}\n",
	       b->size, b->precision, (long long)b->tokens, (long long)b->vocabulary,
	       (long long)parameters, t->steps, t->seconds, t->target / t->seconds,
	       t->source / t->seconds, t->target / t->cpu, t->seconds / t->steps, t->cpu / t->steps,
	       t->loss, t->norm);
}

static int run(struct bench *b, struct err *e)
{
	struct rig r = { 0 };
	struct tally t = { 0 };
	double begun = 0, cpu = 0;
	int rc = open_rig(&r, b, e);

	for (int i = 0; !rc && (i <= WARM_UP || t.seconds < (double)b->seconds); i++) {
		if (i == WARM_UP) {
			t = (struct tally){ 0 };
			begun = clock_mono_s();
			cpu = (double)clock();
		}
		rc = step(&r, i, &t, e);
		t.seconds = i < WARM_UP ? 0 : clock_mono_s() - begun;
	}
	t.cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;
	if (!rc)
		print(b, &t, model_floats(r.m));
	adam_close(&r.adam);
	model_free(r.m);
	batch_free(&r.batch);
	if (r.loader)
		loader_free(r.loader);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench b = { .size = "tiny", .precision = "bf16", .backend = "cpu", .tokens = 4096,
			   .seconds = 20, .vocabulary = 32768,
			   .folder = "/tmp/werkbank-bench-XXXXXX" };
	const struct bench_option options[] = {
		{ "size", &b.size, NULL, NULL, "tiny, base or big" },
		{ "vocabulary", NULL, &b.vocabulary, NULL, "entries, for sentences made up" },
		{ "tokens", NULL, &b.tokens, NULL, "tokens a side of a batch" },
		{ "seconds", NULL, &b.seconds, NULL, "measure for so long" },
		{ "threads", NULL, &b.threads, NULL, "0: all cores" },
		{ "precision", &b.precision, NULL, NULL, "fp32 or bf16" },
		{ "backend", &b.backend, NULL, NULL, "cpu, ref or cuda" },
		{ "json", NULL, NULL, &b.json, "print one JSON object" },
	};
	struct err e = { 0 }, ignored;
	int rc;

	argc = bench_parse("bench_train [SOURCE TARGET]", options, ARRAY_LEN(options), argc, argv);
	if (argc != 1 && argc != 3) {
		fputs("bench_train: give both SOURCE and TARGET, or neither\n", stderr);
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
