/*
 * telemetry_internal.h - the rows that ranks send to the first rank.
 *
 *	telemetry.c		the thread that samples a host; sums over steps; gathering rows
 *	telemetry_records.c	the journal's records from the gathered rows
 */
#ifndef WERKBANK_TRAIN_WATCH_TELEMETRY_INTERNAL_H
#define WERKBANK_TRAIN_WATCH_TELEMETRY_INTERNAL_H

#include <stddef.h>

#include "train/common/network.h"
#include "train/watch/host_watch.h"
#include "train/watch/telemetry.h"

#define TELEMETRY_LATE_SHARE 1.2 /* of the median rank's compute: a straggler */

/* One rank's part of a report; plain data, which ranks send. */
struct telemetry_row {
	char host[64];
	int64_t steps;		/* since the last report */
	struct step_times mean; /* over these steps */
	int32_t local_rank, local_size;
	struct host_report report;	     /* first rank of a host; on others all unknown */
	struct host_gpu gpus[HOST_GPUS_MAX]; /* report.n_gpus; rows are sent without the rest */
};

/* The rows of all ranks, each row_bytes long. */
struct telemetry_rows {
	const char *bytes;
	size_t row_bytes;
	int n;
};

static inline const struct telemetry_row *telemetry_row(const struct telemetry_rows *r, int i)
{
	return (const struct telemetry_row *)(const void *)(r->bytes + (size_t)i * r->row_bytes);
}

/* Write the records "rank", "host" and "verdict". order: workspace for n numbers. */
int telemetry_write(const struct telemetry_rows *r, const struct telemetry_options *how,
		    double *order, int64_t step, struct journal *j, struct err *e);

#endif
