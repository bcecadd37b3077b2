/* thread_forecast.c - a step on more threads than there are; see thread_forecast.h */
#include "tests/bench/thread_forecast.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_team.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define SERIES	     50
#define LOOPS	     40 /* of a series */
#define PART_SECONDS 10e-6
#define LONGEST	     3	     /* longest part that is believed, in medians */
#define ACCESSES     1000000 /* of each thread to a shared counter */
#define MOST_THREADS 1024

static struct {
	double saved;		       /* seconds that the forecast is ahead of the clock */
	double two_threads, an_access; /* measured; 0: not yet */
} forecast;

struct runner {
	double free_at;	   /* seconds when it has ended its last part */
	int64_t next, end; /* parts left of its own sub-range */
};

/* The next part of runner i: its own, else the first of the sub-ranges after it. -1: none is left. */
static int64_t runner_take_part(struct runner *list, int n, int i)
{
	for (int k = 0; k < n; k++) {
		struct runner *r = &list[(i + k) % n];

		if (r->next < r->end)
			return r->next++;
	}
	return -1;
}

double thread_forecast_loop(const double *seconds, int64_t n_parts, int threads)
{
	struct runner list[MOST_THREADS];
	const int n = (int)MIN(n_parts, MIN(threads, MOST_THREADS));
	double end = 0;

	for (int i = 0; i < n; i++)
		list[i] = (struct runner){ 0, i * n_parts / n, (i + 1) * n_parts / n };
	for (int64_t done = 0; done < n_parts; done++) {
		int first = 0;
		int64_t part;

		for (int i = 1; i < n; i++)
			if (list[i].free_at < list[first].free_at)
				first = i;
		part = runner_take_part(list, n, first);
		assert(part >= 0);
		list[first].free_at += seconds[part];
		end = MAX(end, list[first].free_at);
	}
	return end;
}

/* ---- the cost of a loop ---------------------------------------------------------------- */

/* Some microseconds of work, so that both threads have one part. */
static void short_work(const void *context, int thread, int64_t part)
{
	const double until = clock_mono_s() + PART_SECONDS;

	(void)context;
	(void)thread;
	(void)part;
	while (clock_mono_s() < until)
		;
}

/* The least of many series: other programs lengthen some. */
static double measure_loop(void)
{
	struct err e = { 0 };
	struct cpu_team *team = cpu_team_new(2, &e);
	double least = 1;

	for (int s = 0; team && s < SERIES; s++) {
		const double since = clock_mono_s();

		for (int i = 0; i < LOOPS; i++)
			cpu_team_run(team, 2, 2, short_work, NULL);
		least = MIN(least, (clock_mono_s() - since) / LOOPS - PART_SECONDS);
	}
	cpu_team_free(team);
	return least;
}

static void *count_up(void *arg)
{
	atomic_llong *counter = arg;

	for (int i = 0; i < ACCESSES; i++)
		atomic_fetch_add(counter, 1);
	return NULL;
}

static double measure_access(void)
{
	_Alignas(64) atomic_llong counter = 0;
	const double since = clock_mono_s();
	pthread_t other;
	bool has_other = !pthread_create(&other, NULL, count_up, &counter);

	count_up(&counter);
	if (has_other)
		pthread_join(other, NULL);
	return (clock_mono_s() - since) / ACCESSES;
}

double thread_forecast_cost(int threads)
{
	assert(forecast.two_threads > 0); /* thread_forecast_start() measures it */
	return threads < 2 ? 0 : forecast.two_threads + (threads - 2) * forecast.an_access;
}

/* ---- the clock ------------------------------------------------------------------------- */

static int compare_seconds(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* clipped = seconds, none longer than LONGEST times their median. */
static void clip_seconds(double *clipped, const double *seconds, int64_t n)
{
	double longest;

	memcpy(clipped, seconds, (size_t)n * sizeof(*clipped));
	qsort(clipped, (size_t)n, sizeof(*clipped), compare_seconds);
	longest = LONGEST * clipped[n / 2];
	for (int64_t i = 0; i < n; i++)
		clipped[i] = MIN(seconds[i], longest);
}

static void observe_loop(int threads, const double *seconds, int64_t n_parts, double cpu_s)
{
	struct err ignored;
	double *clipped = mem_alloc((size_t)n_parts, sizeof(*clipped), &ignored);

	if (!clipped)
		return;
	clip_seconds(clipped, seconds, n_parts);
	forecast.saved += cpu_s - thread_forecast_loop(clipped, n_parts, threads) -
			  thread_forecast_cost(threads);
	free(clipped);
}

void thread_forecast_start(void)
{
	if (!(forecast.two_threads > 0)) {
		forecast.two_threads = measure_loop();
		forecast.an_access = measure_access();
	}
	cpu_team_observe(observe_loop);
}

void thread_forecast_stop(void)
{
	cpu_team_observe(NULL);
}

double thread_forecast_now(void)
{
	return clock_thread_cpu_s() - forecast.saved;
}
