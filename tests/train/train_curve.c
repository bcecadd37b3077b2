/*
 * train_curve.c - prints the loss of every step of a small model, and the data to repeat the
 * training in another program (tests/peers/pytorch_curve.py)
 *
 *	tests/train_curve FOLDER [--steps 500] [--precision fp32|bf16] [--d_model 64] [--layers 2]
 *			  [--vocabulary 512] [--tokens 1024] [--threads 0] [--rate 1000]
 *
 * FOLDER, made when missing, gets initial.safetensors, the weights before the first step. On
 * standard output there is a JSON object a step: loss (nats per target token, label smoothing 0.1),
 * grad_norm, source and target (lists of sentences without special tokens). No dropout; Adam with
 * betas 0.9 and 0.98 and a constant rate of --rate millionths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "tests/bench/bench.h"
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

static int run(const struct rig_how *how, const char *folder, int64_t steps, struct err *e)
{
	struct rig r = { 0 };
	struct model_sums sums;
	char *path = file_path(e, "%s/initial.safetensors", folder);
	int rc = path ? rig_open(&r, how, e) : e->code;

	if (!rc)
		rc = save_weights(r.m, path, e);
	for (int i = 0; !rc && i < steps; i++) {
		const struct batch *b = &r.batch;

		rc = rig_step(&r, i, &sums, e);
		if (rc)
			break;
		printf("{\"loss\":%.7f,\"grad_norm\":%.7f,\"source\":[",
		       sums.loss / (double)sums.tokens, r.norm);
		print_side(b->source, b->source_start, b->n, 0);
		printf("],\"target\":[");
		print_side(b->target_in, b->target_start, b->n, 1);
		printf("]}\n");
	}
	rig_close(&r);
	free(path);
	return rc;
}

int main(int argc, char **argv)
{
	const char *precision = "fp32";
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
	};
	struct rig_how how = { .backend = "cpu" };
	struct err e = { 0 };
	struct shard *shard = NULL;
	char *path = NULL;
	int rc;

	argc = bench_parse("train_curve FOLDER", options, ARRAY_LEN(options), argc, argv);
	if (argc != 2) {
		fputs("train_curve: give the FOLDER for the weights\n", stderr);
		return 64;
	}
	how.shape = (struct model_shape){ .d_model = (int32_t)d_model,
					  .d_ff = 4 * (int32_t)d_model,
					  .heads = (int32_t)MAX(1, d_model / 32),
					  .encoder_layers = (int32_t)layers,
					  .decoder_layers = (int32_t)layers,
					  .vocabulary = (int32_t)vocabulary,
					  .real_vocabulary = (int32_t)vocabulary };
	how.tokens = (int32_t)tokens;
	how.threads = (int)threads;
	how.bf16 = !strcmp(precision, "bf16");
	how.rate = (double)rate * 1e-6;
	rc = file_make_folders(argv[1], &e);
	path = rc ? NULL : file_path(&e, "%s/train.shard", argv[1]);
	rc = path ? rig_make_shard(path, (int32_t)vocabulary, 20000, &e) : e.code;
	if (!rc && !(shard = shard_open(path, &e)))
		rc = e.code;
	how.shard = shard;
	if (!rc)
		rc = run(&how, argv[1], steps, &e);
	if (rc)
		fprintf(stderr, "train_curve: %s\n", e.text);
	if (shard)
		shard_close(shard);
	free(path);
	return err_exit_status(rc);
}
