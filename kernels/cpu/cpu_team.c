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

#define AWHILE_S 100e-6	/* who waits looks so long before it sleeps, at most */
#define LOOKS    64	/* between two looks at the clock: about 2 us */

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
#define INSIDE 0x10000u
#define MOST_HELPERS 0x1000
#define WANTED(door) ((door) % INSIDE)

/*
 * Each thread has parts of its own that follow on each other, so that what it has read ahead is
 * what it needs next; when they are done it takes from what others have left.
 */
struct range {
	_Alignas(64) _Atomic int64_t next;	/* the first part that nobody has taken */
	int64_t end;
};

struct cpu_team {
	/* the loop that is done now */
	cpu_team_work *work;
	const void *context;
	struct range *ranges;		/* (n_helpers + 1) owned */
	int n_ranges;			/* of the loop */
	struct helper *helpers;		/* (n_helpers) owned */
	int n_helpers, n_started;
	pthread_mutex_t lock;
	pthread_cond_t work_is_there, helpers_have_left;
	bool closing;			/* under the lock */
	_Alignas(64) atomic_uint door;
	atomic_int asleep;		/* helpers */
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

static void take_parts(struct cpu_team *t, int thread)
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

static bool try_to_come_in(struct cpu_team *t)
{
	unsigned door = atomic_load_explicit(&t->door, memory_order_relaxed);

	while (WANTED(door) > 0)
		if (atomic_compare_exchange_weak_explicit(&t->door, &door, door - 1 + INSIDE,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

/* Look for so many seconds whether a loop wants helpers. True: inside. */
static bool look_out(struct cpu_team *t, double seconds)
{
	const double end = clock_mono_s() + seconds;

	do {
		for (int i = 0; i < LOOKS; i++) {
			if (try_to_come_in(t))
				return true;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
	return false;
}

/* Sleep until a loop wants helpers. True: inside; false: the team is closing. */
static bool sleep_until_wanted(struct cpu_team *t)
{
	bool in = false;

	pthread_mutex_lock(&t->lock);
	atomic_fetch_add(&t->asleep, 1);
	while (!t->closing && !(in = try_to_come_in(t)))
		pthread_cond_wait(&t->work_is_there, &t->lock);
	atomic_fetch_sub(&t->asleep, 1);
	pthread_mutex_unlock(&t->lock);
	return in;
}

static void leave(struct cpu_team *t)
{
	if (atomic_fetch_sub(&t->door, INSIDE) / INSIDE > 1 || !atomic_load(&t->caller_asleep))
		return;
	pthread_mutex_lock(&t->lock);
	pthread_cond_signal(&t->helpers_have_left);
	pthread_mutex_unlock(&t->lock);
}

/*
 * To be woken takes long beside what is between two products of a step, and a processor that has
 * worked loses little by looking out: for as long as it has worked, not more.
 */
static void *help(void *arg)
{
	struct helper *h = arg;
	struct cpu_team *t = h->team;
	double left = clock_mono_s(), worked_s = 0;

	while (look_out(t, MIN(worked_s, AWHILE_S)) || sleep_until_wanted(t)) {
		const double came = clock_mono_s();

		take_parts(t, h->number);
		leave(t);
		worked_s = MAX(0, worked_s - (came - left));
		left = clock_mono_s();
		worked_s = MIN(worked_s + (left - came), 10 * AWHILE_S);
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

/* Helpers that look out come in by themselves; wake others as far as those are too few. */
static void open_loop(struct cpu_team *t, int helpers)
{
	int asleep, awake;

	atomic_store(&t->door, (unsigned)MIN(helpers, t->n_started));
	asleep = atomic_load(&t->asleep);
	awake = t->n_started - asleep;
	if (asleep == 0 || awake >= helpers)
		return;
	pthread_mutex_lock(&t->lock);
	if (helpers - awake == 1)
		pthread_cond_signal(&t->work_is_there);
	else
		pthread_cond_broadcast(&t->work_is_there);
	pthread_mutex_unlock(&t->lock);
}

/* From now on nobody comes in; wait for those inside, awake at first. */
static void close_loop(struct cpu_team *t)
{
	const double end = clock_mono_s() + AWHILE_S;

	atomic_fetch_and(&t->door, ~(INSIDE - 1));
	do {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load_explicit(&t->door, memory_order_acquire) == 0)
				return;
			pause_briefly();
		}
	} while (clock_mono_s() < end);
	pthread_mutex_lock(&t->lock);
	atomic_store(&t->caller_asleep, true);
	while (atomic_load(&t->door) > 0)
		pthread_cond_wait(&t->helpers_have_left, &t->lock);
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
	start_helpers(t, helpers);
	t->work = work;
	t->context = context;
	t->n_ranges = helpers + 1;
	for (int i = 0; i <= helpers; i++) {
		atomic_store_explicit(&t->ranges[i].next, i * n_parts / (helpers + 1),
				      memory_order_relaxed);
		t->ranges[i].end = (i + 1) * n_parts / (helpers + 1);
	}
	open_loop(t, helpers);
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
	free(t->ranges);
	free(t->helpers);
	free(t);
}
