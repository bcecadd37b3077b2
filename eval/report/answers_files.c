/* answers_files.c - answers about duration, training data and checkpoints; answers.h */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "eval/report/answers.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/statistics.h"
#include "share/base/text.h"
#include "share/workspace/model_files.h"
#include "train/ckpt/ckpt.h"
#include "train/optim/optimizer.h"

/* ---- duration ---------------------------------------------------------- */

#define NOTABLE_S 2.0 /* a smaller correction of a clock needs no words */

/* How a run spent its time, in seconds. wall is the sum of the others. */
struct run_times {
	double wall, training, input, evaluating, saving;
	double lost; /* steps that were repeated after a restart */
	double down; /* the rest: starting, idle */
};

static struct run_times find_times(const struct evidence *v)
{
	struct run_times t = { .wall = v->last_t - v->first_t, .lost = v->lost_s };
	bool input = false;

	for (size_t i = 0; i < v->n_train; i++) {
		const struct train_point *p = &v->train[i];

		if (isfinite(p->step_s) && p->steps > 0)
			t.training += p->step_s * p->steps;
		if (isfinite(p->input_s) && p->steps > 0) {
			t.input += p->input_s * p->steps;
			input = true;
		}
	}
	for (size_t i = 0; i < v->n_evals; i++)
		t.evaluating += isfinite(v->evals[i].seconds) ? v->evals[i].seconds : 0;
	for (size_t i = 0; i < v->n_saves; i++)
		t.saving += isfinite(v->saves[i].seconds) ? v->saves[i].seconds : 0;
	t.training -= t.input;
	/* the time in which a clock was set back is unknown, but not shorter than its parts */
	if (v->set_back_s > 0)
		t.wall = MAX(t.wall, t.training + t.input + t.evaluating + t.saving + t.lost);
	t.down = MAX(t.wall - t.training - t.input - t.evaluating - t.saving - t.lost, 0);
	if (!input)
		t.input = NAN;
	return t;
}

static void write_run_outlook(struct answer *a, const struct evidence *v, double step)
{
	const double left = (double)v->recipe.steps - step;
	const struct train_point mean = answer_steady_means(v);
	char eta[ANSWER_TEXT];

	if (!strcmp(v->reason, "finished"))
		answer_append(a, "; the run is finished%s%s.", *v->end.text ? ": " : "",
			      v->end.text);
	else if (!strcmp(v->reason, "asked"))
		answer_append(a, "; the run was stopped on request and can be resumed.");
	else if (!strcmp(v->reason, "diverged"))
		answer_append(a, "; the run was stopped, because training diverged.");
	else if (!strcmp(v->reason, "failed"))
		answer_append(a, "; the run failed: %.200s", v->last_error);
	else
		answer_append(a, "; training the remaining %s step%s takes %s at this rate.",
			      COUNT_TEXT(MAX(left, 0)), text_plural(MAX(left, 0)),
			      answer_seconds(eta, MAX(left, 0) * mean.step_s));
}

void answer_duration(struct answer *a, const struct evidence *v)
{
	const struct run_times t = find_times(v);
	double step = v->n_train ? v->train[v->n_train - 1].step : 0, tokens = 0;
	char text[ANSWER_TEXT];

	for (size_t i = 0; i < v->n_train; i++)
		if (isfinite(v->train[i].target_tps) && isfinite(v->train[i].step_s))
			tokens += v->train[i].target_tps * v->train[i].step_s * v->train[i].steps;
	if (!v->n_train || !(t.wall > 0)) {
		answer_open(a, "The journal records no step.");
		return;
	}
	answer_add_fact(a, "wall clock", t.wall, "s");
	answer_add_fact(a, "training steps", t.training, "s");
	answer_add_fact(a, "waiting for batches", t.input, "s");
	answer_add_fact(a, "evaluating", t.evaluating, "s");
	answer_add_fact(a, "saving", t.saving, "s");
	answer_add_fact(a, "steps repeated after a restart", t.lost, "s");
	answer_add_fact(a, "starting, idle, other", t.down, "s");
	answer_add_fact(a, "goodput: share of the wall clock spent in steps", t.training / t.wall,
			"share");
	answer_add_fact(a, "attempts", (double)v->n_attempts, "");
	answer_add_fact(a, "steps", step, "");
	answer_add_fact(a, "target tokens", tokens, "tokens");
	answer_append(a,
		      "The run took %s for %s step%s and %s target tokens in %zu attempt%s; %.0f "
		      "%% of this time was training",
		      answer_seconds(text, t.wall), COUNT_TEXT(step), text_plural(step),
		      COUNT_TEXT(tokens), v->n_attempts, text_plural(v->n_attempts),
		      100 * t.training / t.wall);
	write_run_outlook(a, v, step);
	if (v->set_back_s >= NOTABLE_S)
		answer_append(a,
			      " The clock was set back by %s during the run, so the run may have "
			      "taken longer.",
			      answer_seconds(text, v->set_back_s));
}

/* ---- data -------------------------------------------------------------- */

static double number_at(const struct json *root, const char *a, const char *b, const char *c)
{
	const struct json *v = json_get(json_get(root, a), b);

	return json_number(c ? json_get(v, c) : v, NAN);
}

/* Bytes of the raw text of a set, source and target. */
static double source_bytes(const struct json *manifest, const char *set)
{
	const struct json *sources = json_get(manifest, "sources");
	double sum = 0;

	for (size_t i = 0; i < json_len(sources); i++) {
		const struct json *s = json_at(sources, i);

		if (!strcmp(json_text(json_get(s, "set"), ""), set))
			sum += json_number(json_get(s, "source_bytes"), 0) +
			       json_number(json_get(s, "target_bytes"), 0);
	}
	return sum;
}

static double file_bytes(const struct json *manifest, const char *name)
{
	const struct json *files = json_get(manifest, "files");

	for (size_t i = 0; i < json_len(files); i++)
		if (!strcmp(json_text(json_get(json_at(files, i), "name"), ""), name))
			return json_number(json_get(json_at(files, i), "bytes"), NAN);
	return NAN;
}

void answer_data_size(struct answer *a, const struct evidence *v)
{
	const struct json *m = v->manifest, *dropped = json_get(m, "dropped"), *value;
	double raw = source_bytes(m, "train"), read = number_at(m, "pairs", "read", NULL),
	       kept = number_at(m, "pairs", "train", NULL);
	char text[ANSWER_TEXT], name[48];
	const char *rule;

	if (!m) {
		answer_open(a, "%s", evidence_no_manifest(v));
		return;
	}
	answer_add_fact(a, "raw text, source and target", raw, "bytes");
	answer_add_fact(a, "pairs read", read, "lines");
	for (size_t i = 0; (rule = json_member(dropped, i, &value)) != NULL; i++)
		if (json_number(value, 0) > 0) {
			snprintf(name, sizeof(name), "dropped: %.38s", rule);
			answer_add_fact(a, name, json_number(value, 0), "lines");
		}
	answer_add_fact(a, "pairs to train on", kept, "lines");
	answer_add_fact(a, "BPE merges", json_number(json_get(m, "merges"), NAN), "");
	answer_add_fact(a, "vocabulary", json_number(json_get(m, "vocabulary"), NAN), "");
	if (json_get(m, "source_merges"))
		answer_add_fact(a, "BPE merges of the source",
				json_number(json_get(m, "source_merges"), NAN), "");
	if (json_get(m, "source_vocabulary"))
		answer_add_fact(a, "vocabulary of the source",
				json_number(json_get(m, "source_vocabulary"), NAN), "");
	answer_add_fact(a, "source tokens", number_at(m, "tokens", "train", "source"), "tokens");
	answer_add_fact(a, "target tokens", number_at(m, "tokens", "train", "target"), "tokens");
	answer_add_fact(a, "train.shard", file_bytes(m, "train.shard"), "bytes");
	answer_add_fact(a, "epochs", v->n_train ? v->train[v->n_train - 1].epoch : NAN, "");
	answer_append(a,
		      "The raw text of %s holds %s sentence pair%s; %s pairs were kept, with %s "
		      "source and %s target tokens,",
		      answer_bytes(text, raw), COUNT_TEXT(read), text_plural(read),
		      COUNT_TEXT(kept), COUNT_TEXT(number_at(m, "tokens", "train", "source")),
		      COUNT_TEXT(number_at(m, "tokens", "train", "target")));
	answer_append(a, " in a file of %s. Training read this file %.2f times.",
		      answer_bytes(text, file_bytes(m, "train.shard")),
		      v->n_train ? v->train[v->n_train - 1].epoch : 0);
}

/* ---- checkpoints ------------------------------------------------------- */

/* The files of a checkpoint, with their counterparts in a TensorFlow checkpoint. */
static const struct {
	const char *name, *content;
} files[] = {
	{ "model.safetensors", "the model's weights, fp32 (TensorFlow: part of .data)" },
	{ "training.safetensors",
	  "the weights that training continues from, if model.safetensors holds their average" },
	{ "optimizer.safetensors", "Adam's two moments, fp32 (TensorFlow: part of .data)" },
	{ "state.json", "step, data position, seed, best BLEU (TensorFlow: .index and more)" },
	{ "SHA256SUMS", "checksum of each file; sha256sum -c verifies them" },
	{ "recipe.ini", "every option with its origin (TensorFlow: .meta, the model's graph)" },
	MODEL_FILE_CONTENTS
};

/* Of the newest checkpoint. */
struct checkpoint_sizes {
	bool is_found;
	double bytes[ARRAY_LEN(files)]; /* NAN: the checkpoint does not have this file */
};

/* A run without an intact checkpoint is no failure. */
static int measure_checkpoint(struct checkpoint_sizes *s, const struct evidence *v, struct err *e)
{
	struct err why = { 0 };
	char *folder = ckpt_find_last(v->folder, &why);
	int rc = err_is_of_input(why.code) ? 0 : why.code;

	s->is_found = folder;
	if (rc)
		*e = why;
	for (size_t i = 0; folder && !rc && i < ARRAY_LEN(files); i++) {
		char *path = file_path(e, "%s/%s", folder, files[i].name);
		const int64_t n = path ? file_size(path) : -1;

		s->bytes[i] = n >= 0 ? (double)n : NAN;
		rc = path ? 0 : e->code;
		free(path);
	}
	free(folder);
	return rc;
}

int answer_checkpoint_contents(struct answer *a, const struct evidence *v, struct err *e)
{
	struct checkpoint_sizes s;
	char text[ANSWER_TEXT];
	size_t n = 0;

	if (measure_checkpoint(&s, v, e))
		return e->code;
	for (size_t i = 0; s.is_found && i < ARRAY_LEN(files); i++) {
		if (!isfinite(s.bytes[i]))
			continue;
		n++;
		answer_add_text(a, files[i].name, "%s: %s", answer_bytes(text, s.bytes[i]),
				files[i].content);
	}
	if (!n)
		answer_open(a, "The run has no complete checkpoint.");
	else
		answer_append(a,
			      "A checkpoint has %zu files and needs no file from elsewhere: "
			      "weights, optimizer, training state, vocabulary, word splitting, "
			      "recipe and checksums.",
			      n);
	return 0;
}

int answer_checkpoint_size(struct answer *a, const struct evidence *v, struct err *e)
{
	struct checkpoint_sizes s;
	char text[3][ANSWER_TEXT];
	double model = NAN, moments = NAN, total = 0;

	if (measure_checkpoint(&s, v, e))
		return e->code;
	for (size_t i = 0; s.is_found && i < ARRAY_LEN(files); i++) {
		if (!strcmp(files[i].name, "model.safetensors"))
			model = s.bytes[i];
		if (!strcmp(files[i].name, "optimizer.safetensors"))
			moments = s.bytes[i];
		total += isfinite(s.bytes[i]) ? s.bytes[i] : 0;
	}
	if (isfinite(model)) {
		answer_add_fact(a, "weights", model, "bytes");
		answer_add_fact(a, "optimizer", moments, "bytes");
		answer_add_fact(a, "all files", total, "bytes");
		answer_add_fact(a, "parameters", v->parameters, "");
		answer_append(a, "A checkpoint takes %s, of which %s are weights and %s are %s.",
			      answer_bytes(text[0], total), answer_bytes(text[1], model),
			      answer_bytes(text[2], moments),
			      optimizer_is_factored((enum optimizer_kind)v->recipe.optimizer)
				      ? "the state of the optimizer"
				      : "Adam's moments");
	} else {
		answer_open(a, "The run has no complete checkpoint.");
	}
	return 0;
}
