/*
 * cuda_product.cu - products of matrices by cuBLASLt, loaded at run time.
 *
 * cuBLASLt's matrices are column-major, so our row-major (M, N) is its (N, M). The call computes
 * out^T = b^T a^T, without copies.
 *
 * Which algorithm? The bits of a sum depend on it, so a run that is resumed, and meets other batches
 * first, must use the same one. The algorithm is therefore a function of the sizes alone: the number
 * of tokens is rounded up to one of a few sizes, and the library's heuristic is asked for a product
 * of this upper size. Its first choice counts; choosing by measured times would differ between runs.
 * If the library refuses this algorithm for the product itself, it is asked for the exact sizes. The
 * workspace has a fixed size, allocated before the run.
 *
 * Split-K: the sum over K is split over blocks and added in a second kernel. Some versions of the
 * library are reported to leave out the last K % 64 terms on H100 (12.8.5 and 13.1.1,
 * facebookexperimental/triton pull request 2767). Sums over another K are never split. K is the
 * number of tokens in gradients of weights only; graphs pad it to a multiple of 64. Sums in place,
 * whose order is not fixed, are never allowed.
 *
 * Epilogues (bias, ReLU) are used without dropout: in evaluation, and in the encoder before decoding.
 * In training the bias is added by kernels that pass over the data anyway (relu_dropout, add_norm);
 * their gradients sum dbias while the elements are in registers. The library wants a bias of the
 * output's type; our biases are float, so a bf16 output gets its bias by finish_product.
 */
#include "kernels/cuda/cuda_product.cuh"

#include <stdlib.h>

#include "kernels/cuda/cuda_blas.h"

#define SPLIT_MULTIPLE 64 /* sums over a multiple of this may be split */

#define MAX_KINDS 512

/* Everything the choice of an algorithm depends on; compared byte by byte, so zeroed first. */
struct kind {
	int64_t m, n, k; /* of upper_size() */
	int64_t a_stride, b_stride, out_stride;
	uint32_t a_alignment, b_alignment,
		out_alignment; /* bytes; out: the least of out and bias */
	uint8_t a_type, b_type, out_type, a_transposed, b_transposed, accumulate, has_bias, relu,
		may_split;
};

struct cuda_products {
	const struct cuda_blas *blas; /* borrowed */
	cublasLtHandle_t handle;      /* owned */
	int64_t refused;	      /* products that the library refused */
	int n_kinds;
	struct kind kind[MAX_KINDS];
	cublasLtMatmulAlgo_t algorithm[MAX_KINDS];
};

/* ---- cuBLASLt ---------------------------------------------------------------------------------- */

void cuda_products_close(struct cuda_products *p)
{
	if (p)
		(void)p->blas->Destroy(p->handle);
	free(p);
}

static struct cuda_products *products_of(struct dev *d)
{
	const char *why;
	struct cuda_products *p = d->products;
	struct err e = {};

	if (p)
		return p;
	p = (struct cuda_products *)mem_alloc(1, sizeof(*p), &e);
	if (!p || !(p->blas = cuda_blas_load(&why)) || p->blas->Create(&p->handle)) {
		free(p);
		if (!d->fault.code)
			err_set(&d->fault, ERR_UNAVAILABLE,
				"GPU %d: cannot create a cuBLASLt handle", d->device);
		return NULL;
	}
	d->products = p;
	return p;
}

void cuda_products_open(struct dev *d)
{
	(void)products_of(d);
}

static cudaDataType_t cuda_type_of(struct tensor t)
{
	return t.dtype == DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* The alignment of an address in bytes, at most 16: more does not matter to the library. */
static uint32_t lowest_bit(uintptr_t bits)
{
	bits |= 16;
	return (uint32_t)(bits & -bits);
}

static uint32_t alignment_of(struct tensor t)
{
	return lowest_bit((uintptr_t)t.data | (uintptr_t)t.stride * dtype_bytes(t.dtype));
}

/* n rounded up, so that many sizes share an algorithm: four steps between powers of two. */
static int64_t rounded_up(int64_t n)
{
	int64_t step = 16;

	while (step * 8 <= n)
		step *= 2;
	return CEIL_DIV(n, step) * step;
}

/*
 * The product with its number of tokens rounded up. Rows of row-major matrices can be tokens; the
 * other sizes are those of the model, and no stride limits a number of rows.
 */
static struct product upper_size(struct product p)
{
	if (!p.how.a_transposed) {
		p.a.rows = p.out.rows = rounded_up(p.out.rows);
	} else if (!p.how.b_transposed) {
		p.a.rows = p.b.rows = p.inner = rounded_up(p.inner);
	}
	return p;
}

/* p: of upper_size(); inner: K of the product itself. */
static struct kind product_kind_of(const struct product *p, int64_t inner)
{
	struct kind k;

	memset(&k, 0, sizeof(k));
	k.m = p->out.rows;
	k.n = p->out.cols;
	k.k = p->inner;
	k.a_stride = p->a.stride;
	k.b_stride = p->b.stride;
	k.out_stride = p->out.stride;
	k.a_alignment = alignment_of(p->a);
	k.b_alignment = alignment_of(p->b);
	k.out_alignment = alignment_of(p->out);
	if (p->bias)
		k.out_alignment = MIN(k.out_alignment, lowest_bit((uintptr_t)p->bias));
	k.a_type = (uint8_t)p->a.dtype;
	k.b_type = (uint8_t)p->b.dtype;
	k.out_type = (uint8_t)p->out.dtype;
	k.a_transposed = p->how.a_transposed;
	k.b_transposed = p->how.b_transposed;
	k.accumulate = p->how.accumulate;
	k.has_bias = p->bias != NULL;
	k.relu = p->relu;
	k.may_split = inner % SPLIT_MULTIPLE == 0;
	return k;
}

/* Descriptors of one call of the library; owned. */
struct call {
	cublasLtMatmulDesc_t how;
	cublasLtMatrixLayout_t a, b, out;
};

static void call_free(const struct cuda_blas *blas, struct call *c)
{
	if (c->how)
		(void)blas->MatmulDescDestroy(c->how);
	if (c->a)
		(void)blas->MatrixLayoutDestroy(c->a);
	if (c->b)
		(void)blas->MatrixLayoutDestroy(c->b);
	if (c->out)
		(void)blas->MatrixLayoutDestroy(c->out);
}

static bool set_matmul_attribute(const struct cuda_blas *blas, struct call *c,
				 cublasLtMatmulDescAttributes_t which, const void *value,
				 size_t size)
{
	return !blas->MatmulDescSetAttribute(c->how, which, value, size);
}

static bool set_epilogue(const struct cuda_blas *blas, struct call *c, const struct product *p)
{
	const cublasLtEpilogue_t what = !p->bias  ? CUBLASLT_EPILOGUE_RELU
					: p->relu ? CUBLASLT_EPILOGUE_RELU_BIAS
						  : CUBLASLT_EPILOGUE_BIAS;
	const cudaDataType_t type = CUDA_R_32F;

	if (!p->bias && !p->relu)
		return true;
	return set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_EPILOGUE, &what, sizeof(what)) &&
	       (!p->bias || (set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
						  &p->bias, sizeof(p->bias)) &&
			     set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
						  &type, sizeof(type))));
}

static bool make_layout(const struct cuda_blas *blas, cublasLtMatrixLayout_t *l, struct tensor t)
{
	return !blas->MatrixLayoutCreate(l, cuda_type_of(t), (uint64_t)t.cols, (uint64_t)t.rows,
					 t.stride);
}

/* The operands are exchanged, because cuBLASLt is column-major: b is its first one. */
static bool call_make(const struct cuda_blas *blas, struct call *c, const struct product *p)
{
	const cublasOperation_t first = p->how.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
				second = p->how.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;

	memset(c, 0, sizeof(*c));
	return !blas->MatmulDescCreate(&c->how, CUBLAS_COMPUTE_32F, CUDA_R_32F) &&
	       set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first)) &&
	       set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_TRANSB, &second,
				    sizeof(second)) &&
	       set_epilogue(blas, c, p) && make_layout(blas, &c->b, p->b) &&
	       make_layout(blas, &c->a, p->a) && make_layout(blas, &c->out, p->out);
}

/* The first algorithm of the heuristic for a product of this kind. False: there is none. */
static bool ask_heuristic(struct cuda_products *all, const struct product *p, const struct kind *k,
			  cublasLtMatmulAlgo_t *algorithm)
{
	const struct cuda_blas *blas = all->blas;
	cublasLtMatmulPreference_t preference = NULL;
	cublasLtMatmulHeuristicResult_t best;
	const uint64_t workspace = CUDA_BLAS_BYTES;
	const uint32_t reductions =
		CUBLASLT_REDUCTION_SCHEME_NONE |
		(k->may_split ? (uint32_t)CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0);
	struct call c;
	int found = 0;
	bool good = call_make(blas, &c, p) && !blas->MatmulPreferenceCreate(&preference);

#define SET_PREFERENCE(which, value)                                                               \
	good = good && !blas->MatmulPreferenceSetAttribute(                                        \
			       preference, CUBLASLT_MATMUL_PREF_##which, &value, sizeof(value))
	SET_PREFERENCE(MAX_WORKSPACE_BYTES, workspace);
	SET_PREFERENCE(REDUCTION_SCHEME_MASK, reductions);
	SET_PREFERENCE(MIN_ALIGNMENT_A_BYTES, k->b_alignment);
	SET_PREFERENCE(MIN_ALIGNMENT_B_BYTES, k->a_alignment);
	SET_PREFERENCE(MIN_ALIGNMENT_C_BYTES, k->out_alignment);
	SET_PREFERENCE(MIN_ALIGNMENT_D_BYTES, k->out_alignment);
#undef SET_PREFERENCE
	good = good &&
	       !blas->MatmulAlgoGetHeuristic(all->handle, c.how, c.b, c.a, c.out, c.out, preference,
					     1, &best, &found) &&
	       found > 0;
	if (preference)
		(void)blas->MatmulPreferenceDestroy(preference);
	call_free(blas, &c);
	if (good)
		*algorithm = best.algo;
	return good;
}

/* The stored or new algorithm for the upper size of p; NULL: the library has none. Borrowed. */
static const cublasLtMatmulAlgo_t *algorithm_for(struct cuda_products *all, const struct product *p)
{
	const struct product upper = upper_size(*p);
	const struct kind k = product_kind_of(&upper, p->inner);
	int i = 0;

	while (i < all->n_kinds && memcmp(&all->kind[i], &k, sizeof(k)) != 0)
		i++;
	if (i < all->n_kinds)
		return &all->algorithm[i];
	if (i == MAX_KINDS)
		all->n_kinds = i = 0; /* full: one model has far fewer kinds, so start again */
	if (!ask_heuristic(all, &upper, &k, &all->algorithm[i]))
		return NULL;
	all->kind[i] = k;
	all->n_kinds = i + 1;
	return &all->algorithm[i];
}

static bool enqueue_product(struct dev *d, const struct product *p, const struct call *c,
			    const cublasLtMatmulAlgo_t *algorithm, void *workspace)
{
	const float one = 1, beta = p->how.accumulate ? 1 : 0;

	return algorithm &&
	       !d->products->blas->Matmul(d->products->handle, c->how, &one, p->b.data, c->b,
					  p->a.data, c->a, &beta, p->out.data, c->out, p->out.data,
					  c->out, algorithm, workspace, CUDA_BLAS_BYTES, d->stream);
}

bool cuda_product_by_library(struct dev *d, const struct product *p)
{
	struct cuda_products *all = products_of(d);
	void *workspace = all ? cuda_get_scratch(d, CUDA_SCRATCH_BLAS, 1, CUDA_BLAS_BYTES) : NULL;
	struct kind exact;
	cublasLtMatmulAlgo_t own;
	struct call c;
	bool good;

	if (!workspace)
		return false;
	exact = product_kind_of(p, p->inner);
	good = call_make(all->blas, &c, p) &&
	       (enqueue_product(d, p, &c, algorithm_for(all, p), workspace) ||
		(ask_heuristic(all, p, &exact, &own) &&
		 enqueue_product(d, p, &c, &own, workspace)));
	call_free(all->blas, &c);
	all->refused += !good;
	return good;
}

extern "C" int64_t cuda_count_slow_products(const struct dev *d)
{
	return d->products ? d->products->refused : 0;
}
