/*
 * cpu_team.h - threads that help with one loop at a time, and sleep in between.
 *
 * For decoding, where a few products in each step are worth a second thread and the rest is
 * not. OpenMP's threads stay awake after each loop, and its loops end only when every
 * thread has been there: on a busy machine both cost more than they bring. Here parts are
 * taken one after the other by whoever is awake, the caller first of all, so that it
 * waits only for parts that others have begun. A helper looks out for more for some
 * microseconds, never longer than it has worked, and then sleeps.
 *
 *	struct cpu_team *t = cpu_team_new(threads, e);		no thread yet
 *	cpu_team_run(t, threads, n_parts, work, &context);	work(&context, thread, part)
 *	cpu_team_free(t);
 *
 * A team belongs to one caller at a time. Which thread does which part is chance: results must not
 * depend on it.
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_TEAM_H
#define WERKBANK_KERNELS_CPU_CPU_TEAM_H

#include <stdint.h>

#include "share/base/err.h"

struct cpu_team;

/* thread: 0 .. threads - 1, 0 being the caller. */
typedef void cpu_team_work(const void *context, int thread, int64_t part);

/* threads: at most so many, the caller counted. NULL: ERR_NOMEM. */
struct cpu_team *cpu_team_new(int threads, struct err *e);

/*
 * Do parts 0 .. n_parts - 1 on at most so many threads of the team; t NULL: on the calling one. Threads
 * are started when first needed; where they cannot be, the others do their work.
 */
void cpu_team_run(struct cpu_team *t, int threads, int64_t n_parts, cpu_team_work *work,
		  const void *context);

void cpu_team_free(struct cpu_team *t);

#endif
