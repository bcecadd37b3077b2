/*
 * host_cpu.h - processors and memory of this host, from /proc.
 *
 * Linux's proc(5): /proc/stat, /proc/meminfo, /proc/loadavg; Documentation/accounting/psi.rst
 * for /proc/pressure, where "some" is the time in which at least one task waited.
 */
#ifndef WERKBANK_TRAIN_COMMON_HOST_CPU_H
#define WERKBANK_TRAIN_COMMON_HOST_CPU_H

#include "train/common/host_file.h"

/* Of all processors since the start, in ticks: not idle and not waiting for disks; and all. */
bool host_cpu_times(const char *stat, uint64_t *busy, uint64_t *total);

/* Bytes; available is what could be had without swapping. */
bool host_memory(const char *meminfo, double *total, double *available);

/* Microseconds of the line "some". */
bool host_pressure(const char *pressure, uint64_t *waited_us);

/* What changes from one look to the next. All zero at first. */
struct host_cpu {
	uint64_t busy, total;
	bool started;
	struct host_counter waits[3];
};

struct host_cpu_now {
	double busy;				  /* 0..1 of all processors since the look before */
	double load;				  /* mean of the last minute */
	double memory_total, memory_available;	  /* bytes */
	double waits_cpu, waits_io, waits_memory; /* share of time: some task waited */
};

void host_cpu_sample(struct host_cpu *c, const struct host_roots *roots, double at,
		     struct host_cpu_now *now);

#endif
