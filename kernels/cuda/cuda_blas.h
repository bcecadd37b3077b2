/*
 * cuda_blas.h - the functions of cuBLASLt, loaded at run time. For kernels/ only.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_BLAS_H
#define WERKBANK_KERNELS_CUDA_CUDA_BLAS_H

#include <cublasLt.h>

/* The functions in use: X(name without the prefix cublasLt). */
/* clang-format off */
#define CUDA_BLAS_FUNCTIONS(X) \
	X(GetVersion) \
	X(Create) \
	X(Destroy) \
	X(Matmul) \
	X(MatmulDescCreate) \
	X(MatmulDescDestroy) \
	X(MatmulDescSetAttribute) \
	X(MatrixLayoutCreate) \
	X(MatrixLayoutDestroy) \
	X(MatmulPreferenceCreate) \
	X(MatmulPreferenceDestroy) \
	X(MatmulPreferenceSetAttribute) \
	X(MatmulAlgoGetHeuristic) \
	X(MatmulAlgoCheck)
/* clang-format on */

struct cuda_blas {
#define X(name) decltype(&cublasLt##name) name;
	CUDA_BLAS_FUNCTIONS(X)
#undef X
};

/* Load the library, once. NULL: *why is a static clause that says why not. */
const struct cuda_blas *cuda_blas_load(const char **why);

#endif
