/*
 * cuda_product.cu - products of matrices by cuBLASLt, loaded at run time.
 *
 * cuBLASLt's matrices are column-major, so our row-major (M, N) is its (N, M). The call computes
 * out^T = b^T a^T, without copies.
 *
 * Which algorithm? The bits of a sum depend on it, so a run that is resumed, and meets other batches
 * first, must use the same one. The algorithm is therefore a function of the sizes alone: the number
 * of tokens is rounded up to one of a few sizes, and the library's heuristic is asked for a product
 * of this upper size. Its first choice counts. With gpu_ways.measures_products its best CANDIDATES are
 * measured when a kind of product first occurs, outside of captures; the choices are kept in the run's folder
 * (cuda_choices.cu), because other measurements could choose otherwise. For the same reason no choice is
 * forgotten: when the table is full, further kinds get the first choice of the heuristic.
 *
 * If the library refuses an algorithm for the product itself, it is asked for the exact sizes. The
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
 * output's type; our biases are float, so a bf16 output gets its bias by finish_product, or with
 * gpu_ways.fuses_bias by the library from a copy in bf16 (round_bias() in cuda_linear.cu).
 */
#include "kernels/cuda/cuda_product.cuh"

#include <assert.h>
#include <stdlib.h>

#define SPLIT_MULTIPLE 64 /* sums over a multiple of this may be split */
#define CANDIDATES     4  /* algorithms that are measured for a kind of product */
#define TIMED_CALLS    5

/* ---- cuBLASLt ---------------------------------------------------------------------------------- */

void cuda_products_close(struct cuda_products *p)
{
	if (p)
		(void)p->blas->Destroy(p->handle);
	free(p);
}

struct cuda_products *cuda_products_of(struct dev *d)
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
	(void)cuda_products_of(d);
}

static cudaDataType_t cuda_type_of(struct tensor t)
{
	return t.dtype == DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* The alignment of all rows in bytes, at most 16: more does not matter to the library. */
static uint32_t alignment_of(struct tensor t)
{
	const uintptr_t bits = (uintptr_t)t.data | (uintptr_t)t.stride * dtype_bytes(t.dtype) | 16;

	return (uint32_t)(bits & -bits);
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

/* The bias as the library gets it: of the output's type. */
static const void *bias_of(const struct product *p)
{
	return p->rounded_bias ? p->rounded_bias : p->bias;
}

/* p: of upper_size(); inner: K of the product itself. */
static struct product_kind product_kind_of(const struct product *p, int64_t inner)
{
	struct product_kind k;

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
	k.a_type = (uint8_t)p->a.dtype;
	k.b_type = (uint8_t)p->b.dtype;
	k.out_type = (uint8_t)p->out.dtype;
	k.a_transposed = p->how.a_transposed;
	k.b_transposed = p->how.b_transposed;
	k.accumulate = p->how.accumulate;
	k.bias = p->rounded_bias ? 2 : p->bias != NULL;
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
	const cudaDataType_t type = p->rounded_bias ? CUDA_R_16BF : CUDA_R_32F;
	const void *bias = bias_of(p);

	assert((uintptr_t)bias % 16 == 0);
	if (!p->bias && !p->relu)
		return true;
	return set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_EPILOGUE, &what, sizeof(what)) &&
	       (!p->bias || (set_matmul_attribute(blas, c, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
						  sizeof(bias)) &&
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

/* A call of the library and its preference. False: out of memory, or sizes it does not know. */
static bool prepare_question(struct cuda_products *all, const struct product *p,
			     const struct product_kind *k, struct call *c,
			     cublasLtMatmulPreference_t *preference)
{
	const struct cuda_blas *blas = all->blas;
	const uint64_t workspace = CUDA_BLAS_BYTES;
	const uint32_t reductions =
		CUBLASLT_REDUCTION_SCHEME_NONE |
		(k->may_split ? (uint32_t)CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0);
	bool good;

	*preference = NULL;
	good = call_make(blas, c, p) && !blas->MatmulPreferenceCreate(preference);
#define SET_PREFERENCE(which, value)                                                               \
	good = good && !blas->MatmulPreferenceSetAttribute(                                        \
			       *preference, CUBLASLT_MATMUL_PREF_##which, &value, sizeof(value))
	SET_PREFERENCE(MAX_WORKSPACE_BYTES, workspace);
	SET_PREFERENCE(REDUCTION_SCHEME_MASK, reductions);
	SET_PREFERENCE(MIN_ALIGNMENT_A_BYTES, k->b_alignment);
	SET_PREFERENCE(MIN_ALIGNMENT_B_BYTES, k->a_alignment);
	SET_PREFERENCE(MIN_ALIGNMENT_C_BYTES, k->out_alignment);
	SET_PREFERENCE(MIN_ALIGNMENT_D_BYTES, k->out_alignment);
#undef SET_PREFERENCE
	return good;
}

/* At most `most` algorithms of the heuristic, the likely fastest first. Returns their number. */
static int ask_heuristic(struct cuda_products *all, const struct product *p,
			 const struct product_kind *k, cublasLtMatmulAlgo_t *algorithms, int most)
{
	cublasLtMatmulHeuristicResult_t results[CANDIDATES];
	cublasLtMatmulPreference_t preference;
	struct call c;
	int found = 0, n = 0;

	assert(most <= CANDIDATES);
	if (!prepare_question(all, p, k, &c, &preference) ||
	    all->blas->MatmulAlgoGetHeuristic(all->handle, c.how, c.b, c.a, c.out, c.out,
					      preference, most, results, &found))
		found = 0;
	for (int i = 0; i < found; i++)
		if (results[i].state == CUBLAS_STATUS_SUCCESS)
			algorithms[n++] = results[i].algo;
	if (preference)
		(void)all->blas->MatmulPreferenceDestroy(preference);
	call_free(all->blas, &c);
	return n;
}

/* Enqueue a product whose result goes to `out`, which is p->out.data or of the same layout. */
static bool enqueue_product(struct dev *d, const struct product *p, const struct call *c,
			    const cublasLtMatmulAlgo_t *algorithm, void *out, void *workspace)
{
	const float one = 1, beta = p->how.accumulate ? 1 : 0;

	return !d->products->blas->Matmul(d->products->handle, c->how, &one, p->b.data, c->b,
					  p->a.data, c->a, &beta, p->out.data, c->out, out, c->out,
					  algorithm, workspace, CUDA_BLAS_BYTES, d->stream);
}

/* ---- measured choices -------------------------------------------------------------------------- */

/* Milliseconds of TIMED_CALLS calls after a first one; negative: the library refuses the algorithm. */
static float measure_algorithm(struct dev *d, const struct product *p, const struct call *c,
			       const cublasLtMatmulAlgo_t *algorithm, void *out, void *workspace,
			       cudaEvent_t event[2])
{
	float ms = -1;
	bool good = enqueue_product(d, p, c, algorithm, out, workspace);

	cuda_check(d, cudaEventRecord(event[0], d->stream), "recording an event");
	for (int i = 0; good && i < TIMED_CALLS; i++)
		good = enqueue_product(d, p, c, algorithm, out, workspace);
	cuda_check(d, cudaEventRecord(event[1], d->stream), "recording an event");
	cuda_check(d, cudaEventSynchronize(event[1]), "measuring a product");
	if (!good || d->fault.code || cudaEventElapsedTime(&ms, event[0], event[1]) != cudaSuccess)
		return -1;
	return ms;
}

/*
 * Index of the fastest of n algorithms for p. A product that adds to its output is measured with another
 * output, allocated for the measurement; if there is no memory, the first algorithm is taken. The first one
 * also wins if no other is 3 % faster: a smaller difference is noise.
 */
static int fastest_algorithm(struct dev *d, const struct product *p,
			     const cublasLtMatmulAlgo_t *algorithms, int n, void *workspace)
{
	const size_t bytes =
		(size_t)p->out.rows * (size_t)p->out.stride * dtype_bytes(p->out.dtype);
	void *other = NULL;
	cudaEvent_t event[2] = { NULL, NULL };
	struct call c;
	float best_ms = -1;
	int best = 0;

	if (p->how.accumulate && cudaMalloc(&other, bytes) != cudaSuccess) {
		(void)cudaGetLastError();
		return 0;
	}
	for (int i = 0; i < 2; i++)
		cuda_check(d, cudaEventCreateWithFlags(&event[i], cudaEventDefault),
			   "creating an event");
	if (call_make(d->products->blas, &c, p) && !d->fault.code)
		for (int i = 0; i < n; i++) {
			const float ms =
				measure_algorithm(d, p, &c, &algorithms[i],
						  other ? other : p->out.data, workspace, event);

			if (ms < 0 || (best_ms >= 0 && ms > best_ms * 0.97f))
				continue;
			best_ms = ms;
			best = i;
		}
	call_free(d->products->blas, &c);
	for (int i = 0; i < 2; i++)
		if (event[i])
			(void)cudaEventDestroy(event[i]);
	(void)cudaFree(other);
	return best;
}

static bool is_capturing(struct dev *d)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;

	return cudaStreamIsCapturing(d->stream, &status) != cudaSuccess ||
	       status != cudaStreamCaptureStatusNone;
}

/* A loaded choice may come from anywhere: does the library accept it for this product? */
static bool is_choice_accepted(struct cuda_products *all, const struct product *p,
			       const struct product_choice *choice)
{
	cublasLtMatmulHeuristicResult_t result;
	struct call c;
	const bool good = call_make(all->blas, &c, p) &&
			  !all->blas->MatmulAlgoCheck(all->handle, c.how, c.b, c.a, c.out, c.out,
						      &choice->algorithm, &result) &&
			  result.workspaceSize <= CUDA_BLAS_BYTES;

	call_free(all->blas, &c);
	return good;
}

/* The stored or new algorithm for the upper size of p; NULL: the library has none. Borrowed. */
static const cublasLtMatmulAlgo_t *algorithm_for(struct dev *d, const struct product *p,
						 void *workspace)
{
	struct cuda_products *all = d->products;
	const struct product upper = upper_size(*p);
	const struct product_kind k = product_kind_of(&upper, p->inner);
	const bool measures = d->ways.measures_products && all->n < MAX_CHOICES && !is_capturing(d);
	cublasLtMatmulAlgo_t algorithms[CANDIDATES];
	struct product_choice *choice = all->choice;
	int n;

	while (choice < all->choice + all->n && memcmp(&choice->kind, &k, sizeof(k)) != 0)
		choice++;
	if (choice < all->choice + all->n &&
	    (!choice->is_loaded || is_choice_accepted(all, &upper, choice))) {
		choice->is_loaded = false;
		return &choice->algorithm;
	}
	n = ask_heuristic(all, &upper, &k, algorithms, measures ? CANDIDATES : 1);
	if (n == 0)
		return NULL;
	choice->algorithm =
		algorithms[n > 1 ? fastest_algorithm(d, p, algorithms, n, workspace) : 0];
	choice->kind = k;
	choice->is_loaded = false;
	choice->is_measured = measures;
	all->n = MIN(MAX(all->n, (int)(choice - all->choice) + 1), MAX_CHOICES);
	return &choice->algorithm;
}

bool cuda_product_by_library(struct dev *d, const struct product *p)
{
	struct cuda_products *all = cuda_products_of(d);
	void *workspace = all ? cuda_get_scratch(d, CUDA_SCRATCH_BLAS, 1, CUDA_BLAS_BYTES) : NULL;
	const cublasLtMatmulAlgo_t *algorithm;
	struct product_kind exact;
	cublasLtMatmulAlgo_t own;
	struct call c;
	bool good;

	if (!workspace)
		return false;
	exact = product_kind_of(p, p->inner);
	algorithm = algorithm_for(d, p, workspace);
	good = call_make(all->blas, &c, p) &&
	       ((algorithm && enqueue_product(d, p, &c, algorithm, p->out.data, workspace)) ||
		(ask_heuristic(all, p, &exact, &own, 1) &&
		 enqueue_product(d, p, &c, &own, p->out.data, workspace)));
	call_free(all->blas, &c);
	all->refused += !good;
	return good;
}

extern "C" int64_t cuda_count_slow_products(const struct dev *d)
{
	return d->products ? d->products->refused : 0;
}
