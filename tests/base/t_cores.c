/* t_cores.c - cores that a process may use: affinity masks, limits of cgroups, shares of several processes */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/cgroup.h"
#include "share/base/cores.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/util.h"
#include "tests/test.h"

/* Write a file of the fake trees "proc" and "sys" of this test. */
static void fake(const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", test_folder(), name);

	if (!check(path != NULL))
		return;
	*strrchr(path, '/') = 0;
	check_int(file_make_folders(path, &e), 0);
	path[strlen(path)] = '/';
	check_int(file_write_all(path, text, strlen(text), &e), 0);
	free(path);
}

static double fake_limit(void)
{
	char proc[300], sys[300];

	snprintf(proc, sizeof(proc), "%s/proc", test_folder());
	snprintf(sys, sizeof(sys), "%s/sys", test_folder());
	return cgroup_cores(proc, sys);
}

TEST(cores_cgroup_version_2)
{
	check_near(fake_limit(), 0, 0); /* no files at all */
	fake("proc/self/cgroup", "0::/a.slice/b.scope\n");
	check_near(fake_limit(), 0, 0);
	fake("sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n");
	check_near(fake_limit(), 0, 0);
	fake("sys/fs/cgroup/a.slice/b.scope/cpu.max", "350000 100000\n");
	check_near(fake_limit(), 3.5, 1e-9);
	/* a cgroup around it has a smaller limit; one beside it does not count */
	fake("sys/fs/cgroup/a.slice/cpu.max", "200000 100000\n");
	fake("sys/fs/cgroup/c.slice/cpu.max", "100000 100000\n");
	check_near(fake_limit(), 2, 1e-9);
	/* in a container the path is that of the host, and the root is the container */
	fake("proc/self/cgroup", "0::/docker/0123\n");
	check_near(fake_limit(), 0, 0);
	fake("sys/fs/cgroup/cpu.max", "150000 100000\n");
	check_near(fake_limit(), 1.5, 1e-9);
	for (size_t i = 0; i < 4; i++) {
		static const char *const odd[] = { "", "x y\n", "100000 0\n", "-1 100000\n" };

		fake("sys/fs/cgroup/cpu.max", odd[i]);
		check_near(fake_limit(), 0, 0);
	}
}

TEST(cores_cgroup_version_1)
{
	fake("proc/self/cgroup",
	     "12:cpuset:/job\n4:cpu,cpuacct:/job/step\n3:cpuacct:/other\n1:name=systemd:/\n0::/\n");
	fake("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1\n");
	fake("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n");
	check_near(fake_limit(), 0, 0);
	fake("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
	fake("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "20000\n");
	check_near(fake_limit(), 2.5, 1e-9);
	/* another controller has files of this name: they are not of the cpu controller */
	fake("sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us", "10000\n");
	fake("sys/fs/cgroup/cpuset/job/cpu.cfs_period_us", "20000\n");
	check_near(fake_limit(), 2.5, 1e-9);
}

/* Let cores_count() and cores_share() read the fake trees, which have no limit at first. */
static void use_fake_trees(void)
{
	char proc[300], sys[300];

	snprintf(proc, sizeof(proc), "%s/proc", test_folder());
	snprintf(sys, sizeof(sys), "%s/sys", test_folder());
	setenv("WERKBANK_PROC_ROOT", proc, 1);
	setenv("WERKBANK_SYS_ROOT", sys, 1);
}

/* The first core of this process's mask; -1: none. */
static int first_core(void)
{
	int64_t users[CORES_MAX];

	cores_mask(users);
	for (int i = 0; i < CORES_MAX; i++)
		if (users[i])
			return i;
	return -1;
}

TEST(cores_counts)
{
	int64_t users[CORES_MAX];
	const int first = first_core();
	cpu_set_t one;
	int n = 0;

	use_fake_trees();
	cores_mask(users);
	for (int i = 0; i < CORES_MAX; i++)
		n += users[i] > 0;
	check(n >= 1);
	check_int(cores_count(), n);
	check_int(cores_share(users, 1), n);
	for (int i = 0; i < CORES_MAX; i++)
		users[i] *= n; /* as many ranks as cores, all with the same mask */
	check_int(cores_share(users, n), 1);
	fake("proc/self/cgroup", "0::/\n");
	fake("sys/fs/cgroup/cpu.max", "20000 100000\n");
	check_int(cores_count(), 1);
	check_int(flow_threads(0), 1);
	check_int(flow_threads(2), 2); /* asked for by the user */
	fake("sys/fs/cgroup/cpu.max", "900000000 100000\n");
	check_int(cores_count(), n);
	/* a mask of one core, as of a rank that is bound: all of it is the rank's own */
	if (!check(first >= 0 && first < CPU_SETSIZE))
		return;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	check_int(sched_setaffinity(0, sizeof(one), &one), 0);
	check_int(cores_count(), 1);
	check_int(flow_threads(0), 1);
	cores_mask(users);
	check_int(cores_share(users, n), 1);
	check(cores_online() >= n);
}

/* Ranks with cores of their own keep them all; ranks with a common mask divide it. */
TEST(cores_shares)
{
	int64_t users[CORES_MAX];
	int n = 0;

	use_fake_trees();
	cores_mask(users);
	for (int i = 0; i < CORES_MAX; i++)
		n += users[i] > 0;
	/* the cores of others do not matter */
	users[CORES_MAX - 1] = 3;
	check_int(cores_share(users, 4), MAX(1, cores_count()));
	for (int i = 0; i < CORES_MAX; i++)
		users[i] *= 2;
	check_int(cores_share(users, 2), MAX(1, n / 2));
}

/* ---- NUMA nodes ---- */

TEST(cores_one_node)
{
	use_fake_trees(); /* no nodes at all */
	check_int(cores_node_count(), 1);
	check_int(cores_bind_nodes(0, 1), 0);
	fake("sys/devices/system/node/has_cpu", "0\n");
	fake("sys/devices/system/node/node0/cpulist", "0-4095\n");
	check_int(cores_node_count(), 1);
	check_int(cores_bind_nodes(1, 2), 0);
	fake("sys/devices/system/node/node0/cpulist", "x-\n"); /* no list */
	check_int(cores_node_count(), 1);
}

/* The first core of this process alone is node 4, its other cores are node 7; node 5 has none of them. */
TEST(cores_two_nodes)
{
	char list[100];
	const int first = first_core(), n = cores_count();
	int64_t users[CORES_MAX];

	if (first < 0 || n < 2) {
		test_skip("needs two cores");
		return;
	}
	use_fake_trees();
	fake("sys/devices/system/node/has_cpu", "4-5,7,5000\n");
	snprintf(list, sizeof(list), "%d\n", first);
	fake("sys/devices/system/node/node6/cpulist", list); /* a node that is gone */
	fake("sys/devices/system/node/node4/cpulist", list);
	snprintf(list, sizeof(list), "%d-%d,4095\n", first + 1, CORES_MAX - 2);
	fake("sys/devices/system/node/node7/cpulist", list);
	fake("sys/devices/system/node/node5/cpulist", "\n");
	check_int(cores_node_count(), 2);
	check_int(cores_bind_nodes(2, 3), 0); /* two nodes and three processes */
	cores_mask(users);
	check_int(users[first], 1);
	check_int(cores_bind_nodes(0, 1), n); /* one process has both nodes */
	check_int(cores_bind_nodes(3, 4), MAX((n - 1) / 2, 1));
	cores_mask(users);
	check_int(users[first], 0);
	check_int(cores_count(), n - 1);
	check_int(cores_node_count(), 1); /* that this process may still use */
}

/* Apply the memory limits of the fake trees to a host of 1000 bytes, 800 of them free; compare the result. */
static void check_fake_memory(double total, double available)
{
	double all = 1000, free_now = 800;
	char proc[300], sys[300];

	snprintf(proc, sizeof(proc), "%s/proc", test_folder());
	snprintf(sys, sizeof(sys), "%s/sys", test_folder());
	cgroup_limit_memory(proc, sys, &all, &free_now);
	check_near(all, total, 0);
	check_near(free_now, available, 0);
}

TEST(cgroup_memory_version_2)
{
	check_fake_memory(1000, 800);
	fake("proc/self/cgroup", "0::/a.slice/b.scope\n");
	fake("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
	check_fake_memory(1000, 800);
	fake("sys/fs/cgroup/a.slice/b.scope/memory.max", "600\n");
	check_fake_memory(600, 600); /* how much is in use is not known */
	fake("sys/fs/cgroup/a.slice/b.scope/memory.current", "250\n");
	check_fake_memory(600, 350);
	fake("sys/fs/cgroup/a.slice/b.scope/memory.stat",
	     "anon 150\nfile 100\ninactive_file_x 7\ninactive_file 60\n");
	check_fake_memory(600, 410);
	/* a cgroup around it has a larger limit, but less of it is left */
	fake("sys/fs/cgroup/a.slice/memory.max", "700\n");
	fake("sys/fs/cgroup/a.slice/memory.current", "690\n");
	check_fake_memory(600, 10);
	fake("sys/fs/cgroup/a.slice/memory.current", "800\n");
	check_fake_memory(600, 0);
	fake("sys/fs/cgroup/a.slice/b.scope/memory.max",
	     "-1\n"); /* a negative number is no limit */
	check_fake_memory(700, 0);
	fake("sys/fs/cgroup/a.slice/memory.max", "nan\n");
	check_fake_memory(1000, 800);
}

TEST(cgroup_memory_version_1)
{
	fake("proc/self/cgroup", "9:memory:/job/step\n4:cpu,cpuacct:/other\n0::/\n");
	fake("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n");
	fake("sys/fs/cgroup/memory/job/step/memory.usage_in_bytes", "300\n");
	check_fake_memory(1000, 800);
	fake("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500\n");
	fake("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "300\n");
	check_fake_memory(500, 200);
	fake("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 5\ntotal_inactive_file 50\n");
	check_fake_memory(500, 250);
}
