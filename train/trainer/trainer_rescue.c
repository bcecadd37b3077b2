/*
 * trainer_rescue.c - the first rank saves alone when others are lost; see trainer_internal.h
 *
 * A lost rank makes every collective of the others wait for ever, so the ranks cannot save together
 * any more. But the first rank has the complete state by itself: weights, moments and the position
 * of the loader change only in the update at the end of a step (trainer_stop.c), and are the same on
 * all ranks. So a thread of the first rank saves them while the training thread waits. The run
 * resumes from this checkpoint, and no finished step is lost. It is an ordinary checkpoint: the next
 * job reads it from the page cache, and it survives a later loss of this host, which a copy in
 * memory would not.
 *
 * Why a thread: Open MPI 4 may block in the middle of any call when a connection breaks, because
 * its error message waits for an answer of mpirun, which is ending the job.
 *
 * The thread assumes a loss if the state has not changed for some time, in which ranks that are
 * alive agree on a stop (trainer_stop.c), and
 *
 *	SIGCONT arrived		mpirun sends it to the other ranks as soon as it has noticed a loss,
 *				then SIGTERM, then SIGKILL (mpirun.h, kill_after_s); Open MPI 5
 *				leaves no time to save
 *	SIGTERM arrived		the same, from mpirun or from a batch system, which often sends
 *				SIGCONT, too
 *	a heartbeat is missing	a host is cut off: mpirun and the watchdog notice it later
 *
 * A wrong guess costs one checkpoint: the saved state is right in any case, and nothing else
 * changes. In particular progress.saved_step stays, because it must be the same on all ranks.
 *
 * It is impossible if the first rank does not have the whole state in host memory: with
 * shard_optimizer and ema each rank has a part of it, error feedback (2bit, 1bit) belongs to each
 * rank, with local steps ranks differ, and a GPU may be in the middle of the update. Then the run
 * resumes from the last checkpoint, and so it does if the first rank itself is lost. So the measured
 * algorithms of a GPU's products (trainer_products.c) are never newer than the checkpoint here.
 */
#include "train/trainer/trainer_internal.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define LOOK_S	 0.1  /* interval of the thread */
#define SLOWER_S 0.3  /* after a signal: how much later than this rank others may agree */
#define SIGNAL_S 10.0 /* a SIGCONT counts for so long */
#define AGAIN_S	 60.0 /* between two rescues because of a missing heartbeat */

struct rescue {
	struct trainer *t;    /* borrowed */
	pthread_mutex_t lock; /* protects all below, and the state while it is saved */
	pthread_cond_t wake;
	pthread_t thread;
	bool quit;
	bool is_allowed;     /* the state is that of state.step, and stays so */
	double allowed_at;   /* monotonic seconds, as below: since when */
	double agree_s;	     /* time until living ranks agree on a stop */
	double signal_at;    /* of the signal that tells of a loss; 0: none */
	int64_t step;	     /* of the last rescue; -1: none */
	double saved_at;     /* of the last rescue; 0: none */
	int continued;	     /* SIGCONTs seen so far */
	double continued_at; /* of the last SIGCONT; 0: none */
};

static bool has_whole_state(const struct trainer *t)
{
	return trainer_is_first(t) && t->comm->size > 1 && arena_is_host(t->model) &&
	       !t->ranks.reduce_options.shards && !t->ranks.local_steps && !t->ema &&
	       !(t->ranks.reduce && reduce_error_feedback(t->ranks.reduce));
}

/* Under the lock. */
static void rescue_state(struct rescue *r, const char *why)
{
	struct trainer *t = r->t;
	const double begun = clock_mono_s();
	struct err e = { 0 };
	int64_t bytes;

	r->step = t->state.step;
	r->saved_at = begun;
	t->state.seconds = trainer_seconds(t);
	if (ckpt_save(t->folder, &t->state, t->model, t->adam.first, t->adam.second,
		      (int)t->conf->keep, &bytes, &e)) {
		report_event(t, "warning", "cannot save the state of step %lld alone (%s): %.300s",
			     (long long)t->state.step, why, e.text);
		return;
	}
	report_save(t, bytes, clock_mono_s() - begun, true);
	report_event(t, "info", "the first rank saved the state of step %lld alone: %s",
		     (long long)t->state.step, why);
}

static bool is_state_unsaved(const struct rescue *r)
{
	return r->is_allowed && r->step != r->t->state.step &&
	       r->t->progress.saved_step != r->t->state.step;
}

static void rescue_signalled_state(struct rescue *r)
{
	char why[100];

	snprintf(why, sizeof(why),
		 "it got a signal, and the ranks did not agree on a stop within %.1f s",
		 r->agree_s);
	rescue_state(r, why);
}

static void check_for_loss(struct rescue *r, double now)
{
	const struct trainer *t = r->t;
	const int number = (int)t->signals->stop, continued = (int)t->signals->continued;
	const double unchanged_s = now - r->allowed_at;
	bool has_signal;

	if (continued != r->continued)
		r->continued_at = now;
	r->continued = continued;
	has_signal = number == SIGTERM || number == SIGINT ||
		     (r->continued_at > 0 && now - r->continued_at < SIGNAL_S);
	if (!has_signal)
		r->signal_at = 0;
	else if (!(r->signal_at > 0))
		r->signal_at = now;
	if (!is_state_unsaved(r))
		return;
	if (has_signal && now - fmax(r->signal_at, r->allowed_at) >= r->agree_s)
		rescue_signalled_state(r);
	else if (unchanged_s >= t->conf->late_after && heartbeat_misses_rank(t->ranks.heartbeat) &&
		 (!(r->saved_at > 0) || now - r->saved_at >= AGAIN_S))
		rescue_state(r, "another rank sends no heartbeats");
}

static void *rescue_thread(void *arg)
{
	struct rescue *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->quit) {
		struct timespec until;

		check_for_loss(r, clock_mono_s());
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += (long)(LOOK_S * 1e9);
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&r->wake, &r->lock, &until);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* The thread blocks all signals: the training thread handles them. */
int trainer_rescue_open(struct trainer *t, struct err *e)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;
	struct rescue *r;
	int rc;

	if (!has_whole_state(t))
		return 0;
	r = mem_alloc(1, sizeof(*r), e);
	if (!r)
		return e->code;
	*r = (struct rescue){ .t = t, .step = -1, .continued = (int)t->signals->continued };
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&r->thread, NULL, rescue_thread, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		pthread_cond_destroy(&r->wake);
		pthread_mutex_destroy(&r->lock);
		free(r);
		return err_set(e, ERR_NOMEM,
			       "cannot start a thread that saves the state of a "
			       "job that lost a rank: %s",
			       strerror(rc));
	}
	t->rescue = r;
	return 0;
}

void trainer_rescue_close(struct trainer *t)
{
	struct rescue *r = t->rescue;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	free(r);
	t->rescue = NULL;
}

void trainer_allow_rescue(struct trainer *t, bool allow)
{
	struct rescue *r = t->rescue;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_allowed = allow;
	r->allowed_at = clock_mono_s();
	r->agree_s = SLOWER_S + 0.001 * (double)(t->stopping.step_ms > 0
							 ? MIN(t->stopping.step_ms, STOP_AGREE_MS)
							 : STOP_AGREE_MS);
	pthread_mutex_unlock(&r->lock);
}

void trainer_rescue_after(struct trainer *t, int code)
{
	struct rescue *r = t->rescue;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	if (code == ERR_NOHOST && is_state_unsaved(r))
		rescue_state(r, "the connection to other ranks failed");
	r->is_allowed = false;
	pthread_mutex_unlock(&r->lock);
}
