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

/* Problems in the order of their weight: the first one gives the words. */
static const struct {
	const char *id, *words;
} problems[] = {
	{ "rate-too-large", "learning rate too large" },
	{ "rate-too-small", "learning rate too small" },
	{ "data-problem", "problem of the data" },
	{ "dead-part", "a part of the model is dead" },
	{ "overfitting", "overfits" },
	{ "regularisation", "too much regularisation" },
	{ "model-too-small", "model too small" },
	{ "vocabulary-small", "vocabulary too small" },
	{ "dev-in-train", "dev set in the training text" },
	{ "stable", "the loss jumped" },
	{ "stragglers", "one rank is late" },
	{ "network-bound", "waits for the network" },
	{ "input-bound", "waits for its data" },
	{ "checkpoint-bound", "waits for checkpoints" },
	{ "gpus-used", "GPUs are hardly used" },
};

static const struct answer *find_answer(const struct answers *a, const char *id)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->all[i].id, id))
			return &a->all[i];
	assert(false); /* the table of the report has all questions of this file */
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
			snprintf(h->text, sizeof(h->text), "diverged after step %s",
				 COUNT_TEXT(lowest));
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

int run_health_find(struct run_health *h, const char *workspace, const char *run, struct err *e)
{
	struct evidence v = { 0 };
	struct answers a = { 0 };
	char *journal = file_path(e, "%s/runs/%s/journal.jsonl", workspace, run);
	int rc = journal ? 0 : e->code;

	say_health(h, HEALTH_UNKNOWN, "");
	if (!rc && file_size(journal) > HEALTH_JOURNAL_BYTES)
		goto out;
	if (!rc && !(rc = evidence_open(&v, workspace, run, e)) &&
	    !(rc = answers_find(&a, &v, e)))
		choose_words(h, &a);
	answers_free(&a);
	evidence_close(&v);
out:
	free(journal);
	return rc;
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
