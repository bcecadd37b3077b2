/*
 * cublasLt.h - the part of cuBLASLt that kernels/cuda/cuda_product.cu uses, for the simulator (sim.h).
 * Names are NVIDIA's, values of constants are not. blas.cc implements the functions.
 */
#ifndef CUDASIM_CUBLASLT_H
#define CUDASIM_CUBLASLT_H

#include <cuda_runtime.h>

#define CUBLAS_VER_MAJOR 13

enum cublasStatus_t {
	CUBLAS_STATUS_SUCCESS = 0,
	CUBLAS_STATUS_INVALID_VALUE = 7,
	CUBLAS_STATUS_EXECUTION_FAILED = 13,
	CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32I };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cudaDataType_t { CUDA_R_32F, CUDA_R_16BF, CUDA_R_8I, CUDA_R_32I };

enum cublasLtMatmulDescAttributes_t {
	CUBLASLT_MATMUL_DESC_TRANSA,
	CUBLASLT_MATMUL_DESC_TRANSB,
	CUBLASLT_MATMUL_DESC_EPILOGUE,
	CUBLASLT_MATMUL_DESC_BIAS_POINTER,
	CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE
};

enum cublasLtEpilogue_t {
	CUBLASLT_EPILOGUE_DEFAULT = 1,
	CUBLASLT_EPILOGUE_RELU = 2,
	CUBLASLT_EPILOGUE_BIAS = 4,
	CUBLASLT_EPILOGUE_RELU_BIAS = 6
};

enum cublasLtReductionScheme_t {
	CUBLASLT_REDUCTION_SCHEME_NONE = 0,
	CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
	CUBLASLT_REDUCTION_SCHEME_MASK = 7
};

enum cublasLtMatmulPreferenceAttributes_t {
	CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
	CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
	CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
	CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
	CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
	CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
};

typedef struct sim_blas *cublasLtHandle_t;
typedef struct sim_blas_desc *cublasLtMatmulDesc_t;
typedef struct sim_blas_layout *cublasLtMatrixLayout_t;
typedef struct sim_blas_preference *cublasLtMatmulPreference_t;

struct cublasLtMatmulAlgo_t {
	uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
	cublasLtMatmulAlgo_t algo;
	size_t workspaceSize;
	cublasStatus_t state;
	float wavesCount;
};

size_t cublasLtGetVersion(void);
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t h, cublasLtMatmulDesc_t m,
				       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
				       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
				       const cublasLtMatmulAlgo_t *algo,
				       cublasLtMatmulHeuristicResult_t *result);
cublasStatus_t cublasLtCreate(cublasLtHandle_t *h);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *m, cublasComputeType_t compute,
					cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t m);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t m,
					      cublasLtMatmulDescAttributes_t which,
					      const void *value, size_t size);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType_t type,
					  uint64_t rows, uint64_t cols, int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
						    cublasLtMatmulPreferenceAttributes_t which,
						    const void *value, size_t size);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t m,
					      cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
					      cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
					      cublasLtMatmulPreference_t p, int wanted,
					      cublasLtMatmulHeuristicResult_t *results, int *found);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t m, const void *alpha,
			      const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
			      cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
			      cublasLtMatrixLayout_t c_layout, void *d,
			      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
			      void *workspace, size_t workspace_bytes, cudaStream_t stream);

#endif
