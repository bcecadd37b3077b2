/*
 * cpu_team.h - a team of threads for short parallel loops, asleep between loops.
 *
 * All loops of the CPU backend run on it. With OpenMP each loop waits for every thread, even one that
 * the scheduler has not run yet, and threads spin meanwhile: on a machine that other programs use,
 * two threads were slower than one. Here any awake thread, the caller first, takes the next part.
 * The caller waits only for parts that a helper has already begun. After a loop a helper spins for
 * at most 100 us, and not longer than it has worked, then sleeps.
 *
 *	struct cpu_team *t = cpu_team_new(threads, e);		starts no thread yet
 *	cpu_team_run(t, threads, n_parts, work, &context);	calls work(&context, thread, part)
 *	cpu_team_free(t);
 *
 * Only one thread at a time may call cpu_team_run(). Which thread executes a part is not
 * deterministic, so results must not depend on it.
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_TEAM_H
#define WERKBANK_KERNELS_CPU_CPU_TEAM_H

#include <stdint.h>

#include "share/base/err.h"

struct cpu_team;

/* thread: 0 .. threads - 1; 0 is the caller. */
typedef void cpu_team_work(const void *context, int thread, int64_t part);

/* threads: upper bound, the caller included. NULL: ERR_NOMEM. */
struct cpu_team *cpu_team_new(int threads, struct err *e);

/*
 * Execute parts 0 .. n_parts - 1 on at most `threads` threads, and return when all are done. t NULL:
 * on the calling thread. Helpers are created at the first need; if that fails, fewer threads do
 * all parts.
 */
void cpu_team_run(struct cpu_team *t, int threads, int64_t n_parts, cpu_team_work *work,
		  const void *context);

/*
 * For forecasts of more threads than the machine has (tests/bench/thread_forecast.h). While an observer is
 * set, the calling thread executes all parts of each loop that would use several threads, in order. The
 * observer receives the seconds of each part (borrowed) and the processor time of the loop. NULL: as usual.
 * Call it between loops.
 */
typedef void cpu_team_observer(int threads, const double *seconds, int64_t n_parts, double cpu_s);
void cpu_team_observe(cpu_team_observer *observer);

void cpu_team_free(struct cpu_team *t);

#endif
