/* t_team.c - a team executes every part exactly once. */
#include <stdatomic.h>

#include "kernels/cpu/cpu_team.h"
#include "tests/test.h"

#define MAX_PARTS 1000

struct tally {
	atomic_int *done; /* (parts) */
	atomic_int *wrong;
	int threads;
};

static void count_part(const void *context, int thread, int64_t part)
{
	const struct tally *t = context;

	atomic_fetch_add(&t->done[part], 1);
	if (thread < 0 || thread >= t->threads)
		atomic_fetch_add(t->wrong, 1);
}

/* Loops of all sizes, one after the other, so that helpers are awake for some and asleep for others. */
static void run_often(struct cpu_team *team, int threads, int runs)
{
	static atomic_int done[MAX_PARTS], wrong;
	const struct tally tally = { done, &wrong, threads };
	int64_t missed = 0;

	for (int r = 0; r < runs; r++) {
		int64_t n = r * 37 % MAX_PARTS;

		for (int64_t i = 0; i < n; i++)
			atomic_store(&done[i], 0);
		cpu_team_run(team, threads, n, count_part, &tally);
		for (int64_t i = 0; i < n; i++)
			missed += atomic_load(&done[i]) != 1;
	}
	check_int(missed, 0);
	check_int(atomic_load(&wrong), 0);
}

/* Helpers that have no core of their own enter late, and find entries of a later loop or none. */
TEST(team_of_more_threads_than_cores)
{
	struct err e = { 0 };
	struct cpu_team *team = cpu_team_new(24, &e);

	if (!check(team != NULL))
		return;
	for (int threads = 2; threads <= 24; threads += 11)
		run_often(team, threads, 300);
	cpu_team_free(team);
}

TEST(team_does_each_part_once)
{
	for (int threads = 1; threads <= 4; threads++) {
		struct err e = { 0 };
		struct cpu_team *team = cpu_team_new(threads, &e);

		if (!check(team != NULL))
			return;
		run_often(team, threads, 500);
		run_often(team, 1, 10);
		cpu_team_free(team);
	}
	run_often(NULL, 1, 10);
	cpu_team_free(NULL);
}
