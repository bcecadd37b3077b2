/*
 * link_measure.h - measures the network between the hosts of a job before its first step.
 *
 * The first rank of each host exchanges messages with the next host of a ring, several pairs of
 * hosts at the same time. First small messages, for the latency; then bursts that any link can take
 * (ten segments and a pause), whose retransmitted segments are lost packets, not those that a full
 * link drops; then longer and longer messages until two after each other have the same steady speed
 * at their receiver (link_speed.h).
 */
#ifndef WERKBANK_TRAIN_WATCH_LINK_MEASURE_H
#define WERKBANK_TRAIN_WATCH_LINK_MEASURE_H

#include <stdbool.h>

#include "share/base/err.h"
#include "train/comm/comm.h"

struct link_measure {
	double latency_s; /* of a small message, one way, slowest pair; 0: only one host */
	double bytes_s;	  /* one direction, slowest pair; NAN: not measured, or not steady */
	double lost;	  /* share of the bursts' segments that were sent again; NAN: unknown */
	double took_s;	  /* duration of the measurement */
};

/*
 * Collective. hosts: how many the job has. all: false: only the latency. It takes some 0.3 s on a
 * fast network, some seconds (8 for 75 ms) on one with a high latency or few Mbit/s.
 */
int link_measure(struct comm *c, int64_t hosts, bool all, struct link_measure *m, struct err *e);

#endif
