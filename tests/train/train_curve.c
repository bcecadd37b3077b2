/*
 * train_curve.c - prints the loss of every step of a small model, and the data to repeat the
 * training in another program (tests/peers/pytorch_curve.py)
 *
 *	tests/train_curve FOLDER [--steps 500] [--precision fp32|bf16] [--d_model 64] [--layers 2]
 *			  [--vocabulary 512] [--tokens 1024] [--threads 0] [--rate 1000]
 *			  [--model "norm=rms activation=silu"] [--turns]
 *
 * --model has options of [model]. --turns waits for a line on standard input before each step, so that
 * two programs can take turns and their times are comparable.
 *
 * FOLDER, made when missing, gets initial.safetensors, the weights before the first step. On
 * standard output there is a JSON object a step: loss (nats per target token, label smoothing 0.1),
 * grad_norm, cpu_seconds, source and target (lists of sentences without special tokens). No dropout; Adam with
 * betas 0.9 and 0.98 and a constant rate of --rate millionths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/file.h"
#include "tests/bench/bench.h"
#include "tests/train/model_words.h"
#include "tests/train/rig.h"
#include "train/ckpt/safetensors.h"

static const float *weights_of(void *arg, size_t i, struct err *e)
{
	struct model *m = arg;
	struct model_param *params;
	int64_t floats, offset;
	size_t n;

	if (model_params(model_get_shape(m), &params, &n, &floats, e))
		return NULL;
	offset = params[i].offset;
	free(params);
	return model_param_arena(m) + offset;
}

static int save_weights(struct model *m, const char *path, struct err *e)
{
	struct safetensors_item *items;
	struct model_param *params;
	int64_t floats;
	size_t n;
	int rc;

	if (model_params(model_get_shape(m), &params, &n, &floats, e))
		return e->code;
	items = calloc(n, sizeof(*items));
	if (!items) {
		free(params);
		return err_set(e, ERR_NOMEM, "there is no memory for a list of %zu tensors", n);
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(items[i].name, sizeof(items[i].name), "%s", params[i].name);
		items[i].rows = params[i].rows;
		items[i].cols = params[i].cols;
	}
	rc = safetensors_write(path, items, n, weights_of, m, e);
	free(items);
	free(params);
	return rc;
}

/* Sentences without their first token (skip 1), or without their last. */
static void print_side(const int32_t *ids, const int32_t *start, int32_t n, int skip)
{
	for (int32_t s = 0; s < n; s++) {
		printf("%s[", s ? "," : "");
		for (int32_t i = start[s] + skip; i < start[s + 1] - !skip; i++)
			printf("%s%d", i > start[s] + skip ? "," : "", (int)ids[i]);
		printf("]");
	}
}

static void print_step(const struct rig *r, const struct model_sums *sums, double cpu_seconds)
{
	const struct batch *b = &r->batch;

	printf("{\"loss\":%.7f,\"grad_norm\":%.7f,\"cpu_seconds\":%.6f,\"source\":[",
	       sums->loss / (double)sums->tokens, r->norm, cpu_seconds);
	print_side(b->source, b->source_start, b->n, 0);
	printf("],\"target\":[");
	print_side(b->target_in, b->target_start, b->n, 1);
	printf("]}\n");
	fflush(stdout);
}

/* Wait for a line of standard input; false: there is none. */
static bool wait_for_turn(void)
{
	int c;

	while ((c = getchar()) != EOF)
		if (c == '\n')
			return true;
	return false;
}

static int run(const struct rig_how *how, const char *folder, int64_t steps, bool turns,
	       struct err *e)
{
	struct rig r = { 0 };
	struct model_sums sums;
	char *path = file_path(e, "%s/initial.safetensors", folder);
	int rc = path ? rig_open(&r, how, e) : e->code;

	if (!rc)
		rc = save_weights(r.m, path, e);
	for (int i = 0; !rc && i < steps; i++) {
		double begin;

		if (turns && !wait_for_turn())
			break;
		begin = (double)clock() / CLOCKS_PER_SEC;
		rc = rig_step(&r, i, &sums, e);
		if (!rc)
			print_step(&r, &sums, (double)clock() / CLOCKS_PER_SEC - begin);
	}
	rig_close(&r);
	free(path);
	return rc;
}

int main(int argc, char **argv)
{
	const char *precision = "fp32", *words = "";
	bool turns = false;
	int64_t steps = 500, d_model = 64, layers = 2, vocabulary = 512, tokens = 1024, threads = 0,
		rate = 1000;
	const struct bench_option options[] = {
		{ "steps", NULL, &steps, NULL, "how many" },
		{ "precision", &precision, NULL, NULL, "fp32 or bf16" },
		{ "d_model", NULL, &d_model, NULL, "width; d_ff is 4 d_model, heads d_model / 32" },
		{ "layers", NULL, &layers, NULL, "of each stack" },
		{ "vocabulary", NULL, &vocabulary, NULL, "entries, a multiple of 8" },
		{ "tokens", NULL, &tokens, NULL, "tokens a side of a batch" },
		{ "threads", NULL, &threads, NULL, "0: all cores" },
		{ "rate", NULL, &rate, NULL, "learning rate, in millionths" },
		{ "model", &words, NULL, NULL, "options of [model], \"name=value ...\"" },
		{ "turns", NULL, NULL, &turns, "wait for a line of input before each step" },
	};
	struct rig_how how = { .backend = "cpu" };
	struct err e = { 0 };
	struct shard *shard = NULL;
	char sizes[120], *path = NULL;
	int rc;

	argc = bench_parse("train_curve FOLDER", options, ARRAY_LEN(options), argc, argv);
	if (argc != 2) {
		fputs("train_curve: give the FOLDER for the weights\n", stderr);
		return 64;
	}
	snprintf(sizes, sizeof(sizes),
		 "d_model=%d d_ff=%d heads=%d encoder_layers=%d decoder_layers=%d", (int)d_model,
		 4 * (int)d_model, (int)MAX(1, d_model / 32), (int)layers, (int)layers);
	how.tokens = (int32_t)tokens;
	how.threads = (int)threads;
	how.bf16 = !strcmp(precision, "bf16");
	how.rate = (double)rate * 1e-6;
	rc = model_words_shape(&how.shape, sizes, words, (int32_t)vocabulary, (int32_t)vocabulary,
			       &e);
	if (!rc)
		rc = file_make_folders(argv[1], &e);
	path = rc ? NULL : file_path(&e, "%s/train.shard", argv[1]);
	rc = path ? rig_make_shard(path, (int32_t)vocabulary, 20000, &e) : e.code;
	if (!rc && !(shard = shard_open(path, &e)))
		rc = e.code;
	how.shard = shard;
	if (!rc)
		rc = run(&how, argv[1], steps, turns, &e);
	if (rc)
		fprintf(stderr, "train_curve: %s\n", e.text);
	if (shard)
		shard_close(shard);
	free(path);
	return err_exit_status(rc);
}
