/*
 * rescue.h - a living rank saves its state alone when other ranks are lost.
 *
 * A lost rank makes every collective of the others wait forever, so the ranks cannot save together
 * any more. But every rank has the complete state by itself: weights, moments and the position
 * of the loader change only in the update at the end of a step (stop_requests.h), and are the same on
 * all ranks that have finished the same step. So a thread of a living rank saves them while the training
 * thread waits. The run
 * resumes from this checkpoint, and no finished step is lost. It is an ordinary checkpoint: the next
 * job reads it from the page cache, and it survives a later loss of this host, which a copy in
 * memory would not.
 *
 * Which rank. Every rank has such a thread. The lowest living rank is the first to notice: rank n waits
 * n * STAGGER_S longer. Before it saves, a rank claims the step by making a folder (ckpt_claim()), which
 * only one can make; the others wait for the checkpoint, and claim the step again if the owner of the claim
 * seems to be dead, too. Its checkpoint never replaces another one of this step. Ranks may differ by one
 * step, if the loss came when some of them had finished the reduction: each step has its own claim, both
 * states are right, and the run resumes from the newer one. Before it saves, a rank compares the run's
 * lease (run_lease.h), so that no rank of an earlier attempt writes into a run that has gone on.
 *
 * Without a shared file system, one rank of each other host saves into a folder of its own host.
 *
 * mpirun. If mpirun or its daemon dies, ranks can still talk to each other: they agree on a stop and save
 * together, whatever the optimizer (stop_requests.h). If they do not agree, this thread saves, and ends its
 * process, which nobody else would do.
 *
 * Why a thread: Open MPI 4 may block in the middle of any call when a connection breaks, because
 * its error message waits for an answer of mpirun, which is ending the job.
 *
 * The thread assumes a loss if the state has not changed for some time, in which ranks that are
 * alive agree on a stop (stop_requests.h), and
 *
 *	SIGCONT arrived		mpirun sends it to the other ranks as soon as it has noticed a loss,
 *				then SIGTERM, then SIGKILL (mpirun.h, kill_after_s); Open MPI 5
 *				leaves no time to save
 *	SIGTERM arrived		the same, from mpirun or from a batch system, which often sends
 *				SIGCONT, too
 *	a heartbeat is missing	a host is cut off: mpirun and the watchdog notice it later. The first rank
 *				misses those of any rank, the others those of the first
 *
 *	the parent ended	mpirun, or its daemon on this host, was killed
 *
 * A wrong guess costs one checkpoint: the saved state is right in any case, and nothing else
 * changes. In particular progress.saved_step stays, because it must be the same on all ranks.
 *
 * It is impossible if a rank does not have the whole state in host memory: with
 * shard_optimizer and ema each rank has a part of it, error feedback (int8, 2bit, 1bit) belongs to each
 * rank, with local steps ranks differ, and a GPU may be in the middle of the update. Then the run
 * resumes from the last checkpoint. So the measured
 * algorithms of a GPU's products (product_choices.h) are never newer than the checkpoint here.
 */
#ifndef WERKBANK_TRAIN_TRAINER_RESCUE_H
#define WERKBANK_TRAIN_TRAINER_RESCUE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/workspace/run_lease.h"
#include "train/ckpt/ckpt.h"
#include "train/optim/adam.h"
#include "train/trainer/run_records.h"
#include "train/trainer/stop_requests.h"
#include "train/trainer/time_limit.h"
#include "train/trainer/trainer.h"
#include "train/watch/heartbeat.h"

/* The state that is saved, and the signs of a loss; everything is borrowed. */
struct rescue_options {
	const struct conf *conf;
	const char *folder; /* of the run */
	const char *corpus; /* its folder */
	/*
	 * Where to save if this host does not see the run's folder: the next start collects it from there
	 * (launch/run/rescued.h). NULL: it does.
	 */
	const char *own_folder;
	struct ckpt_state *state;
	const struct adam *adam;   /* and its model, all in host memory */
	const int64_t *saved_step; /* of the newest checkpoint */
	const double *save_s;	   /* seconds of the last one; 0: unknown */
	const struct run_lease *lease;
	const struct stop_requests *stopping;
	int rank;
	const struct time_limit *time;
	struct run_records *records;
	const struct trainer_signals *signals;
	struct heartbeat *heartbeat;
};

struct rescue;

/* After the state is loaded: start the thread. NULL: failure. */
struct rescue *rescue_open(const struct rescue_options *how, struct err *e);
void rescue_close(struct rescue *r); /* r may be NULL, here and below: no rescue */
/*
 * From now on the state does not change, or it may change; false waits for the end of a rescue under
 * way. step_ms: of the slowest rank in the last step; 0: unknown.
 */
void rescue_allow(struct rescue *r, bool allow, int64_t step_ms);
/*
 * Other ranks than the first: it saves the state, which does not change meanwhile. Only a sign of a loss that
 * comes from now on counts. Ends with rescue_allow().
 */
void rescue_allow_save(struct rescue *r);
/* Tell the rescue that the training loop failed with this code. */
void rescue_after(struct rescue *r, int code);

#endif
