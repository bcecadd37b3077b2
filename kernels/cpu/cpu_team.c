/*
 * cpu_team.c - threads for short parallel loops; cpu_team.h says why.
 *
 * A loop is a range of parts, cut into one sub-range for each thread. A thread takes the parts of
 * its own sub-range first (neighbouring parts read neighbouring memory), then steals from the
 * others. One atomic fetch-and-add takes a part.
 *
 * The word `entry_counts` decides who may work on the loop. No lock is needed to enter or to leave,
 * and no helper tries twice: with many of them a compare-and-swap that fails costs more than a part.
 *
 *	entry_counts:	| free entries (32 bits, signed) | helpers inside (32 bits) |
 *
 *	caller				word	 helper
 *	------				----	 ------
 *	writes work, ranges		 0 | 0	 spins or sleeps
 *	opens: adds 2 entries		 2 | 0
 *	runs parts			 1 | 1	 enters: one addition, free - 1 and inside + 1
 *	runs parts			 1 | 1	 runs parts
 *	closes: subtracts CLOSED	<0 | 1
 *	waits until nobody is inside	<0 | 0	 leaves: inside - 1
 *	sets the word to 0		 0 | 0
 *
 * A helper that found no free entry in the word before its addition undoes the addition and has
 * entered nothing. Until then it is counted as inside, and one entry is missing: a close may wait for
 * it, and another helper may be refused; both do no harm.
 *
 * work, context and ranges change only while no entry is free, and after all helpers that had entered
 * have left. So a helper that gets in (acquire) sees the loop that was written before the addition
 * that opened it, and no helper can enter an old loop.
 *
 * Sleeping uses the lock and condition variables. No wake-up is lost, because both sides set a flag
 * first and then check the word of the other side (sequentially consistent atomics):
 *
 *	helper: asleep++, then checks for free entries	caller: stores entries, then reads asleep
 *	caller: caller_asleep = 1, then checks the word	helper: leaves, then reads caller_asleep
 *
 * In every interleaving at least one side sees the other. The check of the sleeper and the signal
 * are both under the lock, so the signal cannot fall between the check and pthread_cond_wait().
 */
#include "kernels/cpu/cpu_team.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define SPIN_SECONDS 100e-6 /* longest time to spin before sleeping */
#define SPIN_CHECKS  64	    /* checks between two readings of the clock: about 2 us */

struct helper {
	struct cpu_team *team;
	pthread_t thread;
	int number;
};

/* Fields of entry_counts: helpers inside in the lower 32 bits, free entries in the upper 32. */
#define ONE_FREE    ((int64_t)1 << 32)
#define ENTER	    (1 - ONE_FREE)
#define MAX_HELPERS 0x1000
#define CLOSED	    (ONE_FREE << 20) /* more than all free entries */

static int64_t free_entries(int64_t entry_counts)
{
	return entry_counts >> 32;
}

static int64_t helpers_inside(int64_t entry_counts)
{
	return entry_counts & (ONE_FREE - 1);
}

/* The sub-range of one thread, on a cache line of its own. next passes end when others steal. */
struct range {
	_Alignas(64) _Atomic int64_t next; /* first part that is not taken */
	int64_t end;
};

struct cpu_team {
	/* the current loop; written only between close and open */
	cpu_team_work *work;
	const void *context;
	struct range *ranges; /* (n_helpers + 1) owned */
	int n_ranges;	      /* used by the loop */

	struct helper *helpers;	  /* (n_helpers) owned */
	int n_helpers, n_started; /* n_started <= n_helpers: threads that exist */
	pthread_mutex_t lock;
	pthread_cond_t work_available, helpers_left;
	bool closing;				   /* guarded by lock */
	_Alignas(64) _Atomic int64_t entry_counts; /* see the head of this file */
	atomic_int asleep;			   /* number of sleeping helpers */
	atomic_bool caller_asleep;
};

static cpu_team_observer *team_observer; /* NULL: none */

static void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Own sub-range first, then those of the following threads. The load finds an empty sub-range without writing to it. */
static void team_run_parts(struct cpu_team *t, int thread)
{
	const int n = t->n_ranges;
	int64_t part;

	assert(thread >= 0 && thread <= t->n_started);
	for (int i = 0; i < n; i++) {
		struct range *r = &t->ranges[(thread + i) % n];

		while (atomic_load_explicit(&r->next, memory_order_relaxed) < r->end &&
		       (part = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) <
			       r->end)
			t->work(t->context, thread, part);
	}
}

/* A helper is inside no longer: change is subtracted. The last one wakes the caller, if it sleeps. */
static void team_leave_loop(struct cpu_team *t, int64_t change, bool is_locked)
{
	const int64_t before = atomic_fetch_sub(&t->entry_counts, change);

	assert(helpers_inside(before) >= 1);
	if (helpers_inside(before) > 1 || !atomic_load(&t->caller_asleep))
		return;
	if (!is_locked)
		pthread_mutex_lock(&t->lock);
	pthread_cond_signal(&t->helpers_left);
	if (!is_locked)
		pthread_mutex_unlock(&t->lock);
}

/* True: entered. is_locked: the caller holds the lock. */
static bool team_try_enter(struct cpu_team *t, bool is_locked)
{
	if (free_entries(atomic_load(&t->entry_counts)) <= 0)
		return false;
	if (free_entries(atomic_fetch_add(&t->entry_counts, ENTER)) > 0)
		return true;
	team_leave_loop(t, ENTER, is_locked);
	return false;
}

/* Spin until a loop has a free entry. True: entered; false: the time is over. */
static bool team_spin_for_work(struct cpu_team *t, double seconds)
{
	const double end = clock_mono_s() + seconds;

	do {
		for (int i = 0; i < SPIN_CHECKS; i++) {
			if (team_try_enter(t, false))
				return true;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
	return false;
}

/* Sleep until a loop has a free entry. True: entered; false: the team is closing. */
static bool team_sleep_for_work(struct cpu_team *t)
{
	bool entered = false;

	pthread_mutex_lock(&t->lock);
	atomic_fetch_add(&t->asleep, 1); /* first the flag, then the check */
	while (!t->closing && !(entered = team_try_enter(t, true)))
		pthread_cond_wait(&t->work_available, &t->lock);
	atomic_fetch_sub(&t->asleep, 1);
	pthread_mutex_unlock(&t->lock);
	return entered;
}

/*
 * A wake-up takes about 50 us, more than the time between two products of a step, so a helper spins
 * first. worked_s is its budget for spinning: it grows by the time worked and shrinks by the time
 * waited, so that a helper never spins longer than it has worked.
 */
static void *team_helper_main(void *arg)
{
	struct helper *h = arg;
	struct cpu_team *t = h->team;
	double left_at = clock_mono_s(), worked_s = 0;

	while (team_spin_for_work(t, MIN(worked_s, SPIN_SECONDS)) || team_sleep_for_work(t)) {
		const double entered_at = clock_mono_s();

		team_run_parts(t, h->number);
		team_leave_loop(t, 1, false);
		worked_s = MAX(0, worked_s - (entered_at - left_at));
		left_at = clock_mono_s();
		worked_s = MIN(worked_s + (left_at - entered_at), 10 * SPIN_SECONDS);
	}
	return NULL;
}

struct cpu_team *cpu_team_new(int threads, struct err *e)
{
	struct cpu_team *t = mem_alloc_aligned(sizeof(*t), 1, e);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->n_helpers = MIN(MAX(threads - 1, 0), MAX_HELPERS);
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

/* Offer entries. Spinning helpers enter by themselves; wake sleeping ones if those are too few. */
static void team_open_loop(struct cpu_team *t, int helpers)
{
	int asleep, awake;

	assert(helpers <= MAX_HELPERS);
	atomic_fetch_add(&t->entry_counts, MIN(helpers, t->n_started) * ONE_FREE);
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

/* True: nobody is inside, and the word is 0 again. */
static bool team_is_left(struct cpu_team *t)
{
	int64_t entry_counts = atomic_load(&t->entry_counts);

	return helpers_inside(entry_counts) == 0 &&
	       atomic_compare_exchange_strong(&t->entry_counts, &entry_counts, 0);
}

/* Take back the free entries, then wait for the helpers inside: spin first, then sleep. */
static void team_close_loop(struct cpu_team *t)
{
	const double end = clock_mono_s() + SPIN_SECONDS;

	atomic_fetch_sub(&t->entry_counts, CLOSED);
	do {
		for (int i = 0; i < SPIN_CHECKS; i++) {
			if (team_is_left(t))
				return;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
	pthread_mutex_lock(&t->lock);
	atomic_store(&t->caller_asleep, true); /* first the flag, then the check */
	while (!team_is_left(t))
		pthread_cond_wait(&t->helpers_left, &t->lock);
	atomic_store(&t->caller_asleep, false);
	pthread_mutex_unlock(&t->lock);
}

void cpu_team_observe(cpu_team_observer *observer)
{
	team_observer = observer;
}

static void team_run_observed(int threads, int64_t n_parts, cpu_team_work *work,
			      const void *context)
{
	struct err ignored;
	double *seconds = mem_alloc((size_t)n_parts, sizeof(*seconds), &ignored);
	const double cpu_begun = clock_thread_cpu_s();
	double now = clock_mono_s();

	for (int64_t part = 0; part < n_parts; part++) {
		const double since = now;

		work(context, 0, part);
		now = clock_mono_s();
		if (seconds)
			seconds[part] = now - since;
	}
	if (seconds)
		team_observer(threads, seconds, n_parts, clock_thread_cpu_s() - cpu_begun);
	free(seconds);
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
	if (team_observer) {
		team_run_observed(helpers + 1, n_parts, work, context);
		return;
	}
	team_start_helpers(t, helpers);
	assert(free_entries(atomic_load(&t->entry_counts)) <=
	       0); /* no helper may see the fields change */
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
