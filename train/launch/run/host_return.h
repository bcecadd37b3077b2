/*
 * host_return.h - finds out when a lost host answers again, while a run goes on without it.
 *
 * States of a host of the run:
 *
 *	          a job begins without it               a poll: it answers
 *	THERE ------------------------> LOST ----------------------------> ANSWERS
 *	  ^                              ^                                    |
 *	  |                              |  a poll: no answer                 | the next checkpoint
 *	  |                              +--------------------------------- CONFIRM: poll again
 *	  |  a job begins with it                                             |
 *	  +-------------------------------------------------------------------+ it answers: true
 *
 * A poll runs "true" on the host, in the background: the launcher never waits for it. The first
 * poll comes 60 s after the loss, further ones after twice the time each, at most 10 minutes. A host
 * that is lost again soon (within RETURN_STABLE times its wait), or that answers but does not
 * come, waits twice as long for its first poll, at most an hour: it cannot make the run restart
 * again and again. $WERKBANK_RETURN: another number than 60.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_HOST_RETURN_H
#define WERKBANK_TRAIN_LAUNCH_RUN_HOST_RETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/run/attempts.h"

#define RETURN_WAIT_S	   60.0	  /* from the loss of a host to the first poll */
#define RETURN_LOOK_FACTOR 10.0	  /* limit of the pause between two polls, times RETURN_WAIT_S */
#define RETURN_MAX_WAIT_S  3600.0 /* limit of the wait of a host that comes and goes */
#define RETURN_STABLE	   10.0

struct lost_host;

struct host_return {
	const struct attempts *a; /* borrowed; without hosts or --elastic nothing is done */
	struct lost_host *all;	  /* (n) owned: one for each host of a */
	size_t n;
	double wait_s; /* RETURN_WAIT_S, or another number */
};

/* wait_s: of the first poll. Call host_return_close() in any case. */
int host_return_open(struct host_return *r, const struct attempts *a, double wait_s, struct err *e);
void host_return_close(struct host_return *r);

/* A job begins with these hosts. now: monotonic seconds, as below. */
void host_return_begin_job(struct host_return *r, const struct hosts *present, double now);

/*
 * Call it about once a second while a job runs; never waits. saves: checkpoints of this job so far.
 * true: a lost host answers before and after a checkpoint, so the job may stop and continue with
 * this host. news: a sentence for the user, or "".
 */
bool host_return_look(struct host_return *r, int64_t saves, double now, char news[200]);

/* The job has ended, and so do the polls. */
void host_return_end_job(struct host_return *r);

/*
 * The job failed before its first checkpoint. Set left_out[i] for its hosts that were lost in the
 * job before: one of them may answer and be unable to train.
 */
void host_return_suspects(const struct host_return *r, bool *left_out);

#endif
