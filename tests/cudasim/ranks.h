/*
 * ranks.h - several ranks as processes of this machine, behind struct comm: each has a simulated
 * GPU of its own, which threads of one process cannot have.
 */
#ifndef CUDASIM_RANKS_H
#define CUDASIM_RANKS_H

#include "train/comm/comm.h"

/*
 * Call body once for each rank, each in a process of its own; on_host ranks share a (pretended) host.
 * Returns the number of ranks that failed: a failed check, or more than two minutes. status (n; or
 * NULL): exit statuses, -1 for a signal.
 */
int ranks_run(int n, int on_host, void (*body)(struct comm *c, void *arg), void *arg, int *status);

/* Zeroed memory that the ranks share with the test; never freed. */
void *ranks_memory(size_t bytes);

#endif
