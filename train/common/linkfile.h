/*
 * linkfile.h - WORKSPACE/network.json: what "werkbank hosts bandwidth" measured.
 *
 *	{ "v": 1, "t": unix seconds, "network": CIDR or "", "hosts": [name, …],
 *	  "link_bytes_s": one direction of the slowest link, payload, as measured,
 *	  "latency_s": one way, of a small message,
 *	  "allreduce": [{ "bytes", "seconds", "algbw_bytes_s", "busbw_bytes_s",
 *		"bf16_s", "2bit_s", "1bit_s" }, …], smallest first: seconds of one of our reductions
 *		of so many bytes of fp32 over all of these hosts, one rank each, as fp32 and in
 *		the other forms (where measured),
 *	  "beside": [{ "wire", "bytes", "seconds", "lost_s" }, …]: the same while all processors
 *		compute, and by how much that is late afterwards,
 *	  "pairs": [{ "from", "to", "latency_s", "bytes_s" }, …] }
 *
 * Read by "werkbank plan" and by telemetry, for interfaces whose speed the kernel
 * does not know.
 */
#ifndef WERKBANK_TRAIN_COMMON_LINKFILE_H
#define WERKBANK_TRAIN_COMMON_LINKFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/base/json.h"

/* What most readers want of it. */
struct link_speed {
	double measured; /* unix seconds; 0: never */
	int64_t hosts;
	double bytes_s, latency_s; /* NAN: unknown */
	char network[64];
};

#define LINK_WIRES  4 /* forms on the wire, in the order of the option "wire" */
#define LINK_POINTS 16

/* What reductions took; a number that is not known is NAN. */
struct link_curve {
	int64_t hosts;
	size_t n;
	struct {
		double bytes, seconds[LINK_WIRES];
	} points[LINK_POINTS];
	struct {
		double bytes, seconds, lost_s;
	} beside[LINK_WIRES];
};

/*
 * Of a reduction of so many bytes of fp32: between two sizes as a power of the size, below the
 * smallest as long as that, above the largest in proportion. NAN: not measured.
 */
double link_curve_seconds(const struct link_curve *c, int wire, double bytes);

/* Like linkfile_read(); hosts is 0 without a file. */
int linkfile_read_curve(struct link_curve *c, const char *workspace, struct err *e);

/* No such file: measured is 0 and the rest unknown; one that cannot be read: ERR_DATA. */
int linkfile_read(struct link_speed *s, const char *workspace, struct err *e);

/* Replace the file by this document. */
int linkfile_write(const char *workspace, const struct buf *json, struct err *e);

#endif
