/*
 * cuda.h - the GPU backend as its C side sees it: the functions of the table.
 *
 *	cuda_dev.cu	opened backend: stream, memory, copies, errors
 *	cuda_point.cu	element by element: bias, ReLU, dropout, sums, Adam
 *	cuda_embed.cu	embedding; its gradient, sorted by token
 *	cuda_norm.cu	layer normalisation
 *	cuda_linear.cu	products, by cuBLASLt (cuda_blas.cu finds it at run time)
 *	cuda_attention.cu	attention within short sentences
 *	cuda_loss.cu	label-smoothed cross entropy
 *	cuda_decode.cu	one step of beam search
 *	cuda_graph.cu	ops that come again and again
 *	cuda_table.c	all of them as a table
 *	cuda_queue.cu	beside the ops: another stream, ordered against theirs (cuda_queue.h)
 *	cuda_compress.cu	forms of gradients on the wire
 *
 * What they share is in cuda.cuh. The libraries of CUDA are looked for when a
 * backend is asked for: a program that has all this inside runs where there is
 * no GPU and no driver.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_H
#define WERKBANK_KERNELS_CUDA_CUDA_H

#include "kernels/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why the GPU cannot be used here, in a sentence; NULL: it can. */
const char *cuda_unusable_reason(void);

bool cuda_usable(void);
int cuda_query_device(int device, struct dev_info *facts, struct err *e);
struct dev *cuda_open(const struct dev_options *options, struct err *e);
void cuda_close(struct dev *d);
void *cuda_alloc(struct dev *d, size_t bytes, struct err *e);
void cuda_release(struct dev *d, void *p);
void cuda_to_device(struct dev *d, void *to, const void *from, size_t bytes);
void cuda_to_host(struct dev *d, void *to, const void *from, size_t bytes);
void cuda_to_device_async(struct dev *d, void *to, const void *from, size_t bytes);
void cuda_swap_staging(struct dev *d);
int cuda_sync(struct dev *d, struct err *e);
int cuda_to_host_and_sync(struct dev *d, void *to, const void *from, size_t bytes, struct err *e);
int cuda_reserve(struct dev *d, const struct dev_limits *most, struct err *e);
struct dev_memory cuda_memory_needs(const struct dev_limits *most);
int cuda_graph_begin(struct dev *d, const struct graph_key *key);
void cuda_graph_pause(struct dev *d);
void cuda_graph_resume(struct dev *d);
void cuda_graph_end(struct dev *d);
void cuda_graph_replay(struct dev *d, int piece);

#ifdef CUDA_PARTIAL /* ops that are not written yet are NULL in the table */
#define OP(name, args, names) void cuda_##name args __attribute__((weak));
#else
#define OP(name, args, names) void cuda_##name args;
#endif
#include "kernels/ops/ops.def"
#undef OP

#ifdef __cplusplus
}
#endif

#endif
