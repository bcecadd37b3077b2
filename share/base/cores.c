/* cores.c - see cores.h; cgroups: cgroups(7), Documentation/admin-guide/cgroup-v2.rst; nodes: numa(7) */
#include "share/base/cores.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- limits of cgroups ---- */

static double smaller_limit(double a, double b)
{
	return !(b > 0) ? a : !(a > 0) ? b : MIN(a, b);
}

static bool read_cgroup_line(const char *folder, const char *name, char *line, size_t room)
{
	char path[PATH_BYTES + 40];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return file_first_line(path, line, room);
}

/* The limit of one cgroup; 0: none ("max" or -1), or this folder is not one of the cpu controller. */
static double read_cgroup_limit(const char *folder)
{
	char quota[80], period[80];
	double most = 0, each = 0;

	if (read_cgroup_line(folder, "cpu.max", quota, sizeof(quota))) {
		if (sscanf(quota, "%lf %lf", &most, &each) != 2)
			return 0;
	} else if (read_cgroup_line(folder, "cpu.cfs_quota_us", quota, sizeof(quota)) &&
		   read_cgroup_line(folder, "cpu.cfs_period_us", period, sizeof(period))) {
		if (sscanf(quota, "%lf", &most) != 1 || sscanf(period, "%lf", &each) != 1)
			return 0;
	}
	return most > 0 && each > 0 && isfinite(most / each) ? most / each : 0;
}

/*
 * The smallest limit from the cgroup at path up to the root of its tree. In a container the path may be that of the host:
 * then only the root exists here, and it is the container's own cgroup.
 */
static double walk_cgroup_limits(const char *tree, const char *path)
{
	char folder[PATH_BYTES];
	const size_t root = strlen(tree), n = strlen(path);
	double limit = 0;

	if (root + n >= sizeof(folder))
		return 0;
	memcpy(folder, tree, root);
	memcpy(folder + root, path, n + 1);
	for (;;) {
		char *cut;

		limit = smaller_limit(limit, read_cgroup_limit(folder));
		cut = strrchr(folder, '/');
		if (!cut || cut < folder + root)
			return limit;
		*cut = 0;
	}
}

static bool has_cpu_controller(const char *list)
{
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == 3 && !strncmp(list, "cpu", 3))
			return true;
	return false;
}

/* A line of /proc/self/cgroup: "0::/PATH" (version 2) or "4:cpu,cpuacct:/PATH" (version 1). */
static double limit_of_cgroup_line(char *line, const char *sys)
{
	char tree[PATH_BYTES];
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return 0;
	*path++ = 0;
	controllers++;
	path[strcspn(path, "\n")] = 0;
	if (*controllers && !has_cpu_controller(controllers))
		return 0;
	snprintf(tree, sizeof(tree), "%s/fs/cgroup%s%s", sys, *controllers ? "/" : "", controllers);
	return walk_cgroup_limits(tree, path);
}

double cores_cgroup_limit(const char *proc, const char *sys)
{
	char path[PATH_BYTES], line[PATH_BYTES];
	double limit = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/self/cgroup", proc);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		limit = smaller_limit(limit, limit_of_cgroup_line(line, sys));
	if (f)
		fclose(f);
	return limit;
}

/* $WERKBANK_PROC_ROOT and $WERKBANK_SYS_ROOT: for tests, as in host_file.h. */
static const char *system_root(const char *variable, const char *usual)
{
	const char *root = getenv(variable);

	return root && *root ? root : usual;
}

static double own_cgroup_limit(void)
{
	return cores_cgroup_limit(system_root("WERKBANK_PROC_ROOT", "/proc"),
				  system_root("WERKBANK_SYS_ROOT", "/sys"));
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
	const char *sys = system_root("WERKBANK_SYS_ROOT", "/sys");
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
