/*
 * outcome.h - decides how a job ended, from the journal of its run and its exit status.
 *
 * The exit status of mpirun is not enough: it is 1 if all ranks ended well between SIGTERM and
 * SIGKILL, and otherwise the status of the rank that ended first.
 *
 *	outcome_open()		read the records of earlier jobs
 *	outcome_begin_job()	a job is about to start: forget the result of the last one
 *	outcome_update()	read new records; call it from time to time, and at the end
 *	outcome_classify()	the verdict
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_OUTCOME_H
#define WERKBANK_TRAIN_LAUNCH_RUN_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/workspace/journal.h"
#include "train/launch/run/mpirun_output.h"

struct outcome {
	bool has_begun;	     /* this job wrote "start" */
	bool has_ever_begun; /* a job since outcome_open() wrote "start" */
	char reason[16];     /* of the last "stop": finished, asked, diverged, failed; "": none */
	int64_t signalled;   /* of the last "stop": rank whose SIGTERM stopped the job; -1: none */
	bool by_file;	     /* the last "stop" obeys the file "control" */
	int exit;	     /* of the last "stop" */
	int64_t saves;	     /* checkpoints that all ranks of this job saved together */
	bool is_orphaned;    /* set by the caller: srun died, and its ranks were asked to stop */
	bool is_rescued;     /* a rank of this job saved its last step alone: others were lost */
	int64_t step;	     /* of the last record with a step; -1: none */
	double step_s, save_s; /* seconds of the slowest recent step and checkpoint; 0: none */
	struct mpirun_failure failure; /* set by the caller, for why */
	struct err unread; /* why the journal cannot be read to its end; code 0: it can */
	struct journal_reader *reader; /* private */
};

enum outcome_verdict {
	OUTCOME_FINISHED, /* the ranks reached steps, max_minutes or patience, and said so */
	OUTCOME_STOPPED,  /* stopped on request; nothing is lost */
	OUTCOME_DIVERGED, /* saved and stopped, because stop_on asks for it; never restarted */
	OUTCOME_LEAVING,  /* saved and stopped, because rank "signalled" got SIGTERM alone */
	OUTCOME_KILLED,	  /* ended on request; the steps after the last checkpoint are lost */
	OUTCOME_FAILED,	  /* a restart would fail in the same way */
	OUTCOME_RESTART	  /* crashed, hung or lost: may be restarted */
};

/* A missing journal is an empty one. Call outcome_close() in any case. */
int outcome_open(struct outcome *o, const char *journal, struct err *e);
void outcome_begin_job(struct outcome *o);
void outcome_update(struct outcome *o);
void outcome_close(struct outcome *o);

/*
 * status: exit status of the job's first process, 0..255. asked: somebody asked the job to stop;
 * was_killed: and then ended it at once. *exit: exit status of the supervisor for this verdict.
 * why: what happened, as the predicate of "the training"; "": nothing to add to the verdict.
 */
enum outcome_verdict outcome_classify(const struct outcome *o, int status, bool asked,
				      bool was_killed, int *exit, char why[160]);

/* The state of a run that ended so, for state.json: finished, stopped, failed. */
const char *outcome_state_name(enum outcome_verdict verdict);

#endif
