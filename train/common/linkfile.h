/*
 * linkfile.h - WORKSPACE/network.json, the measurements of "werkbank hosts bandwidth".
 *
 *	{ "v": 1, "t": unix seconds, "network": CIDR or "", "hosts": [name, …],
 *	  "link_bytes_s": one direction of the slowest link, payload, as measured,
 *	  "latency_s": one way, of a small message,
 *	  "allreduce": [{ "bytes", "seconds", "algbw_bytes_s", "busbw_bytes_s",
 *		"bf16_s", "2bit_s", "1bit_s", "int8_s" }, …], smallest first: seconds of a reduction of
 *		this number of bytes of fp32 over all these hosts, one rank each, sent as fp32 and (if
 *		measured) in the other formats,
 *	  "beside": [{ "wire", "bytes", "seconds", "lost_s" }, …]: the same while all cores
 *		compute, and the delay of that computation,
 *	  "pairs": [{ "from", "to", "latency_s", "bytes_s" }, …] }
 *
 * "werkbank plan" reads it, and telemetry for interfaces whose speed the kernel does not know.
 */
#ifndef WERKBANK_TRAIN_COMMON_LINKFILE_H
#define WERKBANK_TRAIN_COMMON_LINKFILE_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/format/json.h"

/* The summary that most readers need. */
struct link_speed {
	double measured; /* unix seconds; 0: never */
	int64_t hosts;
	double bytes_s, latency_s; /* NAN: unknown */
	char network[64];
};

#define LINK_WIRES  5  /* formats on the wire, in the order of the option "wire" */
#define LINK_POINTS 16 /* sizes in a curve */

/* Of each format: the value of "wire", and the key of the seconds of a reduction. */
extern const char *const LINK_WIRE_NAMES[LINK_WIRES], *const LINK_KEYS[LINK_WIRES];

/* Measured times of reductions; an unknown number is NAN. */
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
 * Seconds of a reduction of `bytes` bytes of fp32. Between two measured sizes: interpolated as a
 * power of the size; below the smallest: its time; above the largest: in proportion. NAN: not
 * measured in this format.
 */
double link_curve_seconds(const struct link_curve *c, int wire, double bytes);

/* Read the curve; hosts is 0 without a file. An unreadable file: ERR_DATA. */
int linkfile_read_curve(struct link_curve *c, const char *workspace, struct err *e);

/*
 * Read the summary; without a file measured is 0 and the rest unknown. An unreadable file:
 * ERR_DATA.
 */
int linkfile_read(struct link_speed *s, const char *workspace, struct err *e);

/* Replace the file by this document. */
int linkfile_write(const char *workspace, const struct buf *json, struct err *e);

#endif
