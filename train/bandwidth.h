/*
 * bandwidth.h - how fast the ranks of a job speak with each other, measured.
 *
 * All-reduces of 1 KB to 64 MB over all ranks, then messages between pairs of ranks: half the
 * time of a round trip of 8 bytes, and the bytes a second of one long message in one
 * direction. Each measurement ends after a fraction of a second. Up to 8 ranks every
 * ordered pair is measured, with more each rank and its next one.
 */
#ifndef WERKBANK_TRAIN_BANDWIDTH_H
#define WERKBANK_TRAIN_BANDWIDTH_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "train/comm.h"

/*
 * Collective. The first rank adds to out one JSON object, the members hosts (a name for each
 * rank), allreduce and pairs as in linkfile.h; the others add nothing.
 */
int bandwidth_measure(struct comm *c, struct buf *out, struct err *e);

#endif
