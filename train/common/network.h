/*
 * network.h - what a network can do and what a training asks of it: pure arithmetic.
 *
 * The cost of an all-reduce of S bytes over n nodes with links of B bytes/s (one
 * direction) and latency a seconds (Thakur, Rabenseifner, Gropp 2005; NCCL's
 * PERFORMANCE.md for busbw):
 *
 *	ring	2 (n-1) a + 2 (n-1)/n S/B
 *	tree	2 ceil(log2 n) a + 2 S/B		(pipelined)
 *
 * busbw = algbw * 2 (n-1)/n with algbw = S / seconds: comparable with the link.
 */
#ifndef WERKBANK_TRAIN_COMMON_NETWORK_H
#define WERKBANK_TRAIN_COMMON_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

double network_ring_seconds(double bytes, double nodes, double link_bytes_s, double latency_s);
double network_tree_seconds(double bytes, double nodes, double link_bytes_s, double latency_s);
double network_bytes_sent(double bytes, double nodes); /* by each node: 2 (n-1)/n S */
/*
 * By each host when every rank sends its parts straight to the other ranks (train/comm/reduce.h)
 * and the ranks are spread evenly; with one rank a host the same as network_bytes_sent().
 */
double network_bytes_left(double bytes, double ranks, double hosts);
double network_busbw(double bytes, double nodes, double seconds);

/*
 * A speed as people write it: a number and its unit, "1gbit", "100mbit", "2.5 Gbit/s" (bits),
 * "12.5GB/s", "100 MiB/s" (bytes). Without a unit it is ERR_USAGE.
 */
int network_rate_read(const char *text, double *bytes_s, struct err *e);

/* "1.73 Gbit/s (216 MB/s)", "unknown" of a NAN. Returns out. */
#define NETWORK_RATE_TEXT 64
char *network_rate_text(char out[NETWORK_RATE_TEXT], double bytes_s);

/*
 * The rules. Of a step is waiting for reductions that backward did not hide
 *	below 5 %	no
 *	below 20 %	slightly
 *	more		link		while communicating 60 % of the link's speed is used
 *			straggler	half of it is waiting for the slowest rank to come
 *			link		the link's speed is unknown and it is too long for latency
 *			loss		less than that, and 0.1 % of the segments are sent again, or
 *					1 % where the link's speed is unknown
 *			latency		less than that: latency, processors, a wrong link speed
 *			no		all ranks are on one host
 * unknown: the numbers for an answer are missing.
 */
#define NETWORK_SLIGHT_SHARE	   0.05
#define NETWORK_MAJOR_SHARE	   0.20
#define NETWORK_LINK_FULL_SHARE	   0.60
#define NETWORK_LOSS_SHARE	   0.001
#define NETWORK_LOSS_SHARE_UNKNOWN 0.01 /* where the link's speed is not known */
#define NETWORK_STRAGGLER_SHARE	   1.2

/* What was seen, means over the same steps; a number that is not known is NAN. */
struct network_evidence {
	int64_t ranks, hosts;		     /* hosts 0: unknown, as many as ranks */
	double step_s, compute_s, exposed_s; /* of the first rank */
	double wait_s;			     /* of exposed_s: until the slowest rank had come */
	double gradient_bytes;		     /* of one reduction as fp32 */
	double wire_ratio;		     /* bytes on the wire for one of them */
	double reductions;		     /* in a step: 1, 1/local_steps */
	double observed_bytes;		     /* sent by the busiest host's interface in a step */
	double link_bytes_s;		     /* speed of a link, one direction */
	double transfer_s;    /* seconds of a step in which reductions were under way */
	double retransmits_s; /* TCP segments sent again a second, busiest host */
	double slowest_share; /* compute of the slowest rank over the median rank's */
	int32_t slowest_rank; /* -1: unknown */
};

enum network_answer {
	NETWORK_UNKNOWN,
	NETWORK_NO,
	NETWORK_SLIGHTLY,
	NETWORK_LINK,
	NETWORK_LATENCY,
	NETWORK_STRAGGLER,
	NETWORK_LOSS
};

struct network_verdict {
	enum network_answer answer;
	/* NAN: unknown; bytes: that a host sends in a step */
	double exposed_share, predicted_bytes, observed_bytes, busbw_bytes_s, link_bytes_s;
	char text[400]; /* one sentence for people, with the numbers */
};

const char *network_answer_name(enum network_answer a); /* as in the journal */

/* Is the network the bottleneck, and why? */
void network_diagnose(const struct network_evidence *v, struct network_verdict *verdict);

#endif
