/*
 * telemetry_internal.h - what the files of telemetry share.
 *
 *	telemetry.c		the thread that watches a host, steps, gathering
 *	telemetry_records.c	the journal's records out of what was gathered
 */
#ifndef WERKBANK_TRAIN_WATCH_TELEMETRY_INTERNAL_H
#define WERKBANK_TRAIN_WATCH_TELEMETRY_INTERNAL_H

#include <stddef.h>

#include "train/watch/host_watch.h"
#include "train/common/network.h"
#include "train/watch/telemetry.h"

#define TELEMETRY_LATE_SHARE 1.2 /* of the median rank's compute: a straggler */

/* One rank's part of a report; plain data of a fixed size: it travels. */
struct telemetry_row {
	char host[64];
	int64_t steps;		/* that the means are of */
	struct step_times mean; /* of them */
	int32_t local_rank, local_size;
	struct host_report report;	     /* of the first rank of a host; else unknown */
	struct host_gpu gpus[HOST_GPUS_MAX]; /* report.n_gpus of them; the end may be missing */
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

/*
 * What the rows say about the network; order: room for n numbers. The means of ranks that made no
 * steps are left out.
 */
void telemetry_evidence(const struct telemetry_rows *r, const struct telemetry_options *how,
			double *order, struct network_evidence *v);

/* The records "rank", "host" and "verdict". order as above. */
int telemetry_write(const struct telemetry_rows *r, const struct telemetry_options *how,
		    double *order, int64_t step, struct journal *j, struct err *e);

#endif
