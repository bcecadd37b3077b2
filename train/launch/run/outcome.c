/*
 * outcome.c - classifies the end of a job; see outcome.h
 *
 *	record "start"?	record "stop"?		verdict
 *	yes		reason finished		FINISHED: nothing else is
 *	yes		reason asked		STOPPED; LEAVING if it names a rank and nobody asked
 *						this supervisor to stop; RESTART if mpirun sent that
 *						SIGTERM, because it has lost a host
 *	yes		reason diverged		DIVERGED: a restart would diverge again
 *	no		-, asked to stop	STOPPED: before the first step
 *	any		none or failed, and the user asked for an end at once: KILLED
 *	yes		none, asked to stop	KILLED if a signal ended it, else FAILED
 *	yes		none (crash, hang)	RESTART, but FAILED if the status is permanent
 *						(usage, data, …)
 *	yes		reason failed		the same, with the status of the record; FAILED if
 *						asked to stop
 *	no		-			like a crash, but FAILED if no job of this supervisor
 *						has ever begun, unless a signal ended this one
 *	unreadable	unreadable, status 0	FAILED with the status of the reader
 *
 * The status alone never means success: mpirun returns 0 if a signal ends ranks that have not begun.
 * Status 75 without a record "stop" comes from the watchdog of a rank: the job hung.
 */
#include "train/launch/run/outcome.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/util.h"

#define FORGET 0.9 /* factor of the slowest step at each record, so that old records count less */

int outcome_open(struct outcome *o, const char *journal, struct err *e)
{
	*o = (struct outcome){ .step = -1, .signalled = -1 };
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
	o->signalled = -1;
	o->by_file = false;
	o->saves = 0;
	o->is_orphaned = false;
	o->is_rescued = false;
	o->failure = (struct mpirun_failure){ .rank = -1 };
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
		o->is_rescued = false; /* the run went on after all */
		o->step_s = MAX(o->step_s * FORGET, json_number(json_get(r, "step_s"), 0));
	} else if (!strcmp(kind, "save")) {
		o->save_s = MAX(o->save_s * FORGET, json_number(json_get(r, "seconds"), 0));
		o->is_rescued = json_boolean(json_get(r, "alone"), false);
		o->saves += !o->is_rescued;
	} else if (!strcmp(kind, "stop")) {
		snprintf(o->reason, sizeof(o->reason), "%s",
			 json_text(json_get(r, "reason"), "failed"));
		o->exit = (int)json_integer(json_get(r, "exit"), 0);
		o->signalled = json_integer(json_get(r, "rank"), -1);
		o->by_file = !strcmp(json_text(json_get(r, "by"), ""), "control");
	}
}

/*
 * A failure may pass, and the record "stop" must not be missed because of it: the second try goes on
 * at the same place.
 */
void outcome_update(struct outcome *o)
{
	const struct json *record;
	int got = -1;

	for (int tries = 0; tries < 2 && got < 0; tries++) {
		o->unread = (struct err){ 0 };
		while (o->reader && (got = journal_next(o->reader, &record, &o->unread)) > 0)
			apply_outcome_record(o, record);
	}
}

/* The job may have finished, but the record that says so could not be read. */
static bool is_end_unknown(const struct outcome *o, int status)
{
	return !status && o->unread.code && !(o->has_begun && o->reason[0]);
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

/* State of the run and exit status of the supervisor; werkbank-signals(7) has the same table. */
static const struct {
	const char *state;
	int exit; /* -1: the status of the failure, never 0 or 75 */
} outcome_ends[] = {
	[OUTCOME_FINISHED] = { "finished", 0 }, [OUTCOME_STOPPED] = { "stopped", 75 },
	[OUTCOME_DIVERGED] = { "stopped", 79 }, [OUTCOME_LEAVING] = { "stopped", 75 },
	[OUTCOME_KILLED] = { "stopped", 75 },	[OUTCOME_FAILED] = { "failed", -1 },
	[OUTCOME_RESTART] = { "failed", -1 }, /* of too many restarts */
};

const char *outcome_state_name(enum outcome_verdict verdict)
{
	assert((size_t)verdict < ARRAY_LEN(outcome_ends));
	return outcome_ends[verdict].state;
}

/* Its own failure: 0 and 75 would tell of another end. */
static int failure_status(int status)
{
	if (status == err_exit_status(ERR_TEMPFAIL))
		return err_exit_status(ERR_NOHOST); /* hung */
	return status > 0 && status < 256 ? status : err_exit_status(ERR_INTERNAL);
}

static bool is_signal_status(int status)
{
	return status > 128 && status <= 128 + SIGRTMAX;
}

static void describe_crash(const struct mpirun_failure *f, int status, char why[160])
{
	char rank[80];

	mpirun_describe_rank(f, rank, sizeof(rank));
	if (f->is_host_lost)
		snprintf(why, 160,
			 "lost the connection to host %.60s: it is down, cut off, or its Open MPI "
			 "daemon was killed",
			 f->host);
	else if (f->is_out_of_memory)
		snprintf(why, 160,
			 "ran out of memory: the kernel ended a process%s; lower "
			 "--batch-tokens",
			 rank);
	else if (status == err_exit_status(ERR_TEMPFAIL))
		snprintf(why, 160, "hung and its watchdog ended it; see hang.txt");
	else if (is_signal_status(status))
		snprintf(why, 160, "was ended by signal %d (%s)%s", status - 128,
			 strsignal(status - 128), rank);
	else
		snprintf(why, 160, "ended early with status %d%s", status, rank);
}

static enum outcome_verdict classify_crash(const struct outcome *o, int status, bool asked,
					   char why[160])
{
	/* MPI and Slurm's PMIx crash at times while they start the ranks: the next start succeeds */
	const bool can_begin = o->has_begun || o->has_ever_begun || is_signal_status(status);
	size_t n;

	describe_crash(&o->failure, status, why);
	n = strlen(why);
	if (asked && (!status || is_signal_status(status))) {
		snprintf(why + n, 160 - n, " before it saved");
		return OUTCOME_KILLED;
	}
	if (!o->has_begun)
		snprintf(why + n, 160 - n, " before the first step");
	return asked || !can_begin || (status < 128 && is_permanent_failure(status))
		       ? OUTCOME_FAILED
		       : OUTCOME_RESTART;
}

static enum outcome_verdict classify_end(const struct outcome *o, int status, bool asked,
					 bool was_killed, char why[160])
{
	const char *reason = o->has_begun ? o->reason : "";

	if (!strcmp(reason, "finished"))
		return OUTCOME_FINISHED;
	if (!strcmp(reason, "asked") && !asked &&
	    (o->is_orphaned || (o->signalled >= 0 && o->failure.is_host_lost))) {
		describe_crash(&o->failure, status, why); /* the SIGTERM was mpirun's */
		return OUTCOME_RESTART;
	}
	if (!strcmp(reason, "asked"))
		return o->signalled >= 0 && !asked ? OUTCOME_LEAVING : OUTCOME_STOPPED;
	if (!strcmp(reason, "diverged"))
		return OUTCOME_DIVERGED;
	if (is_end_unknown(o, status) && !asked) {
		snprintf(why, 160, "ended with status 0, but its journal cannot be read: %.100s",
			 o->unread.text);
		return OUTCOME_FAILED;
	}
	if (asked && !o->has_begun && !is_permanent_failure(status)) {
		snprintf(why, 160, "was stopped before the first step");
		return OUTCOME_STOPPED;
	}
	if (was_killed) {
		snprintf(why, 160, "was ended at once on request");
		return OUTCOME_KILLED;
	}
	if (!reason[0])
		return classify_crash(o, status, asked, why);
	/* ended on request: the ranks saved when their mpirun had gone (stop_requests.h) */
	if (asked && failure_status(o->exit) == -ERR_NOHOST)
		return OUTCOME_STOPPED;
	snprintf(why, 160, "failed with status %d (%s)", failure_status(o->exit),
		 err_name(-failure_status(o->exit)));
	return asked || is_permanent_failure(failure_status(o->exit)) ? OUTCOME_FAILED
								      : OUTCOME_RESTART;
}

enum outcome_verdict outcome_classify(const struct outcome *o, int status, bool asked,
				      bool was_killed, int *exit, char why[160])
{
	enum outcome_verdict v;

	assert(status >= 0 && status < 256);
	why[0] = 0;
	v = classify_end(o, status, asked, was_killed, why);
	*exit = outcome_ends[v].exit;
	if (*exit < 0 && o->failure.is_host_lost)
		*exit = err_exit_status(ERR_NOHOST);
	else if (*exit < 0 && is_end_unknown(o, status))
		*exit = err_exit_status(o->unread.code);
	else if (*exit < 0)
		*exit = failure_status(o->has_begun && o->reason[0] ? o->exit : status);
	return v;
}
