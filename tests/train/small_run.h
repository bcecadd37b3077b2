/*
 * small_run.h - a small corpus, a recipe of a training of a second, and readers of the run's
 * folder, for tests of training
 */
#ifndef WERKBANK_TESTS_TRAIN_SMALL_RUN_H
#define WERKBANK_TESTS_TRAIN_SMALL_RUN_H

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "data/shard/shard.h"
#include "data/words/vocab.h"
#include "share/base/file.h"
#include "share/base/rng.h"
#include "share/workspace/journal.h"
#include "tests/train/small_model.h"
#include "train/ckpt/ckpt.h"
#include "train/trainer/trainer.h"

#define PIECES 40
#define PAIRS  300

/* A path in the test's folder; one of a few static buffers. */
static inline const char *at(const char *name)
{
	static char paths[4][500];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_folder(), name);
	return path;
}

static inline bool make_vocabulary(const char *path, char letter)
{
	struct err e = { 0 };
	struct vocab_counter *counter = vocab_counter_new(&e);
	int rc = counter ? 0 : e.code;

	for (int i = 0; !rc && i < PIECES; i++) {
		char piece[16];

		snprintf(piece, sizeof(piece), "%c%d", letter, i);
		rc = vocab_count(counter, piece, strlen(piece), PIECES - i, &e);
	}
	if (!rc)
		rc = vocab_write(counter, path, &e);
	vocab_counter_free(counter);
	return check_err(rc, 0);
}

/* Sentences of 2..9 words; the translation has one other word for each, in reverse order. */
static inline bool make_shard(void)
{
	struct err e = { 0 };
	struct vocab *v;
	struct shard_writer *w;
	int rc;

	v = vocab_open(at("corpora/c/vocab.tsv"), &e);
	w = v ? shard_create(at("corpora/c/train.shard"), vocab_size(v), vocab_sha256(v), &e)
	      : NULL;
	rc = w ? 0 : e.code;
	for (int p = 0; !rc && p < PAIRS; p++) {
		const struct rng_key key = rng_key_make(1, RNG_TEST, (uint32_t)p, 0);
		int32_t source[9], target[9], n = 2 + (int32_t)(rng_u32(key, 100) % 8);

		for (int i = 0; i < n; i++) {
			uint32_t word = rng_u32(key, (uint64_t)i) % PIECES;

			source[i] = (int32_t)(N_SPECIAL_TOKENS + word);
			target[n - 1 - i] = (int32_t)(N_SPECIAL_TOKENS + (word * 7 + 3) % PIECES);
		}
		rc = shard_append(w, source, n, target, n, &e);
	}
	if (!rc)
		rc = shard_finish(w, &e);
	vocab_close(v);
	return check_err(rc, 0);
}

static inline bool make_corpus_of(char letter)
{
	struct err e = { 0 };

	return check_err(file_make_folders(at("corpora/c"), &e), 0) &&
	       make_vocabulary(at("corpora/c/vocab.tsv"), letter) && make_shard();
}

static inline bool make_corpus(void)
{
	return make_corpus_of('w');
}

static const char *const recipe[][2] = {
	{ "corpus", "c" },
	{ "d_model", "16" },
	{ "d_ff", "32" },
	{ "heads", "2" },
	{ "encoder_layers", "1" },
	{ "decoder_layers", "1" },
	{ "batch_tokens", "64" },
	{ "micro_batches", "2" },
	{ "steps", "30" },
	{ "warmup", "10" },
	{ "noam_factor", "1" },
	{ "save_every", "10" },
	{ "eval_every", "1000000" },
	{ "log_every", "5" },
	{ "threads", "1" },
	{ "backend", "cpu" },
	{ "clip", "1" },
	{ "keep", "3" },
	{ "quiet", "yes" },
};

static inline bool make_conf(struct conf *c, const char *run)
{
	struct err e = { 0 };
	int rc = conf_init(c, &e);

	for (size_t i = 0; !rc && i < ARRAY_LEN(recipe); i++)
		rc = conf_set(c, recipe[i][0], recipe[i][1], "test", &e);
	if (!rc)
		rc = conf_set(c, "workspace", test_folder(), "test", &e);
	if (!rc)
		rc = conf_set(c, "run", run, "test", &e);
	if (rc)
		test_fail(__FILE__, __LINE__, "%s", e.text);
	conf_apply_size(c);
	return rc == 0;
}

static inline void set(struct conf *c, const char *name, const char *value)
{
	struct err e = { 0 };

	check_err(conf_set(c, name, value, "test", &e), 0);
}

#define NOT_EVALUATED 66 /* exit status of a run without a development set */

/*
 * These runs have no development set: their last evaluation fails, which is an error of the run.
 * Everything before it must have worked.
 */
static inline int without_evaluation(int rc, struct err *e)
{
	if (rc != ERR_NOINPUT || !strstr(e->text, "its last evaluation failed"))
		return rc;
	*e = (struct err){ 0 };
	return 0;
}

/* Train in this process. */
static inline int train(const struct conf *c, const struct trainer_signals *stop, struct err *e)
{
	struct comm comm;
	int rc = comm_open(&comm, "one", NULL, NULL, e);

	if (!rc)
		rc = without_evaluation(trainer_run(c, &comm, stop, e), e);
	return rc;
}

static inline bool trains(const struct conf *c)
{
	static const struct trainer_signals never;
	struct err e = { 0 };

	if (!train(c, &never, &e))
		return true;
	test_fail(__FILE__, __LINE__, "%s", e.text);
	return false;
}

/* The sums of weights and moments of a checkpoint, and its loader position: owned by the caller. */
static inline char *print_of(const char *run, int step)
{
	struct buf sums = { 0 }, out = { 0 };
	struct ckpt_state s = { 0 };
	struct err e = { 0 };
	char folder[600], path[700], *line, *rest = NULL;

	snprintf(folder, sizeof(folder), "%s/runs/%s/checkpoints/%d", test_folder(), run, step);
	snprintf(path, sizeof(path), "%s/SHA256SUMS", folder);
	if (file_read_all(path, 0, &sums, &e) || ckpt_read_state(folder, true, &s, &e))
		test_fail(__FILE__, __LINE__, "%s", e.text);
	for (line = sums.data ? strtok_r(sums.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, ".safetensors"))
			buf_printf(&out, "%s\n", line);
	buf_printf(&out, "step %d position %d\n", (int)s.step, (int)s.loader_position);
	buf_free(&sums);
	return buf_detach(&out, &e);
}

static inline void check_same_run(const char *a, const char *b, int step)
{
	char *x = print_of(a, step), *y = print_of(b, step);

	check_str(x, y);
	check(strlen(x) > 2 * 64);
	free(x);
	free(y);
}

/* Number of records of a kind in the journal of a run; *last: a field of the last one. */
static inline int count_records(const char *run, const char *kind, const char *field, double *last)
{
	struct err e;
	char path[600];
	const struct json *record;
	struct journal_reader *r;
	int n = 0;

	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(path, &e);
	while (r && journal_next(r, &record, &e) > 0) {
		if (strcmp(json_text(json_get(record, "kind"), ""), kind) != 0)
			continue;
		n++;
		if (field)
			*last = json_number(json_get(record, field), NAN);
	}
	journal_reader_free(r);
	return n;
}

static inline bool write_recipe(const struct conf *c, const char *run)
{
	struct err e = { 0 };
	struct buf b = { 0 };
	char path[600];
	int rc;

	conf_write_recipe(c, &b);
	snprintf(path, sizeof(path), "%s/runs/%s", test_folder(), run);
	rc = file_make_folders(path, &e);
	snprintf(path, sizeof(path), "%s/runs/%s/recipe.ini", test_folder(), run);
	if (!rc)
		rc = file_write_all(path, buf_text(&b), b.len, &e);
	buf_free(&b);
	return check_err(rc, 0);
}

/* Weights of a checkpoint of the runs' model, on the host. */
static inline float *weights_of(const struct conf *c, const char *run, int step, int64_t *n)
{
	struct model_shape shape;
	struct dev_options options = { .threads = 1 };
	struct ckpt_state s;
	struct err e = { 0 };
	struct model *m = NULL;
	float *w = NULL;
	char folder[600];

	(void)c;
	snprintf(folder, sizeof(folder), "%s/runs/%s/checkpoints/%d", test_folder(), run, step);
	if (!ckpt_read_state(folder, true, &s, &e)) {
		shape = s.shape;
		m = model_new(&shape, ops_cpu(), &options, &e);
	}
	if (m && !ckpt_load_weights(folder, m, &e)) {
		w = small_copy(m, model_param_arena(m));
		*n = model_floats(m);
	} else {
		test_fail(__FILE__, __LINE__, "%s", e.text);
	}
	model_free(m);
	return w;
}

#endif
