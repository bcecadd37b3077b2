/*
 * bandwidth.h - how fast the ranks of a job speak with each other, measured.
 *
 * All-reduces of 1 KB to 64 MB over all ranks, with what gradients are reduced with
 * (train/comm/reduce.h); those of 64 KB to 16 MB in each form on the wire, and each after a pause, in
 * which a shaper's bucket fills as it does while a step computes. The median counts.
 *
 * Then, of 4 MB or what takes half a second, while all processors of a rank compute: how long the
 * reduction takes so, and by how much the computing is late at its end, which is what sending,
 * receiving and summing cost.
 *
 * Then messages between pairs of ranks: half the time of a round trip of 8 bytes, and the bytes a
 * second of one long message in one direction. Each measurement ends after a fraction of a second.
 * Up to 8 ranks every ordered pair is measured, with more each rank and its next one.
 */
#ifndef WERKBANK_TRAIN_BANDWIDTH_H
#define WERKBANK_TRAIN_BANDWIDTH_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/comm/comm.h"

/*
 * Collective. The first rank adds to out one JSON object, the members hosts (a name for each
 * rank), allreduce, beside and pairs as in linkfile.h; the others add nothing.
 */
int bandwidth_measure(struct comm *c, struct buf *out, struct err *e);

#endif
