/* stop_requests.c - see stop_requests.h */
#include "train/trainer/stop_requests.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/util.h"

/*
 * While the length of a step is unknown, the next agreement follows after at most this many times
 * the micro-batches done so far.
 */
#define MOST_GROWTH 8

static void read_control_file(struct stop_requests *s)
{
	struct control c;

	if (s->comm->rank != 0)
		return;
	c = control_read_requests(s->folder);
	s->requests.save |= c.save;
	s->requests.evaluate |= c.evaluate;
	s->requests.stop |= c.stop;
}

bool stop_requests_lost_parent(const struct stop_requests *s)
{
	return s->parent && getppid() != s->parent;
}

void stop_requests_ask(struct stop_requests *s, int64_t asks[N_STOP_ASKS])
{
	const int number = (int)s->signals->stop;
	const bool is_foreign = number == SIGTERM || number == SIGINT;
	const bool is_lost = stop_requests_lost_parent(s);

	read_control_file(s);
	asks[STOP_ASKED] = s->requests.stop	   ? STOP_BY_FILE
			   : number && !is_foreign ? STOP_BY_SIGNAL
			   : is_lost		   ? STOP_BY_LOSS
						   : 0;
	asks[STOP_SIGNALLED] = is_lost	    ? s->comm->size + s->comm->rank + 1
			       : is_foreign ? s->comm->rank + 1
					    : 0;
}

bool stop_requests_decide(struct stop_requests *s, const int64_t asks[N_STOP_ASKS])
{
	s->is_by_loss = asks[STOP_ASKED] == STOP_BY_LOSS;
	s->lost_rank = s->is_by_loss ? asks[STOP_SIGNALLED] - s->comm->size - 1 : -1;
	s->is_by_file = asks[STOP_ASKED] == STOP_BY_FILE;
	s->signalled_rank = asks[STOP_ASKED] ? -1 : asks[STOP_SIGNALLED] - 1;
	return asks[STOP_ASKED] || asks[STOP_SIGNALLED];
}

/*
 * Micro-batches from one agreement to the next; every rank computes the same number. done: in this
 * step, which took ms on the slowest rank. A GPU only enqueues its first step, so its time
 * may mean little.
 */
static int64_t agreement_interval(const struct stop_requests *s, int64_t done, int64_t ms)
{
	const int64_t all = s->micro_batches / s->comm->size;

	if (s->step_ms > 0)
		return MAX(STOP_AGREE_MS * all / s->step_ms, 1);
	return MIN(MAX(STOP_AGREE_MS * done / MAX(ms, 1), 1), MOST_GROWTH * MAX(done, 1));
}

int stop_requests_cut_step(struct stop_requests *s, int64_t step, int64_t done, bool *cut,
			   struct err *e)
{
	/* the number that every rank has; some ranks have one more */
	const int64_t all = s->micro_batches / s->comm->size;
	int64_t asks[N_STOP_ASKS + 1];

	*cut = false;
	if (done == 0) {
		s->step_began = clock_mono_s();
		s->next_agreement = s->step_ms > 0 ? agreement_interval(s, 0, 0) : 1;
	}
	if (!s->may_cut || done >= all || done < s->next_agreement)
		return 0;
	stop_requests_ask(s, asks);
	asks[N_STOP_ASKS] = (int64_t)((clock_mono_s() - s->step_began) * 1000);
	heartbeat_set_phase(s->heartbeat, step, PHASE_REDUCE); /* this rank waits for the others */
	if (s->comm->max_ints(s->comm, asks, N_STOP_ASKS + 1, e))
		return e->code;
	*cut = stop_requests_decide(s, asks);
	s->next_agreement = done + agreement_interval(s, done, asks[N_STOP_ASKS]);
	return 0;
}
