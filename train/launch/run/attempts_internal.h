/* attempts_internal.h - the state of the supervisor's loop, shared by attempts.c and broken_job.c */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_ATTEMPTS_INTERNAL_H
#define WERKBANK_TRAIN_LAUNCH_RUN_ATTEMPTS_INTERNAL_H

#include "share/base/util.h"
#include "train/launch/run/attempts.h"
#include "train/launch/run/host_return.h"
#include "train/launch/run/outcome.h"
#include "train/launch/run/roll_call.h"
#include "train/launch/run/supervise.h"

struct attempt_loop {
	const struct attempts *a;
	struct supervisor sup;
	struct outcome job_outcome;
	struct roll_call roll_call;
	struct host_return host_return;
	char *journal, *hostfile,
		*kill_request;	/* owned paths; the last one asks for an end at once */
	char event[300];	/* the last event, for state.json */
	const char *asked_by;	/* who asked to stop: "user", "walltime"; NULL: nobody */
	const char *last_state; /* the state that was written last; NULL: none */
	/*
	 * monotonic seconds: begin of the supervisor, of this job, of its record "stop" (0: none)
	 */
	double began, started, stopped_at;
	double broken_at;   /* when srun said that a rank of this job failed; 0: it did not */
	double rescued_at;  /* when a rank of this job had saved alone; 0: none has */
	bool is_step_ended; /* broken_job_end_step() has ended this job */
	bool delay_noted, begin_timed_out; /* this job did not begin: notice printed, job ended */
	bool waiting;			   /* between two attempts */
	bool is_lease_lost;		   /* another host trains this run now */
	bool is_lease_stale;		   /* the lease could not be renewed the last time */
	bool is_taking_back;		   /* this job was asked to stop for a host's return */
	int64_t restarts, restarts_in_row; /* in all; since the last new checkpoint */
	int64_t checkpoint;		   /* step of the newest one; -1: none */
};

/*
 * Record an event in the journal, state.json and console.log. Only while no job is running, because
 * rank 0 writes the same journal.
 */
void attempts_record_event(struct attempt_loop *l, const char *level, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* ---- broken_job.c ---- */

/* Half of the time that a rank has to save after a loss: mpirun waits for it twice. */
int broken_job_kill_s(double save_s);
/* Limit in seconds from the record "stop" to the end of mpirun. */
double broken_job_linger_s(const struct attempt_loop *l);
/* Does mpirun go on after the record "stop"? It may wait for the daemon of a lost host for ever. */
bool broken_job_is_lingering(struct attempt_loop *l);
/* After a failed rank of srun: end the job when another rank has saved. */
void broken_job_end_step(struct attempt_loop *l);
/* End mpirun if the ranks do not begin: it may wait for a daemon for ever, without a watchdog. */
void broken_job_check_begun(struct attempt_loop *l);
/* After the end of srun with this status: let ranks that have lost it save, and wait for that. */
void broken_job_save_orphans(struct attempt_loop *l, int status);
/* Before an attempt: copy the newest checkpoint of hosts that do not see this folder. */
void broken_job_collect_rescued(struct attempt_loop *l);

#endif
