/*
 * reduce.h - sums of an array over ranks, bucket by bucket, during the backward pass.
 *
 * Buckets. The array (the gradient arena) is cut into buckets, and each bucket into one piece for
 * each rank (buckets.h). The rank that owns a piece computes its sum, in two steps:
 *
 *	reduce-scatter	every rank sends its piece j of the bucket to rank j; rank j adds up the
 *			pieces in the order of ranks, in fp32
 *	all-gather	rank j sends the sum of piece j to all ranks
 *
 * A rank sends 2 (n-1)/n of the array. All ranks get the same bits, and the bits depend on nothing
 * but the contributions. The formats of compress.h reduce the bytes of both steps.
 *
 * Overlap. The backward pass finishes the arena from its end to its start. Its hook calls
 * reduce_ready(r, from): all gradients from from on are final. Buckets that lie there are sent
 * while the backward pass computes the rest. Only the transfers that are unfinished after the
 * backward pass cost time.
 *
 * Error feedback. With 2bit, 1bit and int8, a rank stores the rounding errors of what it sends and adds
 * them to the next gradient. A rank sends its contributions to the pieces of other ranks, and the
 * sums of its own pieces. The two sets of ranges do not overlap, so one array of the length of the
 * gradients holds all errors of a rank. The array is part of a checkpoint.
 *
 *	struct reduce *r = reduce_open(comm, &how, e);		collective
 *	reduce_begin(r, gradients);
 *	…  reduce_ready(r, from);	gradients[from ..] is final; the hook of the backward pass
 *	do rc = reduce_poll(r, &done, e); while (!rc && !done && …);
 *	reduce_free(r);
 *
 * Arrays in host memory (reduce_host.c): if the comm allows threads, a thread of the reduction
 * sends buckets as they become ready and polls those under way; otherwise reduce_ready() and
 * reduce_poll() do so.
 *
 * Arrays on a GPU, if GPUs communicate (comm->gpus; reduce_gpu.c): the same calls enqueue the work
 * and return. Buckets are reduced on a second queue, which waits for the ops that were enqueued
 * before reduce_ready(). Ops that are enqueued after *done see the sums. The host never waits;
 * comm->check() reports later failures. reduce_gpu.c says which sums equal the host's bits.
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
	struct buckets buckets; /* of the arrays; buckets.ranks is the size of the comm */
	enum wire_format wire;
	bool may_be_exact; /* the caller will use reduce_set_exact() */
	/* no all-gather: only the own pieces become sums, the rest of the array is undefined */
	bool shards;
	bool thread; /* use a thread if the comm allows it */
	/* borrowed: the backend in whose memory the arrays lie; NULL: host memory */
	const struct ops *ops;
	struct dev *dev;
};

struct reduce;

/* Collective. Borrows comm. The caller frees the result. NULL: failure. */
struct reduce *reduce_open(struct comm *comm, const struct reduce_options *how, struct err *e);
void reduce_free(struct reduce *r); /* may be NULL */

/* Upper bound of the bytes that reduce_open() allocates on one rank, in the arrays' memory. */
size_t reduce_memory(const struct reduce_options *how);

/*
 * Between two reductions, on all ranks: the next ones use fp32 instead of how->wire, or how->wire again.
 * The error feedback is kept meanwhile.
 */
void reduce_set_exact(struct reduce *r, bool is_exact);
/* Begin a reduction of x (buckets.floats), in place; x is borrowed until *done. */
void reduce_begin(struct reduce *r, float *x);
/* x[from ..] is final. from falls from call to call; the last call is with 0. */
void reduce_ready(struct reduce *r, size_t from);
/* Never waits. After *done the sums are in x, and another reduction may begin. */
int reduce_poll(struct reduce *r, bool *done, struct err *e);
/* Reduce an array that is final already: begin, ready(0), and wait. */
int reduce_all(struct reduce *r, float *x, struct err *e);

/*
 * Only for arrays on a GPU, after *done: x (n <= REDUCE_NUMBERS, on the GPU) = its sum over ranks,
 * added up in the order of ranks. Enqueued: later ops see the sums, the host does not wait.
 */
#define REDUCE_NUMBERS 8
int reduce_numbers(struct reduce *r, double *x, size_t n, struct err *e);
/* Only for arrays on a GPU: has it finished the ops enqueued before reduce_ready(r, 0)? No wait. */
bool reduce_backward_is_done(struct reduce *r);

/* All-gather in fp32: each rank sends its own pieces of x; all of x is defined afterwards. */
int reduce_all_gather(struct reduce *r, float *x, struct err *e);

/* Since the last call of reduce_collect(). */
struct reduce_counts {
	double sent_bytes; /* to other ranks */
	double busy_s;	   /* in which messages were under way */
	/*
	 * In which the ops of a GPU waited for a reduction. 0 for arrays in host memory: there the
	 * caller measures its own waiting.
	 */
	double exposed_s;
};
struct reduce_counts reduce_collect(struct reduce *r);

/* (floats) of this rank, in the arrays' memory, for checkpoints; borrowed. NULL: fp32 or bf16. */
float *reduce_error_feedback(struct reduce *r);

#endif
