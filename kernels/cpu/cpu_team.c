/* cpu_team.c - see cpu_team.h */
#include "kernels/cpu/cpu_team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define SPIN_SECONDS 100e-6 /* who waits looks so long before it sleeps, at most */
#define SPIN_CHECKS  64	    /* between two looks at the clock: about 2 us */

struct helper {
	struct cpu_team *team;
	pthread_t thread;
	int number;
};

/*
 * The door counts in one word, so that nobody needs a lock to come in or to leave: below, helpers
 * that may still come in; above, those inside. What the loop is changes only while it is 0. Locks
 * are for those who sleep. Who goes to sleep says so first and looks once more; who has
 * something to say, says it first and then looks for sleepers: one of both sees the other.
 */
#define ONE_INSIDE		   0x10000u
#define MOST_HELPERS		   0x1000
#define FREE_ENTRIES(entry_counts) ((entry_counts) % ONE_INSIDE)

/*
 * Each thread has parts of its own that follow on each other, so that what it has read ahead is
 * what it needs next; when they are done it takes from what others have left.
 */
struct range {
	_Alignas(64) _Atomic int64_t next; /* the first part that nobody has taken */
	int64_t end;
};

struct cpu_team {
	/* the loop that is done now */
	cpu_team_work *work;
	const void *context;
	struct range *ranges;	/* (n_helpers + 1) owned */
	int n_ranges;		/* of the loop */
	struct helper *helpers; /* (n_helpers) owned */
	int n_helpers, n_started;
	pthread_mutex_t lock;
	pthread_cond_t work_available, helpers_left;
	bool closing; /* under the lock */
	_Alignas(64) atomic_uint entry_counts;
	atomic_int asleep; /* helpers */
	atomic_bool caller_asleep;
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void team_run_parts(struct cpu_team *t, int thread)
{
	const int n = t->n_ranges;
	int64_t part;

	for (int i = 0; i < n; i++) {
		struct range *r = &t->ranges[(thread + i) % n];

		while ((part = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) <
		       r->end)
			t->work(t->context, thread, part);
	}
}

static bool team_try_enter(struct cpu_team *t)
{
	unsigned entry_counts = atomic_load_explicit(&t->entry_counts, memory_order_relaxed);

	while (FREE_ENTRIES(entry_counts) > 0)
		if (atomic_compare_exchange_weak_explicit(
			    &t->entry_counts, &entry_counts, entry_counts - 1 + ONE_INSIDE,
			    memory_order_acquire, memory_order_relaxed))
			return true;
	return false;
}

/* Look for so many seconds whether a loop wants helpers. True: inside. */
static bool team_spin_for_work(struct cpu_team *t, double seconds)
{
	const double end = clock_mono_s() + seconds;

	do {
		for (int i = 0; i < SPIN_CHECKS; i++) {
			if (team_try_enter(t))
				return true;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
	return false;
}

/* Sleep until a loop wants helpers. True: inside; false: the team is closing. */
static bool team_sleep_for_work(struct cpu_team *t)
{
	bool in = false;

	pthread_mutex_lock(&t->lock);
	atomic_fetch_add(&t->asleep, 1);
	while (!t->closing && !(in = team_try_enter(t)))
		pthread_cond_wait(&t->work_available, &t->lock);
	atomic_fetch_sub(&t->asleep, 1);
	pthread_mutex_unlock(&t->lock);
	return in;
}

static void team_leave_loop(struct cpu_team *t)
{
	if (atomic_fetch_sub(&t->entry_counts, ONE_INSIDE) / ONE_INSIDE > 1 ||
	    !atomic_load(&t->caller_asleep))
		return;
	pthread_mutex_lock(&t->lock);
	pthread_cond_signal(&t->helpers_left);
	pthread_mutex_unlock(&t->lock);
}

/*
 * To be woken takes long beside what is between two products of a step, and a processor that has
 * worked loses little by looking out: for as long as it has worked, not more.
 */
static void *team_helper_main(void *arg)
{
	struct helper *h = arg;
	struct cpu_team *t = h->team;
	double left = clock_mono_s(), worked_s = 0;

	while (team_spin_for_work(t, MIN(worked_s, SPIN_SECONDS)) || team_sleep_for_work(t)) {
		const double came = clock_mono_s();

		team_run_parts(t, h->number);
		team_leave_loop(t);
		worked_s = MAX(0, worked_s - (came - left));
		left = clock_mono_s();
		worked_s = MIN(worked_s + (left - came), 10 * SPIN_SECONDS);
	}
	return NULL;
}

struct cpu_team *cpu_team_new(int threads, struct err *e)
{
	struct cpu_team *t = mem_alloc_aligned(sizeof(*t), 1, e);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->n_helpers = MIN(MAX(threads - 1, 0), MOST_HELPERS);
	t->helpers = mem_alloc((size_t)t->n_helpers, sizeof(*t->helpers), e);
	t->ranges = mem_alloc_aligned((size_t)t->n_helpers + 1, sizeof(*t->ranges), e);
	if (!t->helpers || !t->ranges) {
		free(t->helpers);
		free(t->ranges);
		free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work_available, NULL);
	pthread_cond_init(&t->helpers_left, NULL);
	return t;
}

static void team_start_helpers(struct cpu_team *t, int n)
{
	while (t->n_started < n) {
		struct helper *h = &t->helpers[t->n_started];

		h->team = t;
		h->number = t->n_started + 1;
		if (pthread_create(&h->thread, NULL, team_helper_main, h))
			return;
		t->n_started++;
	}
}

/* Helpers that look out come in by themselves; wake others as far as those are too few. */
static void team_open_loop(struct cpu_team *t, int helpers)
{
	int asleep, awake;

	atomic_store(&t->entry_counts, (unsigned)MIN(helpers, t->n_started));
	asleep = atomic_load(&t->asleep);
	awake = t->n_started - asleep;
	if (asleep == 0 || awake >= helpers)
		return;
	pthread_mutex_lock(&t->lock);
	if (helpers - awake == 1)
		pthread_cond_signal(&t->work_available);
	else
		pthread_cond_broadcast(&t->work_available);
	pthread_mutex_unlock(&t->lock);
}

/* From now on nobody comes in; wait for those inside, awake at first. */
static void team_close_loop(struct cpu_team *t)
{
	const double end = clock_mono_s() + SPIN_SECONDS;

	atomic_fetch_and(&t->entry_counts, ~(ONE_INSIDE - 1));
	do {
		for (int i = 0; i < SPIN_CHECKS; i++) {
			if (atomic_load_explicit(&t->entry_counts, memory_order_acquire) == 0)
				return;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
	pthread_mutex_lock(&t->lock);
	atomic_store(&t->caller_asleep, true);
	while (atomic_load(&t->entry_counts) > 0)
		pthread_cond_wait(&t->helpers_left, &t->lock);
	atomic_store(&t->caller_asleep, false);
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
	team_start_helpers(t, helpers);
	t->work = work;
	t->context = context;
	t->n_ranges = helpers + 1;
	for (int i = 0; i <= helpers; i++) {
		atomic_store_explicit(&t->ranges[i].next, i * n_parts / (helpers + 1),
				      memory_order_relaxed);
		t->ranges[i].end = (i + 1) * n_parts / (helpers + 1);
	}
	team_open_loop(t, helpers);
	team_run_parts(t, 0);
	team_close_loop(t);
}

void cpu_team_free(struct cpu_team *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->closing = true;
	pthread_cond_broadcast(&t->work_available);
	pthread_mutex_unlock(&t->lock);
	for (int i = 0; i < t->n_started; i++)
		pthread_join(t->helpers[i].thread, NULL);
	pthread_cond_destroy(&t->helpers_left);
	pthread_cond_destroy(&t->work_available);
	pthread_mutex_destroy(&t->lock);
	free(t->ranges);
	free(t->helpers);
	free(t);
}
