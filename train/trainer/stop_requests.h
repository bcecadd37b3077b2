/*
 * stop_requests.h - requests to stop a run, also in the middle of a step.
 *
 * A rank is asked to stop by
 *
 *	SIGUSR1			the launcher, through mpirun
 *	"stop" in control	werkbank stop on another host; the first rank reads the file
 *	SIGTERM, SIGINT		somebody else: its host shuts down, or a batch system ends the job. If
 *				nothing else asks, the run stops for this rank, and the launcher
 *				decides whether it goes on without the rank's host.
 *	the end of its parent	mpirun, its daemon on the rank's host, or Slurm's: was killed. The ranks
 *				can still talk to each other, so they save together; the run has
 *				failed then, and the launcher starts it again.
 *
 * All ranks must stop at the same place, so they agree: before each step, and within a step that
 * takes seconds about every STOP_AGREE_MS between two micro-batches. A step that is cut short is dropped:
 * its gradients are only sums so far, and the weights, the moments and the position of the loader
 * are those of the step before until the update. So the run saves this state, and resuming computes
 * the step again, with the same bits as without the stop. No copy of weights or moments is needed.
 *
 * The price is one collective of three numbers every STOP_AGREE_MS; none in steps shorter than that,
 * except the first one, whose length is unknown: its ranks agree after the first micro-batch and
 * learn from it how long such a batch takes. A stop waits for the micro-batches under way, never
 * longer than about STOP_AGREE_MS and one micro-batch. With
 * local steps the ranks differ between two averages, and a stop waits for the next average.
 */
#ifndef WERKBANK_TRAIN_TRAINER_STOP_REQUESTS_H
#define WERKBANK_TRAIN_TRAINER_STOP_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "train/comm/comm.h"
#include "train/common/control.h"
#include "train/trainer/trainer.h"
#include "train/watch/heartbeat.h"

/* Numbers are the same on all ranks. */
struct stop_requests {
	struct comm *comm; /* borrowed, as the next three */
	const struct trainer_signals *signals;
	const char *folder; /* of the run */
	struct heartbeat *heartbeat;
	int64_t micro_batches;	 /* of a step, on all ranks */
	struct control requests; /* first rank: from the control file, not yet done */
	bool may_cut;		 /* the state before this step can be saved */
	int64_t step_ms;	 /* of the slowest rank in the last step; 0: unknown */
	double step_began;	 /* clock_mono_s(), on this rank */
	int64_t next_agreement;	 /* micro-batches of this step that are done by then */
	int parent;		 /* process that started this rank; 0: not watched */
	bool is_by_loss;	 /* the reason to stop is that a rank has lost its parent: */
	int64_t lost_rank;	 /* this one, the last of several */
	bool is_by_file;	 /* the control file is the reason to stop, not a signal */
	int64_t signalled_rank;	 /* this rank's SIGTERM is the reason to stop; -1: a request is */
};

/*
 * What ranks agree on by max_ints(): a request to stop; 1 + the last rank that got SIGTERM, or 1 + ranks + the
 * last one that lost its parent.
 */
enum { STOP_ASKED, STOP_SIGNALLED, N_STOP_ASKS };
/* Values of STOP_ASKED: a lost parent, the launcher's signal, the control file. */
enum { STOP_BY_LOSS = 1, STOP_BY_SIGNAL, STOP_BY_FILE };
/* The interval in which ranks that compute agree on a stop. */
#define STOP_AGREE_MS 500

/* Has the process that started this rank ended? */
bool stop_requests_lost_parent(const struct stop_requests *s);
/* asks = what this rank was asked. */
void stop_requests_ask(struct stop_requests *s, int64_t asks[N_STOP_ASKS]);
/* asks: the maxima over ranks. Sets signalled_rank. Must the run stop? */
bool stop_requests_decide(struct stop_requests *s, const int64_t asks[N_STOP_ASKS]);
/*
 * Before each micro-batch: must this step (from 0) end here? done: micro-batches of this rank in
 * this step; call it with 0, 1, 2, ...
 */
int stop_requests_cut_step(struct stop_requests *s, int64_t step, int64_t done, bool *cut,
			   struct err *e);

#endif
