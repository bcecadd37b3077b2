/* cpu_team.c - see cpu_team.h */
#include "kernels/cpu_team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define LOOK_OUT 400		/* times that somebody waiting looks before sleeping: about 10 us */
#define LOOK_OUT_S 100e-6	/* a helper that has worked so long looks out as long for more */

struct helper {
	struct cpu_team *team;
	pthread_t thread;
	int number;
};

struct cpu_team {
	pthread_mutex_t lock;
	pthread_cond_t work_is_there, helpers_have_left;
	struct helper *helpers;		/* (n_helpers) owned */
	int n_helpers, n_started;
	/* the loop that is done now; written under the lock while no helper is inside */
	cpu_team_work *work;
	const void *context;
	int64_t n_parts;
	bool closing;
	atomic_int wanted;		/* helpers that may still come in; changed under the lock */
	atomic_int inside;		/* helpers at work */
	_Atomic int64_t next;		/* the first part that nobody has taken */
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void take_parts(struct cpu_team *t, int thread)
{
	int64_t part;

	while ((part = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed)) < t->n_parts)
		t->work(t->context, thread, part);
}

/* Look whether a loop wants helpers: LOOK_OUT times, and for so many seconds. */
static void look_out(struct cpu_team *t, double seconds)
{
	const double end = clock_mono_s() + seconds;

	do {
		for (int i = 0; i < LOOK_OUT; i++) {
			if (atomic_load_explicit(&t->wanted, memory_order_relaxed) > 0)
				return;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
}

/*
 * Come in where a loop wants helpers, or sleep until one does. False: the team is closing. To be
 * woken takes long beside what is between two large products, and a processor that has worked so long
 * loses little by looking out.
 */
static bool come_in(struct cpu_team *t, double worked_s)
{
	bool closing;

	look_out(t, MIN(worked_s, LOOK_OUT_S));
	pthread_mutex_lock(&t->lock);
	while (t->wanted == 0 && !t->closing)
		pthread_cond_wait(&t->work_is_there, &t->lock);
	closing = t->closing;
	if (!closing) {
		t->wanted--;
		atomic_fetch_add_explicit(&t->inside, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&t->lock);
	return !closing;
}

static void *help(void *arg)
{
	struct helper *h = arg;
	struct cpu_team *t = h->team;
	double worked_s = 0;

	while (come_in(t, worked_s)) {
		const double begun = clock_mono_s();

		take_parts(t, h->number);
		worked_s = clock_mono_s() - begun;
		pthread_mutex_lock(&t->lock);
		if (atomic_fetch_sub_explicit(&t->inside, 1, memory_order_release) == 1)
			pthread_cond_signal(&t->helpers_have_left);
		pthread_mutex_unlock(&t->lock);
	}
	return NULL;
}

struct cpu_team *cpu_team_new(int threads, struct err *e)
{
	struct cpu_team *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->n_helpers = MAX(threads - 1, 0);
	t->helpers = mem_alloc((size_t)t->n_helpers, sizeof(*t->helpers), e);
	if (!t->helpers) {
		free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work_is_there, NULL);
	pthread_cond_init(&t->helpers_have_left, NULL);
	return t;
}

static void start_helpers(struct cpu_team *t, int n)
{
	while (t->n_started < n) {
		struct helper *h = &t->helpers[t->n_started];

		h->team = t;
		h->number = t->n_started + 1;
		if (pthread_create(&h->thread, NULL, help, h))
			return;
		t->n_started++;
	}
}

static void open_loop(struct cpu_team *t, int helpers, int64_t n_parts, cpu_team_work *work,
		      const void *context)
{
	pthread_mutex_lock(&t->lock);
	t->work = work;
	t->context = context;
	t->n_parts = n_parts;
	atomic_store_explicit(&t->next, 0, memory_order_relaxed);
	t->wanted = MIN(helpers, t->n_started);
	if (t->wanted == 1)
		pthread_cond_signal(&t->work_is_there);
	else
		pthread_cond_broadcast(&t->work_is_there);
	pthread_mutex_unlock(&t->lock);
}

/* From now on nobody comes in; wait for those inside, awake at first. */
static void close_loop(struct cpu_team *t)
{
	pthread_mutex_lock(&t->lock);
	t->wanted = 0;
	pthread_mutex_unlock(&t->lock);
	for (int i = 0; i < LOOK_OUT; i++) {
		if (atomic_load_explicit(&t->inside, memory_order_acquire) == 0)
			return;
		pause_briefly();
	}
	pthread_mutex_lock(&t->lock);
	while (atomic_load_explicit(&t->inside, memory_order_acquire) > 0)
		pthread_cond_wait(&t->helpers_have_left, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void cpu_team_run(struct cpu_team *t, int threads, int64_t n_parts, cpu_team_work *work,
		  const void *context)
{
	int helpers = t ? (int)MIN(MIN(threads - 1, t->n_helpers), n_parts - 1) : 0;

	if (helpers <= 0) {
		for (int64_t part = 0; part < n_parts; part++)
			work(context, 0, part);
		return;
	}
	start_helpers(t, helpers);
	open_loop(t, helpers, n_parts, work, context);
	take_parts(t, 0);
	close_loop(t);
}

void cpu_team_free(struct cpu_team *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->closing = true;
	pthread_cond_broadcast(&t->work_is_there);
	pthread_mutex_unlock(&t->lock);
	for (int i = 0; i < t->n_started; i++)
		pthread_join(t->helpers[i].thread, NULL);
	pthread_cond_destroy(&t->helpers_have_left);
	pthread_cond_destroy(&t->work_is_there);
	pthread_mutex_destroy(&t->lock);
	free(t->helpers);
	free(t);
}
