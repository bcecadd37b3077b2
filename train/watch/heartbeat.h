/*
 * heartbeat.h - heartbeats of the ranks, and the watchdog that ends a hanging job.
 *
 * Protocol. A thread of each rank sends a UDP datagram to the first rank once a second: its step
 * and phase, the time in the phase, and how many reductions it has begun and ended. The first rank
 * answers each datagram with its own state. The thread uses no MPI, so heartbeats go on while MPI
 * waits. The training thread only stores its step and phase (heartbeat_set_phase()).
 *
 * Late ranks. PHASE_REDUCE means: this rank waits for other ranks, for any reason. While a
 * rank waits, another rank that stays in any other phase for late_after_s is late. The watchdog of
 * the first rank names it, with host, phase and step, on standard error and in the journal. A rank
 * whose heartbeats stop for late_after_s is late as well.
 *
 * Hanging jobs. Every call of heartbeat_set_phase(), even with the same step and phase, is
 * progress. After hang_after_s without progress of any rank the watchdog writes RUN/hang.txt (the
 * last heartbeat of every rank) and an "error" event, and ends the process with EX_TEMPFAIL; then
 * the launcher ends the other ranks. A rank that gets no answer from the first rank for this time,
 * and makes no progress itself, ends itself.
 *
 * Long phases. PHASE_START and PHASE_SAVE may take 10 times late_after_s or hang_after_s,
 * PHASE_EVALUATE 240 times. This does not apply to a rank whose heartbeats stop. Ranks that were
 * never heard (UDP may be blocked) cause one warning and never count as late.
 *
 * Records. The watchdog's "stop" record has the reason failed and exit 68, not 75: nothing was
 * saved. The launcher needs it, because mpirun may never end if a host is lost. hang.txt begins
 * with the text of the "error" event.
 */
#ifndef WERKBANK_TRAIN_WATCH_HEARTBEAT_H
#define WERKBANK_TRAIN_WATCH_HEARTBEAT_H

#include <stdbool.h>
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
	PHASE_EVALUATE, /* may take long: the limits are 240 times as long */
	PHASE_END,
};

struct heartbeat_options {
	/* hang_after_s 0: max(60, 20 * median step); 600 until the first step has ended */
	double late_after_s, hang_after_s;
	const char *network; /* borrowed: CIDR or interface between hosts; NULL: chosen */
	const char *folder;  /* borrowed: of the run; other ranks than the first may have NULL */
};

struct heartbeat;

/* Collective; starts the thread. A single rank has a watchdog, too. NULL: failure. */
struct heartbeat *heartbeat_open(const struct heartbeat_options *how, struct comm *comm,
				 struct err *e);

/*
 * The training thread enters a phase of a step (-1: before the first). Never blocks or fails. p may
 * be NULL.
 */
void heartbeat_set_phase(struct heartbeat *p, int64_t step, enum rank_phase phase);

/*
 * First rank: has a rank sent no heartbeats for late_after_s? Others: has the first rank answered none for
 * this time? Never blocks. p may be NULL.
 */
bool heartbeat_misses_rank(const struct heartbeat *p);

/* While it is set, the watchdog does not end this process: it saves. p may be NULL. */
void heartbeat_hold(struct heartbeat *p, bool hold);

/* Tell the other ranks that this rank has ended, and stop the thread. p may be NULL. */
void heartbeat_free(struct heartbeat *p);

#endif
