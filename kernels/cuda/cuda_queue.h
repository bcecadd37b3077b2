/*
 * cuda_queue.h - what the GPU does beside the ops: a queue of its own, ordered against that of the ops
 * where the caller says so, and the forms of numbers on the wire. Only where CUDA is built; opened by
 * the table's open_queue().
 *
 *	ops …  cuda_queue_wait_for_ops(q)	what q is given from now on waits for these ops
 *	cuda_wire_encode(q, …) …	runs beside the ops that are called meanwhile
 *	cuda_ops_wait_for_queue(q)  ops …	these ops wait for what q was given
 *
 * Nothing here waits or allocates. Faults are noted in the backend: its sync() tells them.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_QUEUE_H
#define WERKBANK_KERNELS_CUDA_CUDA_QUEUE_H

#include "kernels/ops/ops.h"
#include "kernels/ops/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_queue *cuda_queue_open(struct dev *d, struct err *e); /* d is borrowed */
void cuda_queue_close(struct cuda_queue *q);			  /* may be NULL; waits */
void *cuda_queue_stream(struct cuda_queue *q);			  /* its cudaStream_t */

void cuda_queue_wait_for_ops(struct cuda_queue *q);
void cuda_ops_wait_for_queue(struct cuda_queue *q);
void cuda_queue_copy(struct cuda_queue *q, void *to, const void *from, size_t bytes);
void cuda_queue_zero(struct cuda_queue *q, void *p, size_t bytes);
/* sums (cols <= QUEUE_COLUMNS) = the sums of the columns of rows (n, cols), in their order. */
#define QUEUE_COLUMNS 32
void cuda_queue_add_rows(struct cuda_queue *q, double *sums, const double *rows, int32_t n,
			 int32_t cols);

/* Remember where the ops are; have they come there since? */
void cuda_queue_mark_ops(struct cuda_queue *q);
bool cuda_queue_is_past_mark(struct cuda_queue *q);

/* Seconds of the GPU: of the queue between begin and end, or from where the ops are at begin. */
enum cuda_span { CUDA_SPAN_QUEUE, CUDA_SPAN_OPS, CUDA_SPANS };

void cuda_span_begin(struct cuda_queue *q, enum cuda_span which);
void cuda_span_end(struct cuda_queue *q, enum cuda_span which);
/* The sum of those that are over since the last call; one that ends before it begins counts 0. */
double cuda_span_collect(struct cuda_queue *q, enum cuda_span which);

/*
 * A bucket in pieces of each numbers, of which the last may be shorter or empty; piece j is for rank
 * j. x is 16-byte aligned, each a multiple of WIRE_BLOCK. Written pieces lie stride bytes apart (a
 * multiple of 4). Forms and sums are those of train/comm/compress.h and reduce_host.c, to the bit.
 */
struct wire_pieces {
	float *x;
	float *error_feedback; /* of the same numbers; NULL: none */
	int64_t n, piece_len;
	int64_t stride;
	int32_t ranks, own_piece; /* own: the piece that is left out; -1: none */
};

void cuda_wire_encode(struct cuda_queue *q, enum wire_format w, void *out,
		      const struct wire_pieces *p);
void cuda_wire_decode(struct cuda_queue *q, enum wire_format w, const struct wire_pieces *p,
		      const void *in);
/*
 * The own piece of x = itself and what the others wrote, in the order of ranks, as sum will say
 * it; sum = written. NULL: x stays as exact as it is.
 */
void cuda_wire_sum(struct cuda_queue *q, enum wire_format w, void *sum, const struct wire_pieces *p,
		   const void *in);

#ifdef __cplusplus
}
#endif

#endif
