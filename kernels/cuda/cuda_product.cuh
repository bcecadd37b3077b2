/*
 * cuda_product.cuh - one product of matrices, and cuBLASLt for it. For kernels/cuda only.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_PRODUCT_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_PRODUCT_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/cuda_blas.h"

/* out = or += a b, then + bias, then max(0, out) if relu. */
struct product {
	struct tensor out, a, b;
	struct matmul_how how;
	const float *bias;	  /* or NULL */
	const void *rounded_bias; /* (N) bf16, for the library if out is bf16; or NULL */
	bool relu;
	int64_t inner; /* K */
};

/* Everything the choice of an algorithm depends on; compared byte by byte, so zeroed first. */
struct product_kind {
	int64_t m, n, k; /* the number of tokens is rounded up */
	int64_t a_stride, b_stride, out_stride;
	uint32_t a_alignment, b_alignment, out_alignment; /* bytes, at most 16 */
	uint8_t a_type, b_type, out_type, a_transposed, b_transposed, accumulate, bias, relu,
		may_split;
	uint8_t unused[3];
};

struct product_choice {
	struct product_kind kind;
	cublasLtMatmulAlgo_t algorithm;
	bool is_loaded;	  /* from text, and not used yet: the library has not checked it */
	bool is_measured; /* by this process */
};

#define MAX_CHOICES 512

struct cuda_products {
	const struct cuda_blas *blas; /* borrowed */
	cublasLtHandle_t handle;      /* owned */
	int64_t refused;	      /* products that the library refused */
	int n;
	struct product_choice choice[MAX_CHOICES + 1]; /* the last one is not kept: a full table */
};

/* cuda_product.cu: the products of an opened backend; NULL: a fault is stored. Borrowed. */
struct cuda_products *cuda_products_of(struct dev *d);

/*
 * Enqueue a product of non-empty matrices. The types of a and b are equal, a bias is 16-byte aligned. False: the library has no
 * algorithm for it, or a fault is stored in d->fault; then nothing is enqueued.
 */
bool cuda_product_by_library(struct dev *d, const struct product *p);

/*
 * cuda_few_rows.cu: the same for at most d->few_rows rows and bf16 weights, b transposed. a may be float
 * if d->bf16: it is rounded. False: not for this product, nothing is enqueued.
 */
bool cuda_product_of_few_rows(struct dev *d, const struct product *p);

#endif
