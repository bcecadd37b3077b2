/*
 * cuda_aside.cu - products in a second stream: gradients of weights, which no op of the backward pass
 * reads (gpu_ways.weights_aside).
 *
 *	ops	| dhidden |e0 attention_grad |e1 wait d0 | dx | norms | … | wait d1
 *	aside	   wait e0 | dW of ffn |d0   wait e1 | dW of qkv |d1
 *
 * They fill multiprocessors that the last blocks of a product, or kernels limited by memory, leave
 * idle. Each product waits for the ops called before it. The ops called after a product wait for
 * the product before that one, so two products may be under way, and two sets of inputs must stay
 * unchanged (matmul_how.aside). The second stream keeps the order of its products, so sums get the
 * same bits as in one stream. In the capture of a graph the events become edges of the graph;
 * wait_aside() joins the streams before the capture ends.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>

void cuda_aside_open(struct dev *d)
{
	cuda_check(d, cudaStreamCreateWithFlags(&d->aside.stream, cudaStreamNonBlocking),
		   "creating a stream");
	cuda_check(d, cudaEventCreateWithFlags(&d->aside.called, cudaEventDisableTiming),
		   "creating an event");
	for (int i = 0; i < 2; i++)
		cuda_check(d, cudaEventCreateWithFlags(&d->aside.done[i], cudaEventDisableTiming),
			   "creating an event");
}

void cuda_aside_close(struct dev *d)
{
	if (d->aside.called)
		(void)cudaEventDestroy(d->aside.called);
	for (int i = 0; i < 2; i++)
		if (d->aside.done[i])
			(void)cudaEventDestroy(d->aside.done[i]);
	if (d->aside.stream)
		(void)cudaStreamDestroy(d->aside.stream);
}

static void swap_streams(struct dev *d)
{
	const cudaStream_t other = d->aside.stream;

	d->aside.stream = d->stream;
	d->stream = other;
	d->aside.is_current = !d->aside.is_current;
}

void cuda_aside_begin(struct dev *d)
{
	assert(d->aside.stream && !d->aside.is_current);
	cuda_check(d, cudaEventRecord(d->aside.called, d->stream), "recording an event");
	cuda_check(d, cudaStreamWaitEvent(d->aside.stream, d->aside.called, 0),
		   "waiting for an event");
	swap_streams(d);
}

void cuda_aside_end(struct dev *d)
{
	assert(d->aside.is_current);
	cuda_check(d, cudaEventRecord(d->aside.done[d->aside.n % 2], d->stream),
		   "recording an event");
	swap_streams(d);
	if (d->aside.n > 0) /* ops may now overwrite the inputs of the product before */
		cuda_check(d,
			   cudaStreamWaitEvent(d->stream, d->aside.done[(d->aside.n - 1) % 2], 0),
			   "waiting for an event");
	d->aside.n++;
}

extern "C" void cuda_wait_aside(struct dev *d)
{
	if (d->aside.n > 0)
		cuda_check(d,
			   cudaStreamWaitEvent(d->stream, d->aside.done[(d->aside.n - 1) % 2], 0),
			   "waiting for an event");
	d->aside.n = 0;
}
