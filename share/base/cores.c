/* cores.c - see cores.h; nodes: numa(7) */
#include "share/base/cores.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/cgroup.h"
#include "share/base/file.h"
#include "share/base/util.h"

#define PATH_BYTES 4096
#define ROUNDING   1e-6 /* three times a third of a core is one core */

int cores_online(void)
{
	return (int)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

void cores_mask(int64_t users[CORES_MAX])
{
	cpu_set_t set[CORES_MAX / CPU_SETSIZE];
	const bool is_known = !sched_getaffinity(0, sizeof(set), set);

	for (int i = 0; i < CORES_MAX; i++)
		users[i] = is_known ? CPU_ISSET_S(i, sizeof(set), set) != 0 : i < cores_online();
}

static double own_cgroup_limit(void)
{
	return cgroup_cores(cgroup_proc_root(), cgroup_sys_root());
}

static double smaller_limit(double a, double b)
{
	return !(b > 0) ? a : !(a > 0) ? b : MIN(a, b);
}

/* ---- counts ---- */

int cores_count(void)
{
	int64_t users[CORES_MAX];
	double limit = own_cgroup_limit();
	int n = 0;

	cores_mask(users);
	for (int i = 0; i < CORES_MAX; i++)
		n += users[i] > 0;
	n = MAX(n, 1);
	return limit > 0 && ceil(limit) < n ? (int)ceil(limit) : n;
}

int cores_share(const int64_t users[CORES_MAX], int processes)
{
	int64_t own[CORES_MAX];
	double share = 0;

	assert(processes >= 1);
	cores_mask(own);
	for (int i = 0; i < CORES_MAX; i++)
		if (own[i])
			share += 1.0 / (double)MAX(users[i], 1);
	share = smaller_limit(share, own_cgroup_limit() / processes);
	return (int)MAX(share + ROUNDING, 1.0);
}

/* ---- NUMA nodes ---- */

#define NODES_MAX 1024 /* at most CORES_MAX */

/* value[i] = x for each core (or node) of a list such as "0-3,8"; others keep theirs. */
static void read_core_list(const char *list, int16_t value[CORES_MAX], int16_t x)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first; i <= last && i < CORES_MAX; i++)
			value[i] = x;
		list = end + (*end == ',');
	}
}

/*
 * node_of[i] = the number, from 0, of the node of core i; -1: this process may not use core i, or its node is not known.
 * Nodes without such cores are not counted. Returns the number of nodes.
 */
static int read_nodes(int16_t node_of[CORES_MAX])
{
	const char *sys = cgroup_sys_root();
	int64_t own[CORES_MAX];
	char path[PATH_BYTES], list[PATH_BYTES];
	int16_t number[NODES_MAX], has_cores[CORES_MAX] = { 0 };
	int n = 0;

	memset(node_of, -1, CORES_MAX * sizeof(*node_of));
	memset(number, -1, sizeof(number));
	snprintf(path, sizeof(path), "%s/devices/system/node/has_cpu", sys);
	if (file_first_line(path, list, sizeof(list)))
		read_core_list(list, has_cores, 1);
	for (int16_t node = 0; node < NODES_MAX; node++) {
		if (!has_cores[node])
			continue;
		snprintf(path, sizeof(path), "%s/devices/system/node/node%d/cpulist", sys, node);
		if (file_first_line(path, list, sizeof(list)))
			read_core_list(list, node_of, node);
	}
	cores_mask(own);
	for (int i = 0; i < CORES_MAX; i++) {
		if (!own[i])
			node_of[i] = -1;
		if (node_of[i] < 0)
			continue;
		if (number[node_of[i]] < 0)
			number[node_of[i]] = (int16_t)n++;
		node_of[i] = number[node_of[i]];
	}
	return n;
}

int cores_node_count(void)
{
	int16_t node_of[CORES_MAX];

	return MAX(read_nodes(node_of), 1);
}

int cores_bind_nodes(int process, int processes)
{
	int16_t node_of[CORES_MAX];
	cpu_set_t set[CORES_MAX / CPU_SETSIZE] = { 0 };
	int nodes, each, first;
	double share = 0;

	assert(process >= 0 && process < processes);
	nodes = read_nodes(node_of);
	each = MAX(nodes / processes, 1);
	first = (int)((int64_t)process * nodes / processes);
	if (nodes < 2 || (processes % nodes != 0 && nodes % processes != 0))
		return 0;
	for (int i = 0; i < CORES_MAX; i++) {
		if (node_of[i] < first || node_of[i] >= first + each)
			continue;
		CPU_SET_S(i, sizeof(set), set);
		share += 1;
	}
	share = smaller_limit(share / MAX(processes / nodes, 1), own_cgroup_limit() / processes);
	return sched_setaffinity(0, sizeof(set), set) ? 0 : (int)MAX(share + ROUNDING, 1.0);
}
