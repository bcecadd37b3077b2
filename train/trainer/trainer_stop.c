/*
 * trainer_stop.c - requests to stop a run, also in the middle of a step; see trainer_internal.h
 *
 * A rank is asked to stop by
 *
 *	SIGUSR1			the launcher, through mpirun
 *	"stop" in control	werkbank stop on another host; the first rank reads the file
 *	SIGTERM, SIGINT		somebody else: its host shuts down, or a batch system ends the job. If
 *				nothing else asks, the run stops for this rank, and the launcher
 *				decides whether it goes on without the rank's host.
 *
 * All ranks must stop at the same place, so they agree: before each step, and within a step that
 * takes seconds about every AGREE_MS between two micro-batches. A step that is cut short is dropped:
 * its gradients are only sums so far, and the weights, the moments and the position of the loader
 * are those of the step before until the update. So the run saves this state, and resuming computes
 * the step again, with the same bits as without the stop. No copy of weights or moments is needed.
 *
 * The price is one collective of two numbers every AGREE_MS; none in steps shorter than that. A stop
 * waits for the micro-batches under way, never longer than about AGREE_MS and one micro-batch. With
 * local steps the ranks differ between two averages, and a stop waits for the next average.
 */
#include "train/trainer/trainer_internal.h"

#include <signal.h>
#include <string.h>

#include "share/base/util.h"
#include "train/common/control.h"

#define AGREE_MS 500

void trainer_read_requests(struct trainer *t)
{
	struct control c;

	if (!trainer_is_first(t))
		return;
	c = control_read_requests(t->folder);
	t->stopping.requests.save |= c.save;
	t->stopping.requests.evaluate |= c.evaluate;
	t->stopping.requests.stop |= c.stop;
}

void trainer_own_stop(struct trainer *t, int64_t asks[N_STOP_ASKS])
{
	const int number = (int)t->signals->stop;
	const bool is_foreign = number == SIGTERM || number == SIGINT;

	trainer_read_requests(t);
	asks[STOP_ASKED] = t->stopping.requests.stop ? STOP_BY_FILE
			   : number && !is_foreign   ? STOP_BY_SIGNAL
						     : 0;
	asks[STOP_SIGNALLED] = is_foreign ? t->comm->rank + 1 : 0;
}

bool trainer_must_stop(struct trainer *t, const int64_t asks[N_STOP_ASKS])
{
	t->stopping.is_by_file = asks[STOP_ASKED] == STOP_BY_FILE;
	t->stopping.signalled_rank = asks[STOP_ASKED] ? -1 : asks[STOP_SIGNALLED] - 1;
	return asks[STOP_ASKED] || asks[STOP_SIGNALLED];
}

/* Micro-batches between two agreements; every rank computes the same number. */
static int64_t agreement_interval(const struct trainer *t, int64_t micro_batches)
{
	return MAX(AGREE_MS * micro_batches / MAX(t->stopping.step_ms, 1), 1);
}

int trainer_cut_step(struct trainer *t, int64_t done, bool *cut, struct err *e)
{
	/* the number that every rank has; some ranks have one more */
	const int64_t all = t->conf->micro_batches / t->comm->size;
	int64_t asks[N_STOP_ASKS];

	*cut = false;
	if (!t->stopping.may_cut || done < 1 || done >= all || done % agreement_interval(t, all))
		return 0;
	trainer_own_stop(t, asks);
	trainer_at_phase(t, PHASE_REDUCE); /* this rank waits for the others */
	if (t->comm->max_ints(t->comm, asks, N_STOP_ASKS, e))
		return e->code;
	*cut = trainer_must_stop(t, asks);
	return 0;
}
