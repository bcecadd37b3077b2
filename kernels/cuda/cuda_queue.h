/*
 * cuda_queue.h - a second stream of the GPU, for the exchange of gradients while ops run, and kernels
 * that compress gradients. Only in builds with CUDA; opened by open_queue() of struct ops.
 *
 *	ops …  cuda_queue_wait_for_ops(q)	later work in q waits for these ops
 *	cuda_wire_encode(q, …) …		runs concurrently with the following ops
 *	cuda_ops_wait_for_queue(q)  ops …	these ops wait for the work in q
 *
 * No function but close waits for the GPU, and none but open allocates. Faults are stored in the
 * backend and reported by its sync().
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_QUEUE_H
#define WERKBANK_KERNELS_CUDA_CUDA_QUEUE_H

#include "kernels/ops/ops.h"
#include "kernels/ops/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_queue *cuda_queue_open(struct dev *d, struct err *e); /* borrows d; NULL: failure */
void cuda_queue_close(struct cuda_queue *q);   /* waits for its work; q may be NULL */
void *cuda_queue_stream(struct cuda_queue *q); /* the cudaStream_t, for NCCL */

void cuda_queue_wait_for_ops(struct cuda_queue *q);
void cuda_ops_wait_for_queue(struct cuda_queue *q);
void cuda_queue_copy(struct cuda_queue *q, void *to, const void *from, size_t bytes);
void cuda_queue_zero(struct cuda_queue *q, void *p, size_t bytes);
/* sums (cols) = sum of the n rows of rows (n, cols), in their order; cols <= QUEUE_COLUMNS. */
#define QUEUE_COLUMNS 32
void cuda_queue_add_rows(struct cuda_queue *q, double *sums, const double *rows, int32_t n,
			 int32_t cols);

/* Record a mark after the ops called so far. Has the GPU passed the mark? */
void cuda_queue_mark_ops(struct cuda_queue *q);
bool cuda_queue_is_past_mark(struct cuda_queue *q);

/*
 * Measure GPU time. A span ends at the work of the queue at cuda_span_end(). It begins at the work
 * of the queue (CUDA_SPAN_QUEUE), or of the ops (CUDA_SPAN_OPS), at cuda_span_begin().
 */
enum cuda_span { CUDA_SPAN_QUEUE, CUDA_SPAN_OPS, CUDA_SPANS };

void cuda_span_begin(struct cuda_queue *q, enum cuda_span which);
void cuda_span_end(struct cuda_queue *q, enum cuda_span which);
/* Seconds of the spans completed since the last call; a negative span counts 0. */
double cuda_span_collect(struct cuda_queue *q, enum cuda_span which);

/*
 * A bucket of gradients in pieces, one for each rank:
 *
 *	x:	| piece 0 | piece 1 | … | piece ranks - 1 |	piece_len floats; the last may be
 *								shorter, or empty
 *
 * x is 16-byte aligned, piece_len a multiple of WIRE_BLOCK. Encoded pieces lie stride bytes apart, a
 * multiple of 4. Formats are those of train/comm/compress.h, sums those of reduce_host.c, bit for bit.
 */
struct wire_pieces {
	float *x;		  /* (n) */
	float *error_feedback;	  /* (n) residuals of earlier encodings; NULL: none */
	int64_t n, piece_len;	  /* floats of the bucket; of a piece */
	int64_t stride;		  /* bytes */
	int32_t ranks, own_piece; /* own_piece is not encoded or decoded; -1: all pieces are */
};

/* out = all pieces but own_piece, encoded; with error feedback. */
void cuda_wire_encode(struct cuda_queue *q, enum wire_format w, void *out,
		      const struct wire_pieces *p);
/* All pieces of x but own_piece = in, decoded. */
void cuda_wire_decode(struct cuda_queue *q, enum wire_format w, const struct wire_pieces *p,
		      const void *in);
/*
 * own_piece of x += the pieces `in` of all other ranks, decoded and added in the order of ranks. Then
 * sum = own_piece encoded, and own_piece becomes the decoded value of sum, so that all ranks hold
 * the same bits. sum NULL: own_piece stays exact.
 */
void cuda_wire_sum(struct cuda_queue *q, enum wire_format w, void *sum, const struct wire_pieces *p,
		   const void *in);

#ifdef __cplusplus
}
#endif

#endif
