/* cuda_queue.cuh - struct cuda_queue and launches into it. For kernels/ only. */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_QUEUE_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_QUEUE_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/cuda_queue.h"

#define QUEUE_SPANS 128 /* greatest number of uncollected spans of a kind; more are not measured */

struct queue_spans {
	cudaEvent_t begin[QUEUE_SPANS], end[QUEUE_SPANS]; /* owned */
	uint64_t begun, ended,
		taken; /* counters, taken <= ended <= begun; index: modulo QUEUE_SPANS */
};

struct cuda_queue {
	struct dev *d;	       /* borrowed */
	cudaStream_t stream;   /* owned */
	cudaEvent_t ops, done; /* owned; the latest order point of the ops; of the queue */
	cudaEvent_t mark;      /* owned; cuda_queue_mark_ops() */
	struct queue_spans spans[CUDA_SPANS];
};

#define QUEUE_LAUNCH(q, kernel, grid, block, ...)                                                  \
	do {                                                                                       \
		CUDA_LAUNCH(kernel, grid, block, 0, (q)->stream, false, __VA_ARGS__);              \
		cuda_check((q)->d, cudaGetLastError(), #kernel);                                   \
	} while (0)

#endif
