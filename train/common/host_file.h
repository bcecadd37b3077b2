/*
 * host_file.h - small files of /proc and /sys, and rates of the counters in them.
 *
 * The readers of a host (host_cpu.h host_disk.h host_net.h host_gpu.h) take the roots of both as
 * an argument, so that tests bring trees of their own, and parse texts in functions of their own,
 * which take anything. A number that is not known is NAN, never 0.
 */
#ifndef WERKBANK_TRAIN_COMMON_HOST_FILE_H
#define WERKBANK_TRAIN_COMMON_HOST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/util.h"

struct host_roots {
	char proc[300]; /* "/proc" */
	char sys[300];	/* "/sys" */
	char nvml[300]; /* library of NVIDIA's driver; "": where the system has it */
};

/* The system's, or what WERKBANK_PROC_ROOT, WERKBANK_SYS_ROOT and WERKBANK_NVML say. */
void host_roots_find(struct host_roots *r);

/* The first room - 1 bytes of a file, NUL-terminated: how many; -1: it cannot be read. */
int64_t host_read(char *to, size_t room, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* A file that holds one number; false when it does not. */
bool host_read_number(double *value, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * The unsigned number after blanks at *at, which moves behind it. False when there is none or it
 * does not fit into 64 bits.
 */
bool host_number(const char **at, uint64_t *value);

/* The place behind the line that at is in: the next line, or the end of the text. */
const char *host_next_line(const char *at);

/* A counter that only grows, looked at from time to time. All zero: not yet. */
struct host_counter {
	uint64_t last;
	double at; /* seconds, CLOCK_MONOTONIC */
	bool started;
};

/* Per second since the look before; NAN: there was none, or the counter went back or was reset. */
double host_counter_rate(struct host_counter *c, uint64_t now, double at);

/* Means over time. All zero: empty. */
struct host_mean {
	double sum, weight, peak;
};

void host_mean_add(struct host_mean *m, double value, double weight); /* NAN is left out */
double host_mean_collect(struct host_mean *m, double *peak); /* NAN: none was added; empties */

#endif
