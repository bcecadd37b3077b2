/* rescue.c - see rescue.h */
#include "train/trainer/rescue.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "train/trainer/stop_requests.h"

#define POLL_S	 0.1  /* interval of the thread */
#define SLOWER_S 0.3  /* after a signal: how much later than this rank others may agree */
#define SIGNAL_S 10.0 /* a SIGCONT counts for this time */
#define AGAIN_S	 60.0 /* between two rescues because of a missing heartbeat */

struct rescue {
	struct rescue_options how;
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

/* Under the lock. */
static void rescue_state(struct rescue *r, const char *why)
{
	const struct rescue_options *t = &r->how;
	const double begun = clock_mono_s();
	struct err e = { 0 };
	int64_t bytes;

	r->step = t->state->step;
	r->saved_at = begun;
	t->state->seconds = time_limit_seconds(t->time);
	if (ckpt_save(t->folder, t->state, t->adam->model, t->adam->first, t->adam->second,
		      (int)t->conf->keep, &bytes, &e)) {
		run_records_event(t->records, "warning",
				  "cannot save the state of step %lld alone (%s): %.300s",
				  (long long)t->state->step, why, e.text);
		return;
	}
	run_records_checkpoint(t->records, bytes, clock_mono_s() - begun, true);
	run_records_event(t->records, "info",
			  "the first rank saved the state of step %lld alone: %s",
			  (long long)t->state->step, why);
}

static bool is_state_unsaved(const struct rescue *r)
{
	return r->is_allowed && r->step != r->how.state->step &&
	       *r->how.saved_step != r->how.state->step;
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
	const struct rescue_options *t = &r->how;
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
	else if (unchanged_s >= t->conf->late_after && heartbeat_misses_rank(t->heartbeat) &&
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
		until.tv_nsec += (long)(POLL_S * 1e9);
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&r->wake, &r->lock, &until);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct rescue *rescue_open(const struct rescue_options *how, struct err *e)
{
	pthread_condattr_t monotonic;
	struct rescue *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	*r = (struct rescue){ .how = *how, .step = -1, .continued = (int)how->signals->continued };
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (proc_start_thread(&r->thread, rescue_thread, r,
			      "saves the state of a job that lost a rank", e)) {
		pthread_cond_destroy(&r->wake);
		pthread_mutex_destroy(&r->lock);
		free(r);
		return NULL;
	}
	return r;
}

void rescue_close(struct rescue *r)
{
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
}

void rescue_allow(struct rescue *r, bool allow, int64_t step_ms)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_allowed = allow;
	r->allowed_at = clock_mono_s();
	r->agree_s = SLOWER_S +
		     0.001 * (double)(step_ms > 0 ? MIN(step_ms, STOP_AGREE_MS) : STOP_AGREE_MS);
	pthread_mutex_unlock(&r->lock);
}

void rescue_after(struct rescue *r, int code)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	if (code == ERR_NOHOST && is_state_unsaved(r))
		rescue_state(r, "the connection to other ranks failed");
	r->is_allowed = false;
	pthread_mutex_unlock(&r->lock);
}
