/*
 * bandwidth.h - measures the communication between the ranks of a job.
 *
 * allreduce: reductions of 1 KB to 64 MB over all ranks by train/comm/reduce.h, as of gradients.
 * Those of 64 KB to 16 MB are measured in each wire format, each after a pause: a traffic shaper
 * can refill its token bucket then, as it does while a step computes. The median counts.
 *
 * beside: a reduction of 4 MB, or less if 4 MB take longer than half a second, while all processors
 * of the rank compute. It measures the time of the reduction, and the delay of the computation,
 * which is the cost of sending, receiving and summing.
 *
 * pairs: messages between two ranks. Latency is half a round trip of 8 bytes; speed is that of one
 * long message in one direction. Up to 8 ranks all ordered pairs are measured, with more ranks each
 * rank and the next one. Each measurement takes a fraction of a second.
 */
#ifndef WERKBANK_TRAIN_BANDWIDTH_H
#define WERKBANK_TRAIN_BANDWIDTH_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/comm/comm.h"

/*
 * Collective. The first rank appends to out one JSON object with the members hosts (a name for each
 * rank), allreduce, beside and pairs, see linkfile.h. Other ranks append nothing. ERR_USAGE: a
 * single rank.
 */
int bandwidth_measure(struct comm *c, struct buf *out, struct err *e);

#endif
