/*
 * linkfile.h - WORKSPACE/network.json: what "werkbank hosts bandwidth" measured.
 *
 *	{ "v": 1, "t": unix seconds, "network": CIDR or "", "hosts": [name, …],
 *	  "link_bytes_s": one direction of the slowest link, payload, as measured,
 *	  "latency_s": one way, of a small message,
 *	  "allreduce": [{ "bytes", "seconds", "algbw_bytes_s", "busbw_bytes_s" }, …],
 *	  "pairs": [{ "from", "to", "latency_s", "bytes_s" }, …] }
 *
 * Read by "werkbank plan" and by telemetry, for interfaces whose speed the kernel
 * does not know.
 */
#ifndef WERKBANK_TRAIN_LINKFILE_H
#define WERKBANK_TRAIN_LINKFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/json.h"

/* What most readers want of it. */
struct link_speed {
	double measured;		/* unix seconds; 0: never */
	int64_t hosts;
	double bytes_s, latency_s;	/* NAN: unknown */
	char network[64];
};

/* No such file: measured is 0 and the rest unknown; one that cannot be read: ERR_DATA. */
int linkfile_read(struct link_speed *s, const char *workspace, struct err *e);

/* Replace the file by this document. */
int linkfile_write(const char *workspace, const struct buf *json, struct err *e);

#endif
