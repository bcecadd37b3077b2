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
#include "train/trainer/trainer_internal.h"

#include <signal.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/util.h"
#include "train/common/control.h"

#define MOST_GROWTH 8 /* in a step of unknown length: from one agreement to the next */

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

/*
 * Micro-batches from one agreement to the next; every rank computes the same number. done: in this
 * step, which took so many ms on the slowest rank. A GPU only enqueues its first step, so its time
 * may mean little.
 */
static int64_t agreement_interval(const struct trainer *t, int64_t done, int64_t ms)
{
	const int64_t all = t->conf->micro_batches / t->comm->size;

	if (t->stopping.step_ms > 0)
		return MAX(STOP_AGREE_MS * all / t->stopping.step_ms, 1);
	return MIN(MAX(STOP_AGREE_MS * done / MAX(ms, 1), 1), MOST_GROWTH * MAX(done, 1));
}

int trainer_cut_step(struct trainer *t, int64_t done, bool *cut, struct err *e)
{
	/* the number that every rank has; some ranks have one more */
	const int64_t all = t->conf->micro_batches / t->comm->size;
	struct trainer_stopping *s = &t->stopping;
	int64_t asks[N_STOP_ASKS + 1];

	*cut = false;
	if (done == 0) {
		s->step_began = clock_mono_s();
		s->next_agreement = s->step_ms > 0 ? agreement_interval(t, 0, 0) : 1;
	}
	if (!s->may_cut || done >= all || done < s->next_agreement)
		return 0;
	trainer_own_stop(t, asks);
	asks[N_STOP_ASKS] = (int64_t)((clock_mono_s() - s->step_began) * 1000);
	trainer_at_phase(t, PHASE_REDUCE); /* this rank waits for the others */
	if (t->comm->max_ints(t->comm, asks, N_STOP_ASKS + 1, e))
		return e->code;
	*cut = trainer_must_stop(t, asks);
	s->next_agreement = done + agreement_interval(t, done, asks[N_STOP_ASKS]);
	return 0;
}
