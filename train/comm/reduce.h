/*
 * reduce.h - sums over ranks of an array in buckets, while the rest of it is still being computed.
 *
 * Direct exchange, the same for each form on the wire: of each bucket every rank
 * sends piece j to rank j, which adds up what came in the order of ranks, in fp32, and sends the
 * sum to all. So a rank sends 2 (n-1)/n of the array, all ranks hold the same bits, and these depend
 * on nothing but the contributions. With 2bit and 1bit a rank keeps what was lost
 * of its contributions, and what was lost of the sums of its own pieces, where it has no contribution to
 * send: one residual for each float.
 *
 *	struct reduce *r = reduce_open(comm, &how, e);		collective
 *	reduce_begin(r, gradients);
 *	…  reduce_ready(r, from);	x[from ..] is final; from backward's hook
 *	do rc = reduce_poll(r, &done, e); while (!rc && !done && …);
 *	reduce_free(r);
 *
 * Where the comm allows threads, one of reduce's own begins buckets as they become
 * ready and sees to those under way, asleep most of the time; else reduce_ready() and reduce_poll()
 * do it.
 *
 * Arrays of a GPU, where the GPUs of all ranks reach each other (comm->gpus): the same calls give the GPU
 * its work and return. Buckets are reduced on a queue beside that of the ops as soon as
 * these have come to where reduce_ready() was called, and ops that are called after "done" find
 * the sums; the host waits for nothing, and what goes wrong later comm->check() tells. Which sums are the host's
 * to the bit and which are not: reduce_gpu.c.
 */
#ifndef WERKBANK_TRAIN_COMM_REDUCE_H
#define WERKBANK_TRAIN_COMM_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/ops/ops.h"
#include "share/base/err.h"
#include "train/comm/buckets.h"
#include "train/comm/comm.h"
#include "train/comm/compress.h"

struct reduce_options {
	struct buckets buckets; /* of the arrays; ranks: those of the comm */
	enum wire_format wire;
	/* sums stay with the owners of pieces, the rest of the array is undefined */
	bool shards;
	bool thread; /* a thread of its own */
	/* borrowed: where the arrays lie, if not in the host's memory; else NULL */
	const struct ops *ops;
	struct dev *dev;
};

struct reduce;

/* NULL: failure. comm is borrowed. */
struct reduce *reduce_open(struct comm *comm, const struct reduce_options *how, struct err *e);
void reduce_free(struct reduce *r); /* may be NULL */

/* Bytes that reduce_open() will take on one rank, at most, where the arrays lie. */
size_t reduce_memory(const struct reduce_options *how);

void reduce_begin(struct reduce *r, float *x); /* borrowed until it is done */
void reduce_ready(struct reduce *r, size_t from);
/* Never waits. After done the sums are in place; then another reduction may begin. */
int reduce_poll(struct reduce *r, bool *done, struct err *e);
/* The array that is complete now: ready, and wait. */
int reduce_all(struct reduce *r, float *x, struct err *e);

/*
 * Of a GPU, after done: its x (n <= REDUCE_NUMBERS) becomes the sums over ranks, added up in their order. As above, ops
 * that are called afterwards find them and the host waits for nothing.
 */
#define REDUCE_NUMBERS 8
int reduce_numbers(struct reduce *r, double *x, size_t n, struct err *e);
/* Of a GPU: has it come to where reduce_ready(r, 0) was called? Never waits. */
bool reduce_backward_is_done(struct reduce *r);

/* Each rank's own pieces of x, as they are, to all others; all of x is defined afterwards. */
int reduce_all_gather(struct reduce *r, float *x, struct err *e);

/* Payload sent to other ranks since the last call; seconds in which messages were under way. */
double reduce_collect_sent(struct reduce *r);
double reduce_collect_busy(struct reduce *r);
/* Seconds for which a GPU's ops had nothing to do but wait; of the host's arrays the caller knows. */
double reduce_collect_exposed(struct reduce *r);

/* (floats) of this rank, for checkpoints, where the arrays lie; NULL where nothing is fed back. */
float *reduce_error_feedback(struct reduce *r);

#endif
