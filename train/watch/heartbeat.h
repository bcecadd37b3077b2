/*
 * heartbeat.h - the heartbeat of ranks, and the watchdog that ends a job which hangs.
 *
 * A thread of each rank sends one datagram a second to the first rank: which
 * step it is at, in which phase, since when, how many reductions it began and ended.
 * It uses no MPI, so that it speaks while MPI waits. The first rank watches: a rank
 * that holds up the others for late_after_s is named, with host, phase and
 * step, on standard error and in the journal; after hang_after_s without progress of
 * anybody it writes RUN/hang.txt (every rank's last word) and an event, and ends
 * the process with EX_TEMPFAIL, upon which the launcher ends the rest. A rank
 * that hears nothing from the first one for as long ends itself too.
 *
 * PHASE_REDUCE is wherever a rank waits for the others, whatever for: a rank that is
 * anywhere else for late_after_s while one waits is late.
 *
 * PHASE_START and PHASE_SAVE may take 10 times as long as other phases before
 * a rank counts as late or the job as hanging, PHASE_EVALUATE 240 times; calling heartbeat_set_phase()
 * again, even with the same step and phase, is a sign of progress. A rank whose heartbeats stop
 * is given no such time. Ranks that never were heard (UDP is blocked) are told once
 * and never counted as silent.
 *
 * The watchdog's "stop" record says failed, with exit 68, never asked: nothing was saved. It is
 * there for the launcher, since mpirun may never end when a host is gone. hang.txt
 * begins with the sentence of its "error" event.
 */
#ifndef WERKBANK_TRAIN_WATCH_HEARTBEAT_H
#define WERKBANK_TRAIN_WATCH_HEARTBEAT_H

#include <stdint.h>

#include "share/base/err.h"
#include "train/comm/comm.h"

enum rank_phase {
	PHASE_START,
	PHASE_INPUT,
	PHASE_COMPUTE,
	PHASE_REDUCE,
	PHASE_UPDATE,
	PHASE_SAVE,
	PHASE_EVALUATE, /* may take long: the watchdog is patient with it */
	PHASE_END,
};

struct heartbeat_options {
	/* hang_after_s 0: max(60, 20 * median step); until the first step has ended 600 */
	double late_after_s, hang_after_s;
	const char *network; /* borrowed: CIDR or interface between the hosts; NULL: found */
	const char *folder;  /* borrowed: the run's, for the first rank; may be NULL elsewhere */
};

struct heartbeat;

/* Collective. One rank alone: the watchdog watches itself. NULL: failure. */
struct heartbeat *heartbeat_open(const struct heartbeat_options *how, struct comm *comm,
				 struct err *e);

/* Cheap, never blocks, never fails; p may be NULL. */
void heartbeat_set_phase(struct heartbeat *p, int64_t step, enum rank_phase phase);

void heartbeat_free(struct heartbeat *p); /* may be NULL */

#endif
