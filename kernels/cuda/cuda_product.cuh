/*
 * cuda_product.cuh - one product of matrices, and cuBLASLt for it. For kernels/cuda only.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_PRODUCT_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_PRODUCT_CUH

#include "kernels/cuda/cuda.cuh"

/* out = or += a b, then + bias, then max(0, out) if relu. */
struct product {
	struct tensor out, a, b;
	struct matmul_how how;
	const float *bias; /* or NULL */
	bool relu;
	int64_t inner; /* K */
};

/*
 * Enqueue a product of non-empty matrices. The types of a and b are equal. False: the library has no
 * algorithm for it, or a fault is stored in d->fault; then nothing is enqueued.
 */
bool cuda_product_by_library(struct dev *d, const struct product *p);

/*
 * cuda_few_rows.cu: the same for at most d->few_rows rows and bf16 weights, b transposed. a may be float
 * if d->bf16: it is rounded. False: not for this product, nothing is enqueued.
 */
bool cuda_product_of_few_rows(struct dev *d, const struct product *p);

#endif
