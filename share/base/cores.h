/*
 * cores.h - the processor cores that this process may use.
 *
 * A host may have more cores than a process may use: taskset, mpirun or Slurm set an affinity mask, and a container or a
 * unit of systemd has a limit in its cgroup. More threads than that only wait for each other.
 */
#ifndef WERKBANK_SHARE_BASE_CORES_H
#define WERKBANK_SHARE_BASE_CORES_H

#include <stdint.h>

#define CORES_MAX 4096 /* cores of a host; more are ignored */

/* Cores of this host, whatever this process may use. At least 1. */
int cores_online(void);

/* Cores that this process may use: of its affinity mask, at most the limit of its cgroup. At least 1. */
int cores_count(void);

/* users[i] = 1 if this process may use core i, else 0. */
void cores_mask(int64_t users[CORES_MAX]);

/*
 * The share of one process, of `processes` of this host, in whole cores, at least 1. users: the sums of their masks. A core
 * that several of them may use is divided, a core of this process alone is not; the limit of the cgroup is divided.
 */
int cores_share(const int64_t users[CORES_MAX], int processes);

/*
 * NUMA nodes of this host with cores that this process may use. At least 1, also where the kernel names no nodes.
 * Read from has_cpu and nodeN/cpulist in /sys/devices/system/node; tests set $WERKBANK_SYS_ROOT.
 */
int cores_node_count(void);

/*
 * Bind this thread, and the threads that it creates later, to the cores of its process's share of the NUMA nodes: of 4
 * processes on 2 nodes, processes 0 and 1 get the first node; of 2 processes on 4 nodes each gets two. Memory that a
 * bound thread touches first is in its own node. Returns the cores for each process; 0: not bound, because there is one
 * node, because processes and nodes cannot be divided evenly, or because the kernel refused.
 */
int cores_bind_nodes(int process, int processes);

#endif
