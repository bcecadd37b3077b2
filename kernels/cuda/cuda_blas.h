/*
 * cuda_blas.h - cuBLASLt, found when the program runs. Inside kernels/ only.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_BLAS_H
#define WERKBANK_KERNELS_CUDA_CUDA_BLAS_H

#include <cublasLt.h>

/* Every function that is used: X(name without cublasLt). */
#define CUDA_BLAS_FUNCTIONS(X)                                                                     \
	X(Create)                                                                                  \
	X(Destroy)                                                                                 \
	X(Matmul) X(MatmulDescCreate) X(MatmulDescDestroy) X(MatmulDescSetAttribute)               \
		X(MatrixLayoutCreate) X(MatrixLayoutDestroy) X(MatmulPreferenceCreate)             \
			X(MatmulPreferenceDestroy) X(MatmulPreferenceSetAttribute)                 \
				X(MatmulAlgoGetHeuristic)

struct cuda_blas {
#define X(name) decltype(&cublasLt##name) name;
	CUDA_BLAS_FUNCTIONS(X)
#undef X
};

/* The library; NULL: *why is a sentence. Loaded once and kept. */
const struct cuda_blas *cuda_blas_load(const char **why);

#endif
