/*
 * cuda.h - the GPU backend for C: the functions of its table. A reading order:
 *
 *	cuda.cuh		declarations and device functions shared by the kernels
 *	cuda_point.cu		elementwise ops: bias, ReLU, dropout, sums, Adam; the simplest kernels
 *	cuda_loss.cu		label-smoothed cross entropy: a block for each row
 *	cuda_activate.cu	activations, gates, sums of columns, rotary positions
 *	cuda_norm.cu		layer and RMS normalisation: a warp for each row
 *	cuda_embed.cu		embedding; its gradient, sorted by token
 *	cuda_product.cu		products of matrices by cuBLASLt (loaded by cuda_blas.cu)
 *	cuda_choices.cu		algorithms of products that were measured, as text
 *	cuda_few_rows.cu	products of few rows with bf16 weights, for decoding
 *	cuda_linear.cu		which kernel multiplies; packed weights; conversions
 *	cuda_attention.cu	attention on tensor cores (cuda_attention_tiles.cuh, …_grad.cu)
 *	cuda_attention_any.cu	attention for other widths and types
 *	cuda_ssru.cu		the simpler simple recurrent unit: a thread for each column of a sentence
 *	cuda_decode.cu		ops of incremental decoding: attention, row copies, top k
 *	cuda_dev.cu		opened backend: stream, memory, copies, errors
 *	cuda_graph.cu		CUDA graphs: capture and replay
 *	cuda_queue.cu		a second stream, concurrent with the ops, for NCCL (cuda_queue.h)
 *	cuda_compress.cu	compressed gradients
 *	cuda_table.c		the table of the backend
 *
 * The driver and the libraries of CUDA are loaded at run time. So a program built with CUDA also
 * runs on machines without GPU and driver.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_H
#define WERKBANK_KERNELS_CUDA_CUDA_H

#include "kernels/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why no GPU can be used here: a clause without a full stop; NULL: a GPU can be used. */
const char *cuda_unusable_reason(void);

bool cuda_usable(void);
/* Does the GPU have products of bf16 (compute capability 8 or later)? */
bool cuda_multiplies_bf16(int device);
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
int cuda_reserve(struct dev *d, const struct dev_limits *limits, struct err *e);
struct dev_memory cuda_memory_needs(const struct dev_limits *limits);
int64_t cuda_count_slow_products(const struct dev *d);
char *cuda_save_choices(const struct dev *d, size_t *n, struct err *e);
int cuda_load_choices(struct dev *d, const char *text, size_t n, struct err *e);
int64_t cuda_count_choices(const struct dev *d, int64_t *measured);
int cuda_graph_begin(struct dev *d, const struct graph_key *key);
void cuda_graph_pause(struct dev *d);
void cuda_graph_resume(struct dev *d);
void cuda_graph_end(struct dev *d);
void cuda_graph_replay(struct dev *d, int piece);

#ifdef CUDA_PARTIAL /* tests: weak symbols, so a missing op becomes NULL in the table */
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
