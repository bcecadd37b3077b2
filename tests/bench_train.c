/*
 * bench_train.c - how fast training is, in target tokens per second.
 *
 *	tests/bench_train SOURCE TARGET [size=tiny|base|big] [precision=fp32|bf16] [tokens=4096]
 *			  [threads=0] [steps=10] [backend=cpu]
 *
 * SOURCE and TARGET are text in BPE pieces. The batches are those of the
 * loader; a step is forward, backward, norm and Adam. Three steps warm up. One
 * JSON object goes to standard output; cpu_s is processor time a step over all
 * threads, which says more on a machine that does other things too.
 * tests/peers/pytorch_train.py is the same with PyTorch.
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
#include "train/adam.h"
#include "train/model.h"

#define WARM_UP   3
#define MAX_WORDS 250

struct bench {
	struct conf conf;
	const char *source, *target, *size, *precision, *backend;
	int tokens, threads, steps;
	char folder[200];
	struct vocab *vocab;
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

static int prepare(struct bench *b, struct err *e)
{
	struct vocab_counter *counter = vocab_counter_new(e);
	char *vocab = file_path(e, "%s/vocab.tsv", b->folder),
	     *shard = file_path(e, "%s/train.shard", b->folder);
	int rc = counter && vocab && shard ? 0 : e->code;

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
	if (!rc && !(b->shard = shard_open(shard, e)))
		rc = e->code;
	vocab_counter_free(counter);
	free(vocab);
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
	struct loader_options order = { .seed = 1, .batch_tokens = b->tokens, .ranks = 1 };
	struct dev_options options = {.threads = b->threads, .bf16 = !strcmp(b->precision, "bf16")};
	const struct ops *ops = ops_find(b->backend, e);
	struct model_shape shape;

	r->loader = loader_new(b->shard, &order, e);
	if (!ops || !r->loader ||
	    model_shape_from_conf(&shape, &b->conf, vocab_size(b->vocab), vocab_real_size(b->vocab),
				  e))
		return e->code;
	r->m = model_new(&shape, ops, &options, e);
	if (!r->m || model_reserve_training(r->m, b->tokens, loader_max_sentences(r->loader), e) ||
	    model_init(r->m, 1, e) || adam_open(&r->adam, r->m, 0.9, 0.98, 1e-9, e) ||
	    batch_alloc(&r->batch, loader_max_sentences(r->loader), b->tokens, e))
		return e->code;
	return 0;
}

static int run(struct bench *b, struct err *e)
{
	struct model_how how = {.dropout = 0.1f,
				.attention_dropout = 0.1f,
				.relu_dropout = 0.1f,
				.smoothing = 0.1f,
				.grad_scale = 1,
				.seed = 1};
	struct rig r = { 0 };
	double tokens = 0, source = 0, begun = 0, norm = 0, cpu = 0;
	struct model_sums sums = { 0 };
	int rc = open_rig(&r, b, e);

	for (int step = 0; !rc && step < WARM_UP + b->steps; step++) {
		if (step == WARM_UP) {
			tokens = source = 0;
			begun = clock_mono_s();
			cpu = (double)clock();
		}
		how.step = (uint32_t)step;
		model_get_ops(r.m)->zero(model_get_dev(r.m), model_grad_arena(r.m),
					 (size_t)model_floats(r.m) * 4);
		rc = loader_next(r.loader, &r.batch, e);
		if (!rc)
			rc = model_forward_backward(r.m, &r.batch, &how, &sums, e);
		norm = adam_grad_norm(&r.adam);
		adam_apply(&r.adam, step, 1e-4, 1.0 / (double)sums.tokens);
		tokens += (double)sums.tokens;
		source += r.batch.n_source;
	}
	if (!rc) {
		double s = clock_mono_s() - begun;

		cpu = ((double)clock() - cpu) / CLOCKS_PER_SEC;

		printf("{\"tool\":\"werkbank\",\"size\":\"%s\",\"precision\":\"%s\",\"batch_"
		       "tokens\":%d,\"vocabulary\":%d,"
		       "\"parameters\":%lld,\"target_tps\":%.1f,\"source_tps\":%.1f,\"step_s\":%."
		       "4f,\"cpu_s\":%.4f,\"loss\":%.4f,"
		       "\"grad_norm\":%.4f}\n",
		       b->size, b->precision, b->tokens, vocab_size(b->vocab),
		       (long long)model_floats(r.m), tokens / s, source / s, s / b->steps,
		       cpu / b->steps, sums.loss / (double)sums.tokens, norm / (double)sums.tokens);
	}
	adam_close(&r.adam);
	model_free(r.m);
	batch_free(&r.batch);
	if (r.loader)
		loader_free(r.loader);
	return rc;
}

/* name=value */
static void take(struct bench *b, const char *argument)
{
	const struct { const char *name; const char **text; int *number;
	} known[] = {
		{"size=", &b->size, NULL},	 {"precision=", &b->precision, NULL},
		{"backend=", &b->backend, NULL}, {"tokens=", NULL, &b->tokens},
		{"threads=", NULL, &b->threads}, {"steps=", NULL, &b->steps},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		size_t n = strlen(known[i].name);

		if (strncmp(argument, known[i].name, n) != 0)
			continue;
		if (known[i].text)
			*known[i].text = argument + n;
		else
			*known[i].number = (int)strtol(argument + n, NULL, 10);
	}
}

int main(int argc, char **argv)
{
	struct bench b = {.size = "tiny",
			  .precision = "bf16",
			  .backend = "cpu",
			  .tokens = 4096,
			  .steps = 10,
			  .folder = "/tmp/werkbank-bench-XXXXXX"};
	struct err e = { 0 }, ignored;
	int rc;

	if (argc < 3) {
		fputs("usage: bench_train SOURCE TARGET [size=] [precision=] [tokens=] [threads=] "
		      "[steps=] [backend=]\n",
		      stderr);
		return 64;
	}
	b.source = argv[1];
	b.target = argv[2];
	for (int i = 3; i < argc; i++)
		take(&b, argv[i]);
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
	if (b.vocab)
		vocab_close(b.vocab);
	conf_free(&b.conf);
	file_remove_tree(b.folder, &ignored);
	return err_exit_status(rc);
}
