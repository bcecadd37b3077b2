/* run_end.c - the reasons why runs end, and their words; see run_end.h */
#include "share/base/text.h"
#include "share/workspace/run_end.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*
 * word and reason: the members why and reason of the record (older journals have reason only);
 * state: of state.json; longer: the option of the limit that ended the run
 */
static const struct {
	const char *word, *reason, *state, *longer;
} run_ends[N_RUN_ENDS] = {
	[RUN_END_UNKNOWN] = { "unknown", "", "", NULL },
	[RUN_END_STEPS] = { "steps", "finished", "finished", "--steps" },
	[RUN_END_MINUTES] = { "minutes", "finished", "finished", "--max-minutes" },
	[RUN_END_PATIENCE] = { "patience", "finished", "finished", "--patience" },
	[RUN_END_REQUEST] = { "request", "asked", "stopped", NULL },
	[RUN_END_USER] = { "user", "asked", "stopped", NULL },
	[RUN_END_WALLTIME] = { "walltime", "asked", "stopped", NULL },
	[RUN_END_PREEMPTED] = { "preemption", "asked", "stopped", NULL },
	[RUN_END_DIVERGED] = { "diverged", "diverged", "stopped", NULL },
	[RUN_END_FAILED] = { "failed", "failed", "failed", NULL },
};

void run_end_set(struct run_end *end, enum run_end_why why, const struct run_limits *limits)
{
	const char *are = limits->minutes == 1 ? " is" : "s are";
	const size_t n = sizeof(end->text);

	assert((size_t)why < N_RUN_ENDS);
	*end = (struct run_end){ .why = why };
	snprintf(end->reason, sizeof(end->reason), "%s", run_ends[why].reason);
	switch (why) {
	case RUN_END_STEPS:
		snprintf(end->text, n,
			 limits->step > limits->steps ? "%lld steps are made, %lld were planned"
						      : "step %lld of %lld",
			 (long long)limits->step, (long long)limits->steps);
		break;
	case RUN_END_MINUTES:
		snprintf(end->text, n, "%.6g minute%s over", limits->minutes, are);
		break;
	case RUN_END_PATIENCE:
		snprintf(end->text, n, "no better %s in %lld evaluation%s (patience)",
			 limits->loss_decides ? "loss" : "BLEU", (long long)limits->patience,
			 text_plural(limits->patience));
		break;
	case RUN_END_REQUEST:
		snprintf(end->text, n, "on request");
		break;
	case RUN_END_USER:
		snprintf(end->text, n, "by the user");
		break;
	case RUN_END_WALLTIME:
		snprintf(end->text, n, "the walltime is over");
		break;
	case RUN_END_PREEMPTED:
		snprintf(end->text, n, "the batch system preempted the job");
		break;
	case RUN_END_DIVERGED:
		snprintf(end->text, n, "diverged at step %lld", (long long)limits->step);
		break;
	case RUN_END_FAILED:
		if (limits->exit > 0)
			snprintf(end->text, n, "exit status %lld", (long long)limits->exit);
		break;
	default:
		break;
	}
}

void run_end_put(const struct run_end *end, struct json_writer *w)
{
	json_put_str(w, "reason", run_ends[end->why].reason);
	json_put_str(w, "why", run_ends[end->why].word);
	json_put_str(w, "text", end->text);
}

void run_end_read(struct run_end *end, const struct json *stop)
{
	const char *word = json_text(json_get(stop, "why"), "");

	*end = (struct run_end){ 0 };
	snprintf(end->reason, sizeof(end->reason), "%.11s",
		 json_text(json_get(stop, "reason"), ""));
	for (size_t i = 0; i < N_RUN_ENDS; i++)
		if (!strcmp(run_ends[i].word, word)) {
			end->why = (enum run_end_why)i;
			snprintf(end->text, sizeof(end->text), "%.119s",
				 json_text(json_get(stop, "text"), ""));
		}
}

/* The reason of a record without a member why. */
static enum run_end_why guess_run_end(const char *reason, const struct run_limits *limits)
{
	if (!strcmp(reason, "asked"))
		return RUN_END_REQUEST;
	if (!strcmp(reason, "diverged"))
		return RUN_END_DIVERGED;
	if (!strcmp(reason, "failed"))
		return RUN_END_FAILED;
	if (strcmp(reason, "finished") != 0 || limits->step < 0 || limits->steps < 0)
		return RUN_END_UNKNOWN;
	if (limits->step >= limits->steps)
		return RUN_END_STEPS;
	if (limits->minutes > 0 && limits->patience <= 0)
		return RUN_END_MINUTES;
	return limits->patience > 0 && limits->minutes <= 0 ? RUN_END_PATIENCE : RUN_END_UNKNOWN;
}

void run_end_complete(struct run_end *end, const char *state, const char *asked_by,
		      const struct run_limits *limits)
{
	enum run_end_why why = end->why ? end->why : guess_run_end(end->reason, limits);

	/* state.json is newer than the record: the launcher may have ended the run without one */
	if (state && strcmp(run_ends[why].state, state) != 0)
		why = !strcmp(state, "stopped")	 ? RUN_END_REQUEST
		      : !strcmp(state, "failed") ? RUN_END_FAILED
						 : RUN_END_UNKNOWN;
	for (enum run_end_why i = RUN_END_USER; i <= RUN_END_PREEMPTED; i++)
		if (why == RUN_END_REQUEST && asked_by && !strcmp(asked_by, run_ends[i].word))
			why = i;
	if (why != end->why)
		run_end_set(end, why, limits);
}

const char *run_end_longer(const struct run_end *end, const struct run_limits *limits,
			   const char **option, char value[32])
{
	const double limit = end->why == RUN_END_MINUTES ? limits->minutes
			     : end->why == RUN_END_STEPS ? (double)MAX(limits->steps, limits->step)
							 : (double)limits->patience;

	*option = run_ends[end->why].longer;
	if (!*option || !(limit > 0))
		return NULL;
	snprintf(value, 32, "%.10g", 2 * limit);
	return value;
}
