/* blas.cc - the functions of cuBLASLt that the GPU backend uses, as plain loops; see sim.h */
#include <cublasLt.h>
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_blas.h"
#include "tests/cudasim/sim.h"

#include <map>
#include <stdlib.h>
#include <vector>

static bool products_refused;
static int fastest; /* candidate */
static size_t version = 130100;
static std::map<const void *, cudaStream_t> workspaces; /* the stream of each workspace */

void sim_refuse_products(bool refuse)
{
	products_refused = refuse;
}

void sim_prefer_algorithm(int candidate)
{
	fastest = candidate;
}

static int fastest_candidate(void)
{
	const char *text = getenv("CUDASIM_FASTEST");

	return text ? (int)strtol(text, NULL, 10) : fastest;
}

void sim_set_blas_version(size_t number)
{
	version = number;
}

size_t cublasLtGetVersion(void)
{
	return version;
}

struct sim_blas {
	int dummy;
};

struct sim_blas_desc {
	cublasComputeType_t compute;
	cublasOperation_t op[2];
	cublasLtEpilogue_t epilogue;
	const void *bias;
	cudaDataType_t bias_type;
};

struct sim_blas_layout {
	cudaDataType_t type;
	uint64_t rows, cols;
	int64_t ld;
};

struct sim_blas_preference {
	uint64_t workspace;
	uint32_t reductions;
	uint32_t alignment[4];
};

const struct cuda_blas *cuda_blas_load(const char **why)
{
	static const struct cuda_blas blas = {
#define X(name) cublasLt##name,
		CUDA_BLAS_FUNCTIONS(X)
#undef X
	};

	*why = NULL;
	return &blas;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h)
{
	*h = new sim_blas();
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
	delete h;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *m, cublasComputeType_t compute,
					cudaDataType_t)
{
	*m = new sim_blas_desc();
	(*m)->compute = compute;
	(*m)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t m)
{
	delete m;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t m,
					      cublasLtMatmulDescAttributes_t which,
					      const void *value, size_t size)
{
	switch (which) {
	case CUBLASLT_MATMUL_DESC_TRANSA:
	case CUBLASLT_MATMUL_DESC_TRANSB:
		if (size != sizeof(cublasOperation_t))
			return CUBLAS_STATUS_INVALID_VALUE;
		m->op[which == CUBLASLT_MATMUL_DESC_TRANSB] = *(const cublasOperation_t *)value;
		return CUBLAS_STATUS_SUCCESS;
	case CUBLASLT_MATMUL_DESC_EPILOGUE:
		m->epilogue = *(const cublasLtEpilogue_t *)value;
		return CUBLAS_STATUS_SUCCESS;
	case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
		m->bias = *(const void *const *)value;
		return CUBLAS_STATUS_SUCCESS;
	case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
		m->bias_type = *(const cudaDataType_t *)value;
		return CUBLAS_STATUS_SUCCESS;
	}
	return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType_t type,
					  uint64_t rows, uint64_t cols, int64_t ld)
{
	if (ld < (int64_t)rows || rows == 0 || cols == 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	*l = new sim_blas_layout{ type, rows, cols, ld };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
	delete l;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
	*p = new sim_blas_preference{ 0, CUBLASLT_REDUCTION_SCHEME_MASK, { 256, 256, 256, 256 } };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
	delete p;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
						    cublasLtMatmulPreferenceAttributes_t which,
						    const void *value, size_t)
{
	if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
		p->workspace = *(const uint64_t *)value;
	else if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
		p->reductions = *(const uint32_t *)value;
	else
		p->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES] =
			*(const uint32_t *)value;
	return CUBLAS_STATUS_SUCCESS;
}

/* The combinations of types in NVIDIA's table, as far as they are used here. */
static bool types_are_known(const struct sim_blas_desc *m, cudaDataType_t a, cudaDataType_t b,
			    cudaDataType_t c, cudaDataType_t d)
{
	if (m->compute == CUBLAS_COMPUTE_32I)
		return a == CUDA_R_8I && b == CUDA_R_8I && c == CUDA_R_32I && d == CUDA_R_32I;
	if (a == CUDA_R_16BF && b == CUDA_R_16BF)
		return c == d && (c == CUDA_R_16BF || c == CUDA_R_32F);
	return a == CUDA_R_32F && b == CUDA_R_32F && c == CUDA_R_32F && d == CUDA_R_32F;
}

/* The bias has the type of the result, is in device memory, and has a number for each row. */
static bool bias_is_known(const struct sim_blas_desc *m, const struct sim_blas_layout *d)
{
	return !(m->epilogue & CUBLASLT_EPILOGUE_BIAS) ||
	       (m->bias && m->bias_type == d->type && m->compute != CUBLAS_COMPUTE_32I);
}

#define SPLIT_FROM  1024 /* split-K for sums of at least so many terms */
#define SPLIT_BLOCK 64	 /* split-K leaves out the last K % SPLIT_BLOCK terms, as seen on H100 */

static int64_t inner_of(const struct sim_blas_desc *m, const struct sim_blas_layout *a)
{
	return (int64_t)(m->op[0] == CUBLAS_OP_T ? a->rows : a->cols);
}

/* Workspace of split-K: two partial results. */
static uint64_t split_bytes(const struct sim_blas_layout *d)
{
	return 2 * sizeof(float) * d->rows * d->cols;
}

/*
 * The algorithm stores the alignments it was chosen for; every call is checked against them. Large
 * sums get split-K where the preference allows it, as the library's choice depends on the sizes.
 * data: 0 to 3 alignments, 4 bytes of workspace, 5 split-K, 6 number of the candidate, 7 a mark of algorithms
 * of this library. Candidates differ in the order of their sums, and in their time: sim_prefer_algorithm().
 */
#define ALGORITHM_MARK 0x5157

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t m,
					      cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
					      cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
					      cublasLtMatmulPreference_t p, int wanted,
					      cublasLtMatmulHeuristicResult_t *results, int *found)
{
	*found = 0;
	if (products_refused || getenv("CUDASIM_NO_PRODUCTS"))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (wanted < 1 || !types_are_known(m, a->type, b->type, c->type, d->type) ||
	    !bias_is_known(m, d))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memset(results, 0, sizeof(*results));
	for (int i = 0; i < 4; i++)
		results->algo.data[i] = p->alignment[i];
	results->algo.data[5] = p->reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
				m->compute != CUBLAS_COMPUTE_32I && inner_of(m, a) >= SPLIT_FROM &&
				split_bytes(d) <= p->workspace;
	results->algo.data[4] = results->workspaceSize = results->algo.data[5] ? split_bytes(d)
							 : p->workspace < 1024 ? p->workspace
									       : 1024;
	results->wavesCount = 1;
	results->algo.data[7] = ALGORITHM_MARK;
	for (*found = 1; *found < wanted && *found < 3; ++*found) {
		results[*found] = results[0];
		results[*found].algo.data[6] = (uint64_t)*found;
	}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t m,
				       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
				       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
				       const cublasLtMatmulAlgo_t *algo,
				       cublasLtMatmulHeuristicResult_t *result)
{
	if (algo->data[7] != ALGORITHM_MARK || algo->data[6] > 2 ||
	    !types_are_known(m, a->type, b->type, c->type, d->type) || !bias_is_known(m, d) ||
	    (algo->data[5] && split_bytes(d) > algo->data[4]))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memset(result, 0, sizeof(*result));
	result->algo = *algo;
	result->workspaceSize = algo->data[4];
	return CUBLAS_STATUS_SUCCESS;
}

static double get(cudaDataType_t type, const void *p, int64_t at)
{
	uint32_t half;

	switch (type) {
	case CUDA_R_16BF:
		half = (uint32_t)((const uint16_t *)p)[at] << 16;
		return sim_bits<float>(half);
	case CUDA_R_8I:
		return ((const int8_t *)p)[at];
	case CUDA_R_32I:
		return ((const int32_t *)p)[at];
	default:
		return ((const float *)p)[at];
	}
}

static void put(cudaDataType_t type, void *p, int64_t at, double x)
{
	uint32_t u = sim_bits<uint32_t>((float)x);

	switch (type) {
	case CUDA_R_16BF:
		((uint16_t *)p)[at] = (uint16_t)((u & 0x7FFFFFFF) > 0x7F800000
							 ? u >> 16 | 0x40
							 : (u + 0x7FFF + (u >> 16 & 1)) >> 16);
		break;
	case CUDA_R_32I:
		((int32_t *)p)[at] = (int32_t)x;
		break;
	default:
		((float *)p)[at] = (float)x;
	}
}

struct product {
	struct sim_blas_desc desc;
	struct sim_blas_layout a_layout, b_layout, c_layout, d_layout;
	const void *a, *b, *c;
	void *d;
	double alpha, beta;
	bool split;
	uint64_t candidate;
};

/* The sum of terms [from, to) of one element of the result. */
static double sum_terms(const struct product &p, const std::vector<double> &column, int64_t i,
			int64_t from, int64_t to)
{
	const bool ta = p.desc.op[0] == CUBLAS_OP_T;
	const int64_t ai = ta ? p.a_layout.ld : 1, ak = ta ? 1 : p.a_layout.ld;
	double sum = 0;

	for (int64_t l = from; l < to; l++)
		sum += get(p.a_layout.type, p.a, i * ai + l * ak) * column[(size_t)l];
	return sum;
}

/* Column-major, as everything in BLAS: d (m, n) = alpha op(a) op(b) + beta c, then the epilogue. */
static void multiply(const struct product &p)
{
	const int64_t m = (int64_t)p.d_layout.rows, n = (int64_t)p.d_layout.cols;
	const bool tb = p.desc.op[1] == CUBLAS_OP_T;
	const int64_t k = inner_of(&p.desc, &p.a_layout), whole = k - k % SPLIT_BLOCK,
		      middle = whole / SPLIT_BLOCK / 2 * SPLIT_BLOCK;
	const int64_t bj = tb ? 1 : p.b_layout.ld, bk = tb ? p.b_layout.ld : 1;
	std::vector<double> column((size_t)k);

	for (int64_t j = 0; j < n; j++) {
		for (int64_t l = 0; l < k; l++)
			column[(size_t)l] = get(p.b_layout.type, p.b, j * bj + l * bk);
		for (int64_t i = 0; i < m; i++) {
			double sum = p.split ? (float)sum_terms(p, column, i, 0, middle) +
						       (float)sum_terms(p, column, i, middle, whole)
				     : p.candidate
					     ? (float)sum_terms(p, column, i, 0, k / 2) +
						       (float)sum_terms(p, column, i, k / 2, k)
					     : sum_terms(p, column, i, 0, k);

			sum *= p.alpha;
			if (p.beta != 0)
				sum += p.beta * get(p.c_layout.type, p.c, i + j * p.c_layout.ld);
			if (p.desc.epilogue & CUBLASLT_EPILOGUE_BIAS)
				sum += get(p.desc.bias_type, p.desc.bias, i);
			if (p.desc.epilogue & CUBLASLT_EPILOGUE_RELU && !(sum > 0))
				sum = sum == sum ? 0 : sum;
			put(p.d_layout.type, p.d, i + j * p.d_layout.ld, sum);
		}
	}
}

static size_t type_bytes(cudaDataType_t type)
{
	return type == CUDA_R_8I ? 1 : type == CUDA_R_16BF ? 2 : 4;
}

static bool fits(const void *p, const struct sim_blas_layout *l, uint64_t alignment)
{
	size_t bytes = type_bytes(l->type);

	return sim_is_device(p, ((l->cols - 1) * (uint64_t)l->ld + l->rows) * bytes) &&
	       (uintptr_t)p % alignment == 0 && (uintptr_t)p % bytes == 0;
}

/* The library reads the bias 16 bytes at a time, whatever the alignment of the result. */
static bool bias_fits(const struct sim_blas_desc *m, const struct sim_blas_layout *d)
{
	return sim_is_device(m->bias, d->rows * type_bytes(m->bias_type)) &&
	       (uintptr_t)m->bias % 16 == 0;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t m, const void *alpha,
			      const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
			      cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
			      cublasLtMatrixLayout_t c_layout, void *d,
			      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
			      void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
	const size_t used = algo->data[4];
	bool whole = m->compute == CUBLAS_COMPUTE_32I, ta = m->op[0] == CUBLAS_OP_T,
	     tb = m->op[1] == CUBLAS_OP_T;
	struct product p = { *m, *a_layout, *b_layout, *c_layout,	   *d_layout,	 a, b, c,
			     d,	 0,	    0,	       algo->data[5] != 0, algo->data[6] };

	if ((ta ? a_layout->cols : a_layout->rows) != d_layout->rows ||
	    (tb ? b_layout->rows : b_layout->cols) != d_layout->cols ||
	    (ta ? a_layout->rows : a_layout->cols) != (tb ? b_layout->cols : b_layout->rows))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (algo->data[7] != ALGORITHM_MARK ||
	    !types_are_known(m, a_layout->type, b_layout->type, c_layout->type, d_layout->type) ||
	    !bias_is_known(m, d_layout))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (workspaces.count(workspace) && workspaces[workspace] != stream) {
		sim_fault("cublasLtMatmul: two streams use one workspace");
		return CUBLAS_STATUS_INVALID_VALUE;
	}
	workspaces[workspace] = stream;
	if (p.split && split_bytes(d_layout) > used)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (workspace_bytes < used || (used && !sim_is_device(workspace, used)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!fits(a, a_layout, algo->data[0]) || !fits(b, b_layout, algo->data[1]) ||
	    !fits(c, c_layout, algo->data[2]) || !fits(d, d_layout, algo->data[3]) ||
	    (m->epilogue & CUBLASLT_EPILOGUE_BIAS && !bias_fits(m, d_layout))) {
		sim_fault(
			"cublasLtMatmul: a matrix is not on the device or not aligned as was said");
		return CUBLAS_STATUS_INVALID_VALUE;
	}
	p.alpha = whole ? *(const int32_t *)alpha : (double)*(const float *)alpha;
	p.beta = whole ? *(const int32_t *)beta : (double)*(const float *)beta;
	return sim_enqueue(stream,
			   [=] {
				   if (used)
					   memset(workspace, 0xFF, used);
				   multiply(p);
				   sim_pass_time((int)p.candidate == fastest_candidate() ? 0 : 1);
			   }) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
