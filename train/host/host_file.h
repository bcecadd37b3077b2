/*
 * host_file.h - reads small files of /proc and /sys, and computes rates of their counters.
 *
 * The modules that sample a host (host_cpu.h host_disk.h host_net.h host_gpu.h) get the roots of
 * both trees as an argument, so that tests can use their own trees. The functions that parse a text
 * accept any text. An unknown number is NAN, never 0.
 */
#ifndef WERKBANK_TRAIN_HOST_HOST_FILE_H
#define WERKBANK_TRAIN_HOST_HOST_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/util.h"

struct host_roots {
	char proc[300]; /* "/proc" */
	char sys[300];	/* "/sys" */
	char nvml[300]; /* path of libnvidia-ml; "": the system's */
};

/* The roots of the system, or $WERKBANK_PROC_ROOT, $WERKBANK_SYS_ROOT and $WERKBANK_NVML. */
void host_roots_find(struct host_roots *r);

/* Read at most room - 1 bytes of a file and add NUL. Returns their number; -1: cannot read. */
int64_t host_read(char *to, size_t room, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Read a file that contains one finite number; false: it does not. */
bool host_read_number(double *value, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Parse the unsigned number after blanks at *at, and move *at after it. false: no number, or
 * it does not fit into 64 bits.
 */
bool host_number(const char **at, uint64_t *value);

/*
 * The names in a folder that do not begin with ".", in an order that does not change ("card10" after
 * "card9"). Returns their number, 0 also if the folder cannot be read; then call host_free_list().
 */
int host_list_folder(const char *folder, struct dirent ***names);
void host_free_list(struct dirent **names, int n);

/* The begin of the next line, or the end of the text. */
const char *host_next_line(const char *at);

/* The last sample of a growing counter. All zero: no sample yet. */
struct host_counter {
	uint64_t last;
	double at; /* seconds, CLOCK_MONOTONIC */
	bool started;
};

/* Rate per second since the last sample; NAN: no last sample, or the counter was reset. */
double host_counter_rate(struct host_counter *c, uint64_t now, double at);
/* The same if this sample has a value; else NAN, and the next one begins anew. */
double host_known_rate(struct host_counter *c, bool is_known, uint64_t now, double at);

/* Weighted mean and maximum of a number. All zero: empty. */
struct host_mean {
	double sum, weight, peak;
};

void host_mean_add(struct host_mean *m, double value, double weight); /* ignores NAN */
double host_mean_collect(struct host_mean *m, double *peak);	      /* NAN: empty; then resets */

#endif
