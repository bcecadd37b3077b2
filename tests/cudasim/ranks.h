/*
 * ranks.h - several ranks as processes of this machine, behind struct comm: each has a simulated
 * GPU of its own, which threads of one process cannot have.
 */
#ifndef CUDASIM_RANKS_H
#define CUDASIM_RANKS_H

#include "train/comm/comm.h"

/*
 * Call body once for each rank, each in a process; on_host of them share a host. Returns how many
 * ended badly: a check failed, or they took longer than two minutes. status (n; may be NULL): exit statuses, -1 for a
 * signal.
 */
int ranks_run(int n, int on_host, void (*body)(struct comm *c, void *arg), void *arg, int *status);

/* Memory that they share with the test; zeroed. Never given back. */
void *ranks_memory(size_t bytes);

#endif
