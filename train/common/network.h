/*
 * network.h - bytes and latency of reductions over a network, and whether the network is the
 * bottleneck: pure arithmetic. plan.h has the times of whole reductions.
 *
 * An all-reduce of S bytes over n nodes has busbw = algbw * 2 (n-1)/n with algbw = S / seconds, which is
 * comparable with the link (NCCL's PERFORMANCE.md).
 */
#ifndef WERKBANK_TRAIN_COMMON_NETWORK_H
#define WERKBANK_TRAIN_COMMON_NETWORK_H

#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

double network_bytes_sent(double bytes, double nodes); /* by each node: 2 (n-1)/n S */
/*
 * Bytes that leave each host if every rank sends its parts directly to the other ranks
 * (train/comm/reduce.h) and the ranks are spread evenly over the hosts. With one rank on each host
 * this is network_bytes_sent().
 */
double network_bytes_left(double bytes, double ranks, double hosts);
/*
 * First steps of a training whose gradients are sent as fp32, before they are sent in a format of the
 * option "wire": options wire_warmup and warmup.
 */
int64_t network_exact_steps(const struct conf *c, int64_t wire);
double network_busbw(double bytes, double nodes, double seconds);
/*
 * Seconds that latency alone costs a reduction in buckets (train/comm/reduce.h), whatever the link's
 * speed: NETWORK_DEPTH buckets at a time are sent to the ranks that sum them and back, and after
 * each pause TCP begins with NETWORK_WINDOW bytes and doubles them with each round trip, until the
 * link is full (link_bytes_s) or all bytes (of one host) are sent. link_bytes_s NAN: unknown.
 */
double network_latency_seconds(double buckets, double bytes, double link_bytes_s, double latency_s);
#define NETWORK_DEPTH  4.0     /* buckets in flight, DEPTH of train/comm/reduce_host.c */
#define NETWORK_WINDOW 14480.0 /* first window of TCP: ten segments (RFC 6928) */

/*
 * Parse a speed, a number with its unit: "1gbit", "100mbit", "2.5 Gbit/s" (bits), "12.5GB/s",
 * "100 MiB/s" (bytes). A number without a unit is ERR_USAGE.
 */
int network_rate_read(const char *text, double *bytes_s, struct err *e);

/* "1.73 Gbit/s (216 MB/s)"; "unknown" for NAN. Returns out. */
#define NETWORK_RATE_TEXT 64
char *network_rate_text(char out[NETWORK_RATE_TEXT], double bytes_s);

/*
 * The rules for the answer, by the exposed share: the part of a step that waits for reductions
 * which backward did not hide. The first row that fits counts.
 *
 *	below 5 %	no
 *	below 20 %	slightly
 *	more		loss		1 % of the segments are retransmitted, both during
 *					reductions and while the link is nearly idle (light_lost)
 *			latency		latency explains half of the exposed time
 *					(network_latency_seconds()), and ranks do not wait for a
 *					straggler
 *			link		reductions use 60 % of the link's speed
 *			straggler	half of the waiting is for the slowest rank
 *			no		all ranks are on one host
 *			loss		0.1 % of the segments are retransmitted, the link is not
 *					full, and what a nearly idle link loses is unknown (a
 *					full link drops packets, too, if only at times)
 *			latency		latency explains a quarter of the exposed time, or it is
 *					unknown, and reductions use less of the link's speed
 *
 * unknown: the numbers for an answer are missing, among them the link's speed, or none of the known
 * causes explains the waiting. Reductions that are faster than the link's speed by more than half
 * prove that speed wrong (messages of a short measurement are off by up to a third): then it counts
 * as unknown.
 */
#define NETWORK_SLIGHT_SHARE	 0.05
#define NETWORK_MAJOR_SHARE	 0.20
#define NETWORK_LINK_FULL_SHARE	 0.60
#define NETWORK_LINK_WRONG_SHARE 1.50
#define NETWORK_LATENCY_SHARE	 0.50
#define NETWORK_LATENCY_LEAST	 0.25
#define NETWORK_LOSS_SHARE	 0.001
#define NETWORK_LOSS_SHARE_LIGHT 0.01 /* while the link is nearly idle */
#define NETWORK_STRAGGLER_SHARE	 1.2

/* Measurements: means over the same steps; an unknown number is NAN. */
struct network_evidence {
	int64_t ranks, hosts;		     /* hosts 0: unknown; assume one for each rank */
	double step_s, compute_s, exposed_s; /* of the first rank */
	double wait_s;	       /* part of exposed_s: until the slowest rank was ready */
	double gradient_bytes; /* of one reduction as fp32 */
	double wire_ratio;     /* bytes on the wire for one byte of fp32 */
	double reductions;     /* number in a step: 1, or 1/local_steps */
	double observed_bytes; /* sent by the interface of the busiest host in a step */
	double link_bytes_s;   /* bytes a second of a link, one direction */
	double latency_s;      /* of a small message, one way, between hosts */
	double buckets;	       /* of one reduction */
	double transfer_s;     /* seconds of a step in which reductions were running */
	double retransmits_s;  /* TCP segments retransmitted a second, busiest host */
	double light_lost;     /* share of segments retransmitted while the link was nearly idle */
	double slowest_share;  /* compute time of the slowest rank divided by the median */
	int32_t slowest_rank;  /* -1: unknown */
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
	/* NAN: unknown; predicted and observed bytes: sent by a host in a step */
	double exposed_share, predicted_bytes, observed_bytes, busbw_bytes_s, link_bytes_s;
	char text[480]; /* one sentence for the user, with the numbers */
};

const char *network_answer_name(enum network_answer a); /* as in the journal */

/*
 * Messages after each other until all hosts know that all are ready: Open MPI adds small numbers in
 * a binary tree and sends the sum back.
 */
double network_ready_messages(double hosts);

/* Is the network the bottleneck, and why? Always fills verdict. */
void network_diagnose(const struct network_evidence *v, struct network_verdict *verdict);

#endif
