/*
 * cgroup.h - limits of the cgroup of this process: cores and memory
 *
 * A container, a job of Slurm or a unit of systemd may use less than its host has. Read are the cgroup of this process
 * and all cgroups around it (cgroups(7); Documentation/admin-guide/cgroup-v2.rst); the smallest limit holds. proc and sys
 * are "/proc" and "/sys"; tests pass other folders.
 */
#ifndef WERKBANK_SHARE_BASE_CGROUP_H
#define WERKBANK_SHARE_BASE_CGROUP_H

/* $WERKBANK_PROC_ROOT and $WERKBANK_SYS_ROOT, for tests as in host_file.h; else "/proc" and "/sys". */
const char *cgroup_proc_root(void);
const char *cgroup_sys_root(void);

/* Cores; 0: no limit. Version 2: cpu.max; version 1: cpu.cfs_quota_us, cpu.cfs_period_us. */
double cgroup_cores(const char *proc, const char *sys);

/*
 * Lowers *total, the bytes of memory, to the limit, and *available to what is left of it: the limit less the memory in
 * use, of which the page cache that is not active does not count. Without a limit, and where *total is NAN, nothing
 * changes. Version 2: memory.max, memory.current; version 1: memory.limit_in_bytes, memory.usage_in_bytes; memory.stat.
 */
void cgroup_limit_memory(const char *proc, const char *sys, double *total, double *available);

#endif
