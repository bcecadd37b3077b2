/*
 * host_cpu.h - load of the cores and memory of this host, from /proc.
 *
 * Linux's proc(5): /proc/stat, /proc/meminfo, /proc/loadavg; Documentation/accounting/psi.rst
 * for /proc/pressure, where "some" is the time during which at least one task waited.
 */
#ifndef WERKBANK_TRAIN_HOST_HOST_CPU_H
#define WERKBANK_TRAIN_HOST_HOST_CPU_H

#include "train/host/host_file.h"

/* Ticks of all cores since boot: busy (neither idle nor waiting for I/O), and all. */
bool host_cpu_times(const char *stat, uint64_t *busy, uint64_t *total);

/* Bytes; available: without swapping. */
bool host_memory(const char *meminfo, double *total, double *available);

/* The same of this host, at most the limits of the cgroup of this process; NAN: unknown. */
void host_memory_read(const struct host_roots *roots, double *total, double *available);

/* Microseconds of the line "some". */
bool host_pressure(const char *pressure, uint64_t *waited_us);

/* State between two samples. All zero at first. */
struct host_cpu {
	uint64_t busy, total;
	bool started;
	struct host_counter waits[3];
};

struct host_cpu_now {
	double busy;				  /* 0..1 of all cores since the last sample */
	double load;				  /* mean of the last minute */
	double memory_total, memory_available;	  /* bytes */
	double waits_cpu, waits_io, waits_memory; /* 0..1 of the time: some task waited */
};

void host_cpu_sample(struct host_cpu *c, const struct host_roots *roots, double at,
		     struct host_cpu_now *now);

#endif
