/*
 * end_cause.h - what a batch system or the kernel did to a job, by its name: for words only, so a
 * question without an answer is no failure.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_END_CAUSE_H
#define WERKBANK_TRAIN_LAUNCH_RUN_END_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* Has Slurm preempted the job that this process belongs to? It waits some seconds at most. */
bool end_cause_is_preempted(void);

/*
 * How many processes of this process's cgroup the kernel has killed for lack of memory (memory.events
 * of cgroup 2, memory.oom_control of cgroup 1). root: "" or that of a test. -1: unknown.
 */
int64_t end_cause_memory_kills(const char *root);

#endif
