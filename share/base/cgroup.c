/* cgroup.c - see cgroup.h */
#include "share/base/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"

#define PATH_BYTES 4096

/* The smallest limits of the cgroups that were read so far. */
struct cgroup_limits {
	double cores;	  /* 0: no limit */
	double memory;	  /* bytes; INFINITY: no limit */
	double available; /* bytes left below the tightest memory limit; INFINITY: no limit */
};

/* A controller, and the function that reads its limit from the folder of a cgroup. The folder may lack its files. */
struct cgroup_controller {
	const char *name;
	void (*read)(const char *folder, struct cgroup_limits *l);
};

static const char *system_root(const char *variable, const char *usual)
{
	const char *root = getenv(variable);

	return root && *root ? root : usual;
}

const char *cgroup_proc_root(void)
{
	return system_root("WERKBANK_PROC_ROOT", "/proc");
}

const char *cgroup_sys_root(void)
{
	return system_root("WERKBANK_SYS_ROOT", "/sys");
}

static bool read_cgroup_line(const char *folder, const char *name, char *line, size_t room)
{
	char path[PATH_BYTES + 40];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return file_first_line(path, line, room);
}

/* A file with one number. False: there is none, or it is "max" (no limit). */
static bool read_cgroup_number(const char *folder, const char *name, double *value)
{
	char line[80];

	return read_cgroup_line(folder, name, line, sizeof(line)) &&
	       sscanf(line, "%lf", value) == 1 && isfinite(*value);
}

static void read_cpu_limit(const char *folder, struct cgroup_limits *l)
{
	char quota[80];
	double most = 0, each = 0, limit;

	if (read_cgroup_line(folder, "cpu.max", quota, sizeof(quota))) {
		if (sscanf(quota, "%lf %lf", &most, &each) != 2)
			return;
	} else if (!read_cgroup_number(folder, "cpu.cfs_quota_us", &most) ||
		   !read_cgroup_number(folder, "cpu.cfs_period_us", &each)) {
		return;
	}
	limit = most > 0 && each > 0 ? most / each : 0;
	if (limit > 0 && isfinite(limit))
		l->cores = l->cores > 0 ? MIN(l->cores, limit) : limit;
}

/* Bytes of the page cache that the kernel can drop: the line `name` of memory.stat; 0: unknown. */
static double read_inactive_file(const char *folder, const char *name)
{
	char path[PATH_BYTES + 40], line[160];
	const size_t n = strlen(name);
	double bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ' ' &&
		    sscanf(line + n, "%lf", &bytes) == 1)
			break;
	if (f)
		fclose(f);
	return bytes > 0 && isfinite(bytes) ? bytes : 0;
}

static void read_memory_limit(const char *folder, struct cgroup_limits *l)
{
	double limit, used;
	const bool is_first = read_cgroup_number(folder, "memory.limit_in_bytes", &limit);

	if ((!is_first && !read_cgroup_number(folder, "memory.max", &limit)) || limit < 0)
		return;
	l->memory = MIN(l->memory, limit);
	if (!read_cgroup_number(folder, is_first ? "memory.usage_in_bytes" : "memory.current",
				&used) ||
	    used < 0)
		return;
	used -= read_inactive_file(folder, is_first ? "total_inactive_file" : "inactive_file");
	l->available = MIN(l->available, MAX(limit - MAX(used, 0), 0));
}

/*
 * The limits from the cgroup at path up to the root of its tree. In a container the path may be that of the host:
 * then only the root exists here, and it is the container's own cgroup.
 */
static void walk_cgroups(const char *tree, const char *path,
			 const struct cgroup_controller *controller, struct cgroup_limits *l)
{
	char folder[PATH_BYTES];
	const size_t root = strlen(tree), n = strlen(path);

	if (root + n >= sizeof(folder))
		return;
	memcpy(folder, tree, root);
	memcpy(folder + root, path, n + 1);
	for (;;) {
		char *cut;

		controller->read(folder, l);
		cut = strrchr(folder, '/');
		if (!cut || cut < folder + root)
			return;
		*cut = 0;
	}
}

static bool has_controller(const char *list, const char *name)
{
	const size_t n = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == n && !strncmp(list, name, n))
			return true;
	return false;
}

/* A line of /proc/self/cgroup: "0::/PATH" (version 2) or "4:cpu,cpuacct:/PATH" (version 1). */
static void read_cgroup_entry(char *line, const char *sys,
			      const struct cgroup_controller *controller, struct cgroup_limits *l)
{
	char tree[PATH_BYTES];
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return;
	*path++ = 0;
	controllers++;
	path[strcspn(path, "\n")] = 0;
	if (*controllers && !has_controller(controllers, controller->name))
		return;
	snprintf(tree, sizeof(tree), "%s/fs/cgroup%s%s", sys, *controllers ? "/" : "", controllers);
	walk_cgroups(tree, path, controller, l);
}

static void read_limits(const char *proc, const char *sys,
			const struct cgroup_controller *controller, struct cgroup_limits *l)
{
	char path[PATH_BYTES], line[PATH_BYTES];
	FILE *f;

	*l = (struct cgroup_limits){ .memory = INFINITY, .available = INFINITY };
	snprintf(path, sizeof(path), "%s/self/cgroup", proc);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		read_cgroup_entry(line, sys, controller, l);
	if (f)
		fclose(f);
}

double cgroup_cores(const char *proc, const char *sys)
{
	static const struct cgroup_controller cpu = { "cpu", read_cpu_limit };
	struct cgroup_limits l;

	read_limits(proc, sys, &cpu, &l);
	return l.cores;
}

void cgroup_limit_memory(const char *proc, const char *sys, double *total, double *available)
{
	static const struct cgroup_controller memory = { "memory", read_memory_limit };
	struct cgroup_limits l;

	read_limits(proc, sys, &memory, &l);
	if (!(l.memory < *total)) /* version 1 writes a huge number for "no limit" */
		return;
	*total = l.memory;
	*available = MIN(*available, MIN(l.available, l.memory));
}
