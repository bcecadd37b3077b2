/*
 * reduce_gpu.c - reductions of arrays on GPUs, exchanged by NCCL; see reduce.h
 *
 * How a bucket is summed depends on the wire format:
 *
 *	2bit, 1bit, int8 the ranks exchange pieces and the GPU adds them up, as reduce_host.c does:
 *			the same bits as there
 *	bf16		the same, except with several ranks on each of several hosts. There the
 *			exchange between all ranks would send each host's data over its network link
 *			once for every rank of the host. So NCCL's own sum is used, which rounds to
 *			bf16 after each addition: its error is up to (ranks - 1) 2^-9 of the sum of
 *			|x|, instead of 2 2^-9
 *	fp32		NCCL's own sum. NCCL chooses the order of additions, so the last bits differ
 *			from reduce_host.c and change with the number of ranks
 *
 * All ranks always get the same bits. One queue runs everything in order, so one set of buffers
 * is enough for all buckets.
 */
#include <assert.h>
#include <stdlib.h>

#include "kernels/cuda/cuda_queue.h"
#include "share/base/mem.h"
#include "train/comm/comm_nccl.h"
#include "train/comm/reduce_internal.h"

#define ALIGN ((size_t)256) /* bytes, of pieces in the buffers */

struct gpu_reduce {
	struct reduce base;
	struct cuda_queue *queue; /* owned */
	bool summed_by_nccl;
	size_t stride; /* bytes of the largest piece, encoded in base.wire, rounded up to ALIGN */
	/*
	 * Buffers on the GPU. memory is owned; the other pointers lie in it: out and in
	 * (ranks * stride), sum (stride), and stage (ranks * largest piece), which overlaps them.
	 */
	unsigned char *memory, *out, *in, *sum;
	float *stage;
	double *rows;	 /* (ranks * REDUCE_NUMBERS) on the GPU; owned */
	void **pointers; /* (2 ranks) owned: to and from of an exchange */
	size_t *bytes;	 /* (2 ranks) owned */

	float *x;
	size_t begun;	    /* buckets enqueued */
	bool ended;	    /* all buckets are enqueued, and the ops' queue waits for them */
	struct err trouble; /* the failure that ended the reduction; code 0: none */
};

/* ---- exchange of pieces ---------------------------------------------------- */

/* One message to and from each other rank: contributions to their pieces, or the sums of pieces. */
static int gpu_exchange_pieces(struct gpu_reduce *r, size_t bucket, bool sums, struct err *e)
{
	const struct reduce *base = &r->base;
	const struct buckets *b = &base->how.buckets;
	const int ranks = base->comm->size;
	const size_t own = compress_bytes(base->wire, buckets_piece(b, bucket, base->comm->rank).n);
	const struct comm_exchange x = {
		.to = (const void *const *)r->pointers,
		.to_bytes = r->bytes,
		.from = r->pointers + ranks,
		.from_bytes = r->bytes + ranks,
	};

	for (int j = 0; j < ranks; j++) {
		const size_t theirs = compress_bytes(base->wire, buckets_piece(b, bucket, j).n);

		r->pointers[j] = sums ? r->sum : r->out + (size_t)j * r->stride;
		r->pointers[ranks + j] = r->in + (size_t)j * r->stride;
		r->bytes[j] = sums ? own : theirs;
		r->bytes[ranks + j] = sums ? theirs : own;
		r->base.sent += j == base->comm->rank ? 0 : (double)r->bytes[j];
	}
	return gpus_exchange(base->comm->gpus, &x, cuda_queue_stream(r->queue), e);
}

static int sum_by_exchange(struct gpu_reduce *r, size_t bucket, struct err *e)
{
	const struct reduce_options *how = &r->base.how;
	const struct range whole = buckets_at(&how->buckets, bucket);
	const struct wire_pieces p = {
		.x = r->x + whole.at,
		.error_feedback = r->base.error_feedback ? r->base.error_feedback + whole.at : NULL,
		.n = (int64_t)whole.n,
		.piece_len = (int64_t)buckets_piece_floats(&how->buckets, bucket),
		.stride = (int64_t)r->stride,
		.ranks = r->base.comm->size,
		.own_piece = r->base.comm->rank,
	};

	cuda_wire_encode(r->queue, r->base.wire, r->out, &p);
	if (gpu_exchange_pieces(r, bucket, false, e))
		return e->code;
	cuda_wire_sum(r->queue, r->base.wire, how->shards ? NULL : r->sum, &p, r->in);
	if (how->shards)
		return 0;
	if (gpu_exchange_pieces(r, bucket, true, e))
		return e->code;
	cuda_wire_decode(r->queue, r->base.wire, &p, r->in);
	return 0;
}

/* ---- sums by NCCL ------------------------------------------------------------ */

/* A range of x as a single piece, for the encoding and decoding kernels. */
static struct wire_pieces one_piece(float *x, size_t n)
{
	return (struct wire_pieces){
		.x = x,
		.n = (int64_t)n,
		.ranks = 1,
		.own_piece = -1,
		.piece_len = (int64_t)(CEIL_DIV(n, (size_t)WIRE_BLOCK) * WIRE_BLOCK),
	};
}

static int all_reduce_bucket(struct gpu_reduce *r, struct range whole, struct err *e)
{
	const struct wire_pieces p = one_piece(r->x + whole.at, whole.n);
	const enum wire_format w = r->base.wire;
	void *stream = cuda_queue_stream(r->queue);

	if (w == WIRE_FP32)
		return gpus_all_reduce(r->base.comm->gpus, p.x, whole.n, w, stream, e);
	cuda_wire_encode(r->queue, w, r->stage, &p);
	if (gpus_all_reduce(r->base.comm->gpus, r->stage, whole.n, w, stream, e))
		return e->code;
	cuda_wire_decode(r->queue, w, &p, r->stage);
	return 0;
}

/* NCCL needs parts of one size; if the last pieces are shorter, they are padded in stage. */
static int reduce_scatter_bucket(struct gpu_reduce *r, size_t bucket, struct err *e)
{
	const struct reduce_options *how = &r->base.how;
	const struct range whole = buckets_at(&how->buckets, bucket);
	const struct range own = buckets_piece(&how->buckets, bucket, r->base.comm->rank);
	const size_t ranks = how->buckets.ranks, each = buckets_piece_floats(&how->buckets, bucket);
	const size_t size = compress_bytes(r->base.wire, 1);
	const struct wire_pieces from = one_piece(r->x + whole.at, whole.n),
				 to = one_piece(r->x + own.at, own.n);

	if (r->base.wire == WIRE_FP32 && whole.n == ranks * each)
		return gpus_reduce_scatter(r->base.comm->gpus, r->x + whole.at, each, r->base.wire,
					   cuda_queue_stream(r->queue), e);
	cuda_wire_encode(r->queue, r->base.wire, r->stage, &from);
	cuda_queue_zero(r->queue, (char *)r->stage + whole.n * size,
			(ranks * each - whole.n) * size);
	if (gpus_reduce_scatter(r->base.comm->gpus, r->stage, each, r->base.wire,
				cuda_queue_stream(r->queue), e))
		return e->code;
	cuda_wire_decode(r->queue, r->base.wire, &to,
			 (char *)r->stage + (size_t)r->base.comm->rank * each * size);
	return 0;
}

/* Bytes that a rank sends for a bucket in a ring algorithm. */
static double ring_bytes(const struct reduce *base, size_t bucket, enum wire_format w, int rounds)
{
	const double n = base->comm->size;
	const size_t bytes = compress_bytes(w, buckets_at(&base->how.buckets, bucket).n);

	return rounds * (n - 1) / n * (double)bytes;
}

static int sum_by_nccl(struct gpu_reduce *r, size_t bucket, struct err *e)
{
	const struct reduce_options *how = &r->base.how;

	r->base.sent += ring_bytes(&r->base, bucket, r->base.wire, how->shards ? 1 : 2);
	return how->shards ? reduce_scatter_bucket(r, bucket, e)
			   : all_reduce_bucket(r, buckets_at(&how->buckets, bucket), e);
}

/* ---- functions of reduce.h ---------------------------------------------------- */

static void gpu_measure(struct reduce *base)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;

	base->busy += cuda_span_collect(r->queue, CUDA_SPAN_QUEUE);
	base->exposed += cuda_span_collect(r->queue, CUDA_SPAN_OPS);
}

static void gpu_begin(struct reduce *base, float *x)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;

	r->x = x;
	r->begun = 0;
	r->ended = false;
	r->trouble.code = 0;
}

static int sum_bucket(struct gpu_reduce *r, size_t bucket, struct err *e)
{
	cuda_span_begin(r->queue, CUDA_SPAN_QUEUE);
	if (r->summed_by_nccl ? sum_by_nccl(r, bucket, e) : sum_by_exchange(r, bucket, e))
		return e->code;
	cuda_span_end(r->queue, CUDA_SPAN_QUEUE);
	return 0;
}

static void gpu_ready(struct reduce *base, size_t from)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;
	const struct buckets *b = &base->how.buckets;
	bool has_waited = false;

	if (r->ended || r->trouble.code)
		return;
	if (from == 0) {
		cuda_span_begin(r->queue, CUDA_SPAN_OPS);
		cuda_queue_mark_ops(r->queue);
	}
	for (; r->begun < b->count && buckets_at(b, r->begun).at >= from; r->begun++) {
		if (!has_waited)
			cuda_queue_wait_for_ops(r->queue);
		has_waited = true;
		if (sum_bucket(r, r->begun, &r->trouble))
			return;
	}
	if (r->begun < b->count)
		return;
	cuda_ops_wait_for_queue(r->queue);
	cuda_span_end(r->queue, CUDA_SPAN_OPS);
	r->ended = true;
}

static int gpu_poll(struct reduce *base, bool *done, struct err *e)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;

	if (r->trouble.code) {
		*e = r->trouble;
		return e->code;
	}
	if (base->comm->check(base->comm, e))
		return e->code;
	*done = r->ended;
	return 0;
}

static bool gpu_backward_is_done(struct reduce *base)
{
	return cuda_queue_is_past_mark(((struct gpu_reduce *)base)->queue);
}

/* All-gather, then every rank adds up the same rows in the same order. */
static int gpu_numbers(struct reduce *base, double *x, size_t n, struct err *e)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;

	assert(n <= REDUCE_NUMBERS);
	cuda_queue_wait_for_ops(r->queue);
	if (gpus_all_gather_bytes(base->comm->gpus, r->rows, x, n * sizeof(*x),
				  cuda_queue_stream(r->queue), e))
		return e->code;
	cuda_queue_add_rows(r->queue, x, r->rows, base->comm->size, (int32_t)n);
	cuda_ops_wait_for_queue(r->queue);
	return 0;
}

/* All-gather of a bucket's pieces; if pieces differ in size, by padded parts in stage. */
static int all_gather_bucket(struct gpu_reduce *r, float *x, size_t bucket, struct err *e)
{
	const struct buckets *b = &r->base.how.buckets;
	const struct range whole = buckets_at(b, bucket);
	const struct range own = buckets_piece(b, bucket, r->base.comm->rank);
	const size_t each = buckets_piece_floats(b, bucket);
	const bool even = whole.n == b->ranks * each;
	float *parts = even ? x + whole.at : r->stage;

	assert(own.at >= whole.at && own.at + own.n <= whole.at + whole.n);
	if (!even)
		cuda_queue_copy(r->queue, parts + (own.at - whole.at), x + own.at,
				own.n * sizeof(*x));
	if (gpus_all_gather(r->base.comm->gpus, parts, each, cuda_queue_stream(r->queue), e))
		return e->code;
	if (!even)
		cuda_queue_copy(r->queue, x + whole.at, parts, whole.n * sizeof(*x));
	return 0;
}

static int gpu_all_gather(struct reduce *base, float *x, struct err *e)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;

	cuda_span_begin(r->queue, CUDA_SPAN_OPS);
	cuda_queue_wait_for_ops(r->queue);
	cuda_span_begin(r->queue, CUDA_SPAN_QUEUE);
	for (size_t i = 0; i < base->how.buckets.count; i++) {
		if (all_gather_bucket(r, x, i, e))
			return e->code;
		base->sent += ring_bytes(base, i, WIRE_FP32, 1);
	}
	cuda_span_end(r->queue, CUDA_SPAN_QUEUE);
	cuda_ops_wait_for_queue(r->queue);
	cuda_span_end(r->queue, CUDA_SPAN_OPS);
	return 0;
}

/* ---- open and free ----------------------------------------------------------------- */

static size_t gpu_reduce_round_up(size_t bytes)
{
	return CEIL_DIV(bytes, ALIGN) * ALIGN;
}

/* Floats of the largest piece; bucket 0 may be shorter than the others. */
static size_t gpu_largest_piece(const struct buckets *b)
{
	return buckets_piece_floats(b, b->count - 1);
}

static bool is_summed_by_nccl(const struct comm *comm, enum wire_format w)
{
	return w == WIRE_FP32 || (w == WIRE_BF16 && gpus_share_host_links(comm->gpus));
}

/* Bytes of a piece in the buffers of an exchange. */
static size_t gpu_stride(const struct reduce *base, enum wire_format w)
{
	return is_summed_by_nccl(base->comm, w)
		       ? 0
		       : gpu_reduce_round_up(
				 compress_bytes(w, gpu_largest_piece(&base->how.buckets)));
}

/* What NCCL sums needs stage only, which is large enough for each format. */
static void gpu_set_wire(struct reduce *base, enum wire_format w)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;
	const size_t ranks = base->how.buckets.ranks;

	base->wire = w;
	r->summed_by_nccl = is_summed_by_nccl(base->comm, w);
	r->stride = gpu_stride(base, w);
	r->out = r->memory;
	r->in = r->out + ranks * r->stride;
	r->sum = r->in + ranks * r->stride;
	r->stage = (float *)(void *)r->memory;
}

static int gpu_reduce_alloc(struct gpu_reduce *r, struct err *e)
{
	const struct reduce_options *how = &r->base.how;
	const size_t ranks = how->buckets.ranks, largest = gpu_largest_piece(&how->buckets);
	const size_t exchanged = (2 * ranks + 1) * gpu_stride(&r->base, how->wire);
	const size_t staged = ranks * largest * sizeof(float);

	r->memory = how->ops->alloc(how->dev, MAX(MAX(exchanged, staged), (size_t)1), e);
	r->rows = how->ops->alloc(how->dev, ranks * REDUCE_NUMBERS * sizeof(*r->rows), e);
	r->pointers = mem_alloc(2 * ranks, sizeof(*r->pointers), e);
	r->bytes = mem_alloc(2 * ranks, sizeof(*r->bytes), e);
	if (!r->memory || !r->rows || !r->pointers || !r->bytes)
		return e->code;
	gpu_set_wire(&r->base, how->wire);
	if (!compress_feeds_back(how->wire))
		return 0;
	r->base.error_feedback = how->ops->alloc(how->dev, how->buckets.floats * sizeof(float), e);
	return r->base.error_feedback ? 0 : e->code;
}

static void gpu_free(struct reduce *base)
{
	struct gpu_reduce *r = (struct gpu_reduce *)base;

	cuda_queue_close(r->queue);
	base->how.ops->release(base->how.dev, r->memory);
	base->how.ops->release(base->how.dev, r->rows);
	base->how.ops->release(base->how.dev, base->error_feedback);
	free(r->pointers);
	free(r->bytes);
	free(r);
}

static struct reduce *gpu_open(struct comm *comm, const struct reduce_options *how, struct err *e)
{
	struct gpu_reduce *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	r->base = (struct reduce){ .kind = &reduce_on_gpu, .comm = comm, .how = *how };
	r->queue = how->ops->open_queue(how->dev, e);
	if (!r->queue || gpu_reduce_alloc(r, e)) {
		gpu_free(&r->base);
		return NULL;
	}
	/* alloc() clears memory on the ops' queue */
	cuda_queue_wait_for_ops(r->queue);
	return &r->base;
}

const struct reduce_kind reduce_on_gpu = {
	.open = gpu_open,
	.free = gpu_free,
	.set_wire = gpu_set_wire,
	.begin = gpu_begin,
	.ready = gpu_ready,
	.poll = gpu_poll,
	.all_gather = gpu_all_gather,
	.numbers = gpu_numbers,
	.backward_is_done = gpu_backward_is_done,
	.measure = gpu_measure,
};
