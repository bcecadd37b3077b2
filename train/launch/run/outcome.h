/*
 * outcome.h - how a job went, from the journal of its run.
 *
 * The exit status of mpirun alone does not tell it: it is 1 where all ranks ended well in
 * the seconds between SIGTERM and SIGKILL, and whatever rank came first otherwise.
 *
 *	outcome_open()		takes in what the journal holds
 *	outcome_begin_job()		a job is about to be started
 *	outcome_update()	takes in what it has written since; at its end once more
 *	outcome_classify()		what became of it
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_OUTCOME_H
#define WERKBANK_TRAIN_LAUNCH_RUN_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/journal.h"

struct outcome {
	bool began;	       /* this job wrote "start" */
	bool has_ever_begun;   /* any job since outcome_open() did */
	char reason[16];       /* of its "stop": finished, asked, failed; "": none */
	int exit;	       /* of its "stop" */
	int64_t step;	       /* the last one heard of; -1: none */
	double step_s, save_s; /* seconds: the slowest of late, and of a checkpoint; 0: none */
	struct journal_reader *reader; /* private */
};

enum outcome_verdict {
	OUTCOME_FINISHED,
	OUTCOME_STOPPED, /* saved, because it was asked to */
	OUTCOME_KILLED,	 /* at once, because that was asked for */
	OUTCOME_FAILED,	 /* another try would fail in the same way */
	OUTCOME_RESTART	 /* crashed, hung or lost: may be started again */
};

int outcome_open(struct outcome *o, const char *journal, struct err *e);
void outcome_begin_job(struct outcome *o);
void outcome_update(struct outcome *o);
void outcome_close(struct outcome *o);

/*
 * status: exit status of the job's first process. asked: it was asked to stop; was_killed: and
 * then ended with force. *exit: what we end with. why: what happened, for people.
 */
enum outcome_verdict outcome_classify(const struct outcome *o, int status, bool asked,
				      bool was_killed, int *exit, char why[160]);

#endif
