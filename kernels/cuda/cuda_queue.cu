/*
 * cuda_queue.cu - the second stream of the GPU and its order against the ops; see cuda_queue.h.
 *
 * During the backward pass the gradients of a bucket are exchanged while the ops of the next layers
 * run. Both streams are ordered by events, never by waiting on the host:
 *
 *	ops	| layer 3 |e1 layer 2 |e2 layer 1 |      wait e3 | adam |
 *	queue	   wait e1 | bucket of 3 | wait e2 | bucket of 2 |e3
 *
 *	cuda_queue_wait_for_ops():	record e in ops, the queue waits for e
 *	cuda_ops_wait_for_queue():	record e in the queue, the ops wait for e
 *
 * cudaStreamWaitEvent() refers to the latest record of an event at the time of the call, so one
 * event for each direction is enough.
 *
 * Spans measure GPU time with pairs of timing events in a ring; collect() reads the pairs whose end
 * has passed. The only kernel here, queue_add_rows, adds a few statistics of all ranks: one thread
 * for each column, rows in order.
 */
#include "kernels/cuda/cuda_queue.cuh"

#include <assert.h>
#include <stdlib.h>

static void queue_make_event(struct dev *d, cudaEvent_t *e, unsigned flags)
{
	cuda_check(d, cudaEventCreateWithFlags(e, flags), "creating an event");
}

struct cuda_queue *cuda_queue_open(struct dev *d, struct err *e)
{
	struct cuda_queue *q = (struct cuda_queue *)mem_alloc(1, sizeof(*q), e);
	int least = 0, greatest = 0;

	if (!q)
		return NULL;
	q->d = d;
	/* Highest priority: other ranks wait for the exchange, so it goes before waiting ops. */
	cuda_check(d, cudaDeviceGetStreamPriorityRange(&least, &greatest),
		   "reading the stream priorities");
	cuda_check(d, cudaStreamCreateWithPriority(&q->stream, cudaStreamNonBlocking, greatest),
		   "creating a stream");
	queue_make_event(d, &q->ops, cudaEventDisableTiming);
	queue_make_event(d, &q->done, cudaEventDisableTiming);
	queue_make_event(d, &q->mark, cudaEventDisableTiming);
	for (int i = 0; i < CUDA_SPANS * QUEUE_SPANS; i++) {
		queue_make_event(d, &q->spans[i / QUEUE_SPANS].begin[i % QUEUE_SPANS],
				 cudaEventDefault);
		queue_make_event(d, &q->spans[i / QUEUE_SPANS].end[i % QUEUE_SPANS],
				 cudaEventDefault);
	}
	if (cuda_sync(d, e)) {
		cuda_queue_close(q);
		return NULL;
	}
	return q;
}

void cuda_queue_close(struct cuda_queue *q)
{
	if (!q)
		return;
	if (q->stream)
		(void)cudaStreamSynchronize(q->stream);
	for (int k = 0; k < CUDA_SPANS; k++)
		for (int i = 0; i < QUEUE_SPANS; i++) {
			if (q->spans[k].begin[i])
				(void)cudaEventDestroy(q->spans[k].begin[i]);
			if (q->spans[k].end[i])
				(void)cudaEventDestroy(q->spans[k].end[i]);
		}
	if (q->ops)
		(void)cudaEventDestroy(q->ops);
	if (q->done)
		(void)cudaEventDestroy(q->done);
	if (q->mark)
		(void)cudaEventDestroy(q->mark);
	if (q->stream)
		(void)cudaStreamDestroy(q->stream);
	free(q);
}

void *cuda_queue_stream(struct cuda_queue *q)
{
	return q->stream;
}

/* Work enqueued later in `then` waits for the work enqueued so far in `first`. */
static void order_streams(struct cuda_queue *q, cudaStream_t first, cudaEvent_t at,
			  cudaStream_t then)
{
	cuda_check(q->d, cudaEventRecord(at, first), "recording an event");
	cuda_check(q->d, cudaStreamWaitEvent(then, at, 0), "waiting for an event");
}

void cuda_queue_wait_for_ops(struct cuda_queue *q)
{
	order_streams(q, q->d->stream, q->ops, q->stream);
}

void cuda_ops_wait_for_queue(struct cuda_queue *q)
{
	order_streams(q, q->stream, q->done, q->d->stream);
}

void cuda_queue_copy(struct cuda_queue *q, void *to, const void *from, size_t bytes)
{
	if (bytes)
		cuda_check(q->d,
			   cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, q->stream),
			   "copying on the GPU");
}

void cuda_queue_zero(struct cuda_queue *q, void *p, size_t bytes)
{
	if (bytes)
		cuda_check(q->d, cudaMemsetAsync(p, 0, bytes, q->stream), "clearing memory");
}

void cuda_queue_mark_ops(struct cuda_queue *q)
{
	cuda_check(q->d, cudaEventRecord(q->mark, q->d->stream), "recording an event");
}

/* After a fault the mark counts as passed; sync() reports the fault. */
bool cuda_queue_is_past_mark(struct cuda_queue *q)
{
	const bool passed = cudaEventQuery(q->mark) != cudaErrorNotReady;

	(void)cudaGetLastError(); /* clear "not ready", which is no fault */
	return passed;
}

/* One block, one thread for each column. */
static __global__ void queue_add_rows(double *sums, const double *rows, int n, int cols)
{
	kernel_begin();
	const int col = (int)threadIdx.x;
	double sum = 0;

	if (col >= cols)
		return;
	for (int i = 0; i < n; i++)
		sum += rows[i * cols + col];
	sums[col] = sum;
}

void cuda_queue_add_rows(struct cuda_queue *q, double *sums, const double *rows, int32_t n,
			 int32_t cols)
{
	assert(cols <= QUEUE_COLUMNS);
	QUEUE_LAUNCH(q, queue_add_rows, 1, QUEUE_COLUMNS, sums, rows, n, cols);
}

/* ---- spans ------------------------------------------------------------------------------- */

static void record_event(struct cuda_queue *q, cudaEvent_t e, cudaStream_t s)
{
	cuda_check(q->d, cudaEventRecord(e, s), "recording an event");
}

void cuda_span_begin(struct cuda_queue *q, enum cuda_span which)
{
	struct queue_spans *s = &q->spans[which];

	if (s->begun - s->taken >= QUEUE_SPANS)
		return;
	record_event(q, s->begin[s->begun % QUEUE_SPANS],
		     which == CUDA_SPAN_OPS ? q->d->stream : q->stream);
	s->begun++;
}

void cuda_span_end(struct cuda_queue *q, enum cuda_span which)
{
	struct queue_spans *s = &q->spans[which];

	if (s->ended == s->begun)
		return;
	record_event(q, s->end[s->ended % QUEUE_SPANS], q->stream);
	s->ended++;
}

double cuda_span_collect(struct cuda_queue *q, enum cuda_span which)
{
	struct queue_spans *s = &q->spans[which];
	double seconds = 0;
	float ms;

	assert(s->taken <= s->ended && s->ended <= s->begun);
	for (; s->taken < s->ended; s->taken++) {
		const uint64_t i = s->taken % QUEUE_SPANS;

		if (cudaEventQuery(s->end[i]) != cudaSuccess ||
		    cudaEventElapsedTime(&ms, s->begin[i], s->end[i]) != cudaSuccess)
			break;
		seconds += ms > 0 ? (double)ms / 1e3 : 0;
	}
	(void)cudaGetLastError(); /* clear "not ready", which is no fault */
	return seconds;
}
