/*
 * outcome.c - classifies the end of a job; see outcome.h
 *
 *	record "start"?	record "stop"?		verdict
 *	yes		reason finished		FINISHED
 *	yes		reason asked		STOPPED
 *	any		none or failed, and the user asked for an end at once: KILLED
 *	yes		none (crash, hang)	RESTART, but FAILED if asked to stop or if the
 *						status is permanent (usage, data, …)
 *	yes		reason failed		the same, with the status of the record
 *	no				status 0: FINISHED, 75: STOPPED, else like a crash, but
 *					FAILED if no job of this supervisor has ever begun
 *
 * Status 75 without a record "stop" comes from the watchdog of a rank: the job hung.
 */
#include "train/launch/run/outcome.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"

#define FORGET 0.9 /* factor of the slowest step at each record, so that old records count less */

int outcome_open(struct outcome *o, const char *journal, struct err *e)
{
	*o = (struct outcome){ .step = -1 };
	o->reader = journal_reader_open(journal, e);
	if (!o->reader)
		return e->code;
	outcome_update(o);
	outcome_begin_job(o);
	o->has_ever_begun = false;
	return 0;
}

void outcome_close(struct outcome *o)
{
	journal_reader_free(o->reader);
	o->reader = NULL;
}

void outcome_begin_job(struct outcome *o)
{
	outcome_update(o);
	o->has_begun = false;
	o->reason[0] = 0;
	o->exit = 0;
}

static void apply_outcome_record(struct outcome *o, const struct json *r)
{
	const char *kind = json_text(json_get(r, "kind"), "");

	if (!strcmp(kind, "start") || !strcmp(kind, "train") || !strcmp(kind, "save"))
		o->step = json_integer(json_get(r, "step"), o->step);
	if (!strcmp(kind, "start")) {
		o->has_begun = o->has_ever_begun = true;
		o->reason[0] = 0;
	} else if (!strcmp(kind, "train")) {
		o->step_s = MAX(o->step_s * FORGET, json_number(json_get(r, "step_s"), 0));
	} else if (!strcmp(kind, "save")) {
		o->save_s = MAX(o->save_s * FORGET, json_number(json_get(r, "seconds"), 0));
	} else if (!strcmp(kind, "stop")) {
		snprintf(o->reason, sizeof(o->reason), "%s",
			 json_text(json_get(r, "reason"), "failed"));
		o->exit = (int)json_integer(json_get(r, "exit"), 0);
	}
}

/* An unreadable journal is ignored: then the exit status decides. */
void outcome_update(struct outcome *o)
{
	const struct json *record;
	struct err ignored;

	while (o->reader && journal_next(o->reader, &record, &ignored) > 0)
		apply_outcome_record(o, record);
}

/* Wrong usage, data, configuration or program: a restart fails in the same way. */
static bool is_permanent_failure(int status)
{
	static const int codes[] = { ERR_USAGE,	   ERR_DATA,  ERR_NOINPUT, ERR_UNAVAILABLE,
				     ERR_INTERNAL, ERR_NOMEM, ERR_PERM,	   ERR_CONFIG };

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (status == err_exit_status(codes[i]))
			return true;
	return false;
}

static enum outcome_verdict classify_crash(const struct outcome *o, int status, bool asked,
					   int *exit, char why[160])
{
	const int hung = err_exit_status(ERR_TEMPFAIL); /* without a record "stop" */

	*exit = status ? status : err_exit_status(ERR_INTERNAL);
	if (status == hung)
		snprintf(why, 160, "hung and its watchdog ended it; see hang.txt");
	else if (status > 128)
		snprintf(why, 160, "was ended by signal %d (%s)", status - 128,
			 strsignal(status - 128));
	else
		snprintf(why, 160, "ended early with status %d", status);
	if (status == hung)
		*exit = err_exit_status(ERR_NOHOST); /* 75 would mean that a checkpoint was saved */
	return asked || (!o->has_begun && !o->has_ever_begun) ||
			       (status < 128 && is_permanent_failure(status))
		       ? OUTCOME_FAILED
		       : OUTCOME_RESTART;
}

enum outcome_verdict outcome_classify(const struct outcome *o, int status, bool asked,
				      bool was_killed, int *exit, char why[160])
{
	const int saved = err_exit_status(ERR_TEMPFAIL);
	const char *reason = o->reason;

	assert(status >= 0 && status < 256);
	if (!o->has_begun)
		reason = !status ? "finished" : status == saved ? "asked" : "";
	why[0] = 0;
	*exit = 0;
	if (!strcmp(reason, "finished"))
		return OUTCOME_FINISHED;
	*exit = saved;
	if (!strcmp(reason, "asked"))
		return OUTCOME_STOPPED;
	if (was_killed) {
		*exit = status ? status : saved;
		snprintf(why, 160, "was ended at once on request");
		return OUTCOME_KILLED;
	}
	if (!reason[0])
		return classify_crash(o, status, asked, exit, why);
	*exit = o->exit > 0 && o->exit < 256 ? o->exit : err_exit_status(ERR_INTERNAL);
	snprintf(why, 160, "failed with status %d (%s)", *exit, err_name(-*exit));
	return asked || is_permanent_failure(*exit) ? OUTCOME_FAILED : OUTCOME_RESTART;
}
