/* run_health.c - chooses the words for the verdicts of the report; see run_health.h. */
#include "tui/run/run_health.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "eval/report/evidence.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "share/format/json.h"

/* Problems in the order of their weight: the first one gives the words. */
static const struct {
	const char *id, *words;
} problems[] = {
	{ "rate-too-large", "rate too large" },
	{ "rate-too-small", "rate too small" },
	{ "data-problem", "problem of the data" },
	{ "dead-part", "dead part of the model" },
	{ "overfitting", "overfits" },
	{ "regularisation", "regularised too much" },
	{ "model-too-small", "model too small" },
	{ "vocabulary-small", "vocabulary too small" },
	{ "dev-in-train", "dev set was trained on" },
	{ "stable", "the loss jumped" },
	{ "stragglers", "one rank is late" },
	{ "network-bound", "waits for the network" },
	{ "input-bound", "waits for its data" },
	{ "cpu-starved", "waits for processors" },
	{ "checkpoint-bound", "waits for checkpoints" },
	{ "gpus-used", "GPUs are hardly used" },
};

static const struct answer *find_answer(const struct answers *a, const char *id)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->all[i].id, id))
			return &a->all[i];
	assert(false); /* each id in this file is a row of eval/report/answers.c */
	return NULL;
}

static double find_fact(const struct answer *a, const char *name)
{
	for (size_t i = 0; i < a->n_facts; i++)
		if (!strcmp(a->facts[i].name, name))
			return a->facts[i].value;
	return NAN;
}

static bool has_problem(const struct answers *a, const char *id)
{
	return answer_state_of(find_answer(a, id)) == ANSWER_PROBLEM;
}

static void say_health(struct run_health *h, enum health_state state, const char *text)
{
	h->state = state;
	snprintf(h->text, sizeof(h->text), "%s", text);
}

static void choose_words(struct run_health *h, const struct answers *a)
{
	const struct answer *diverged = find_answer(a, "diverged");
	const enum answer_state full = answer_state_of(find_answer(a, "fully-trained"));
	const double lowest = find_fact(diverged, "step of the lowest training NLL");

	if (answer_state_of(diverged) == ANSWER_PROBLEM) {
		say_health(h, HEALTH_DIVERGED, "diverged");
		if (isfinite(lowest))
			snprintf(h->text, sizeof(h->text), "diverged after %s", COUNT_TEXT(lowest));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(problems); i++)
		if (has_problem(a, problems[i].id)) {
			say_health(h, HEALTH_PROBLEM, problems[i].words);
			return;
		}
	if (find_answer(a, "healthy")->verdict != VERDICT_YES)
		say_health(h, HEALTH_UNKNOWN, "not enough data");
	else
		say_health(h, HEALTH_GOOD,
			   full == ANSWER_PROBLEM ? "learning, not full yet"
			   : full == ANSWER_FINE  ? "fully trained"
						  : "healthy");
}

/* Is the journal of the run short enough to be read once more? */
static bool is_journal_short(const char *workspace, const char *run)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/runs/%s/journal.jsonl", workspace, run);
	bool is_short = path && file_size(path) <= HEALTH_JOURNAL_BYTES;

	free(path);
	return is_short;
}

void run_health_add_record(struct run_health *h, const struct json *r)
{
	const char *kind = json_text(json_get(r, "kind"), "");
	const int64_t step = json_integer(json_get(r, "step"), -1);

	if (!strcmp(kind, "train")) {
		h->has_steps = true;
	} else if (!strcmp(kind, "eval") || !strcmp(kind, "stop")) {
		h->has_news = true;
	} else if (!strcmp(kind, "start")) {
		/* it may go on from a checkpoint of better times */
		*h = (struct run_health){ .has_news = h->has_steps || h->judged_at > 0 };
	}
	if (!strcmp(json_text(json_get(r, "sign"), ""), "diverged") ||
	    !strcmp(json_text(json_get(r, "reason"), ""), "diverged")) {
		say_health(h, HEALTH_DIVERGED, "diverged");
		if (step >= 0)
			snprintf(h->text, sizeof(h->text), "diverged before %s", COUNT_TEXT(step));
		h->has_news = true;
	}
}

bool run_health_update(struct run_health *h, const char *workspace, const char *run, double now)
{
	const bool is_due =
		h->has_news ||
		(h->has_steps && (!(h->judged_at > 0) || now - h->judged_at >= HEALTH_EVERY_S));
	struct run_health before = *h;
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err ignored;

	if (!is_due)
		return false;
	h->has_news = h->has_steps = false;
	h->judged_at = MAX(now, 1);
	if (!is_journal_short(workspace, run)) {
		if (h->state == HEALTH_UNKNOWN)
			say_health(h, HEALTH_UNKNOWN, "too long to judge");
		return strcmp(h->text, before.text) != 0;
	}
	if (!evidence_open(&v, workspace, run, &ignored) && !answers_find(&a, &v, &ignored))
		choose_words(h, &a);
	/* the trainer, which sees every step, may know more than the journal shows */
	if (h->state == HEALTH_UNKNOWN && before.state == HEALTH_DIVERGED)
		say_health(h, before.state, before.text);
	answers_free(&a);
	evidence_close(&v);
	return h->state != before.state || strcmp(h->text, before.text) != 0;
}

bool run_health_is_bad(const struct run_health *h)
{
	return h->state >= HEALTH_PROBLEM;
}

const char *run_health_name(enum health_state state)
{
	static const char *const names[] = { "unknown", "good", "problem", "diverged" };

	assert((size_t)state < ARRAY_LEN(names));
	return names[state];
}

struct run_look run_health_look(enum health_state state)
{
	static const struct run_look looks[] = {
		[HEALTH_UNKNOWN] = { '?', STYLE_DIM },
		[HEALTH_GOOD] = { 0x2713, STYLE_GOOD },
		[HEALTH_PROBLEM] = { '!', STYLE_WARN },
		[HEALTH_DIVERGED] = { 0x2717, STYLE_BAD },
	};

	assert((size_t)state < ARRAY_LEN(looks));
	return looks[state];
}
