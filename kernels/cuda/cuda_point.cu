/*
 * cuda_point.cu - elementwise ops and sums. Formulas: ref_point.c. The simplest kernels: start here.
 *
 * All are limited by memory bandwidth, so the only aim is wide accesses and one pass over the data: a
 * thread reads eight columns (or four floats) in 16-byte accesses, computes in registers, and
 * stores. Nothing is shared between threads. Grids cover the shape, or stride over it:
 *
 *	for (i = first_index(); i < n; i += all_threads())	"grid-stride loop"
 *
 * Sums have two steps: each block sums a fixed part and stores it, then one kernel adds the parts in
 * order. Atomic additions would give other bits in each run.
 *
 *	relu_dropout_grad	block 32 x 8 threads: 256 columns x 64 rows; dbias: sums in registers, then
 *				over the 8 rows of threads in shared memory
 *	sum_squares		up to 1024 blocks, in double; then one block
 *	adam			each thread computes the clipping factor itself, from sums in device
 *				memory: the host never waits for the gradient norm
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <math.h>

#include "kernels/ops/adam_factor.h"

#define THREADS 256

/* Blocks of THREADS threads for n threads; at least 1, at most max_blocks. */
static unsigned blocks_for(int64_t n, int64_t max_blocks)
{
	assert(n >= 0 && max_blocks > 0);
	return (unsigned)MAX(MIN(CEIL_DIV(n, THREADS), max_blocks), 1);
}

#define MAX_BLOCKS ((int64_t)1 << 20)

static __device__ __forceinline__ int64_t first_index(void)
{
	return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ int64_t all_threads(void)
{
	return (int64_t)gridDim.x * blockDim.x;
}

/* ---- ReLU and dropout ------------------------------------------------------------------- */

template <enum access A>
static __global__ void relu_dropout(struct tensor x, const float *bias, struct drop drop)
{
	kernel_begin();
	const int64_t eights = (x.cols + 7) / 8;

	drop = drop_now(drop);
	for (int64_t i = first_index(); i < x.rows * eights; i += all_threads()) {
		struct eight at = eight_at(i, eights);
		float v[8], b[8], m[8];

		tensor_load8<A>(v, x, at.row, at.col);
		tensor_load8<A>(b, bias, at.col, x.cols);
		dropout_factors8<A>(m, drop, at.row, at.col, x.cols);
#pragma unroll
		for (int k = 0; k < 8; k++)
			v[k] = v[k] + b[k] > 0 ? (v[k] + b[k]) * m[k] : 0;
		tensor_store8<A>(x, at.row, at.col, v);
	}
}

extern "C" void cuda_relu_dropout(struct dev *d, struct tensor x, const float *bias,
				  struct dropout drop)
{
	LAUNCH_ACCESS(d, access_of(x, bias), relu_dropout,
		      blocks_for(x.rows * CEIL_DIV(x.cols, 8), MAX_BLOCKS), THREADS, 0, x, bias,
		      drop_of(drop));
}

template <enum access A>
static __global__ void relu_dropout_grad(struct tensor dx, float *parts, struct tensor y,
					 float scale)
{
	kernel_begin();
	const int64_t col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * 8;
	const int64_t first = (int64_t)blockIdx.y * PART_ROWS,
		      last = min(first + PART_ROWS, dx.rows);
	float sum[8] = { 0 };

	for (int64_t row = first + threadIdx.y; row < last && col < dx.cols; row += 8) {
		float g[8], v[8];

		tensor_load8<A>(g, dx, row, col);
		tensor_load8<A>(v, y, row, col);
#pragma unroll
		for (int k = 0; k < 8; k++) {
			g[k] = v[k] > 0 ? g[k] * scale : 0;
			sum[k] += g[k];
		}
		tensor_store8<A>(dx, row, col, g);
	}
	store_column_sums(parts + (int64_t)blockIdx.y * dx.cols, dx.cols, col, sum);
}

extern "C" void cuda_relu_dropout_grad(struct dev *d, struct tensor dx, float *dbias,
				       struct tensor y, struct dropout drop)
{
	const int64_t n_parts = CEIL_DIV(dx.rows, PART_ROWS);
	const dim3 grid((unsigned)CEIL_DIV(dx.cols, 256), (unsigned)n_parts), block(32, 8);
	float *parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS, (size_t)(n_parts * dx.cols),
						 sizeof(*parts));

	if (!parts || !dx.rows)
		return;
	LAUNCH_ACCESS(d, access_of(dx, y), relu_dropout_grad, grid, block, 0, dx, parts, y,
		      drop_of(drop).scale);
	cuda_add_parts(d, dbias, parts, n_parts, dx.cols);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* out += sum of the parts of 32 columns: thread (x, y) adds parts y, y + 8, … of column x. */
static __global__ void add_parts(float *out, const float *parts, int64_t n_parts, int64_t cols)
{
	kernel_begin();
	SHARED(float, sums, [8][32]);
	const int64_t col = (int64_t)blockIdx.x * 32 + threadIdx.x;
	float sum = 0;

	for (int64_t p = threadIdx.y; p < n_parts && col < cols; p += 8)
		sum += parts[p * cols + col];
	sums[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y != 0 || col >= cols)
		return;
#pragma unroll
	for (int i = 1; i < 8; i++)
		sum += sums[i][threadIdx.x];
	out[col] += sum;
}

void cuda_add_parts(struct dev *d, float *out, const float *parts, int64_t n_parts, int64_t cols)
{
	LAUNCH(d, add_parts, (unsigned)CEIL_DIV(cols, 32), dim3(32, 8), 0, out, parts, n_parts,
	       cols);
}

#define MAX_PARTS 1024

static __global__ void sum_squares_parts(double *parts, const float *x, int64_t n)
{
	kernel_begin();
	double sum = 0;

	if ((uintptr_t)x % 16 == 0) {
		for (int64_t i = first_index(); i < n / 4; i += all_threads()) {
			float4 v = ((const float4 *)x)[i];

			sum += (double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z +
			       (double)v.w * v.w;
		}
		for (int64_t i = n / 4 * 4 + first_index(); i < n; i += all_threads())
			sum += (double)x[i] * x[i];
	} else {
		for (int64_t i = first_index(); i < n; i += all_threads())
			sum += (double)x[i] * x[i];
	}
	sum = block_sum<THREADS>(sum);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

static __global__ void sum_squares_total(double *out, const double *parts, int n)
{
	kernel_begin();
	double sum = 0;

	for (int i = threadIdx.x; i < n; i += THREADS)
		sum += parts[i];
	sum = block_sum<THREADS>(sum);
	if (threadIdx.x == 0)
		*out += sum;
}

extern "C" void cuda_sum_squares(struct dev *d, double *out, const float *x, int64_t n)
{
	unsigned blocks = blocks_for(CEIL_DIV(n, 16), MAX_PARTS);
	double *parts = (double *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS, MAX_PARTS, sizeof(*parts));

	if (!parts)
		return;
	LAUNCH(d, sum_squares_parts, blocks, THREADS, 0, parts, x, n);
	LAUNCH(d, sum_squares_total, 1, THREADS, 0, out, parts, (int)blocks);
}

#define ROW_THREADS 512

/* One block for each row; rows are few (the losses of a batch). */
static __global__ void sum_rows(double *out, struct tensor x)
{
	kernel_begin();
	double sum = 0;

	for (int64_t col = threadIdx.x; col < x.cols; col += ROW_THREADS)
		sum += tensor_load1(x, blockIdx.x, col);
	sum = block_sum<ROW_THREADS>(sum);
	if (threadIdx.x == 0)
		out[blockIdx.x] += sum;
}

extern "C" void cuda_row_sums(struct dev *d, double *out, struct tensor x)
{
	if (x.rows)
		LAUNCH(d, sum_rows, (unsigned)x.rows, ROW_THREADS, 0, out, x);
}

/* ---- addition, zero ---------------------------------------------------------------------------- */

template <enum access A> static __global__ void add_elements(struct tensor x, struct tensor y)
{
	kernel_begin();
	const int64_t eights = (x.cols + 7) / 8;

	for (int64_t i = first_index(); i < x.rows * eights; i += all_threads()) {
		struct eight at = eight_at(i, eights);
		float a[8], b[8];

		tensor_load8<A>(a, x, at.row, at.col);
		tensor_load8<A>(b, y, at.row, at.col);
#pragma unroll
		for (int k = 0; k < 8; k++)
			a[k] += b[k];
		tensor_store8<A>(x, at.row, at.col, a);
	}
}

extern "C" void cuda_add(struct dev *d, struct tensor x, struct tensor y)
{
	LAUNCH_ACCESS(d, access_of(x, y), add_elements,
		      blocks_for(x.rows * CEIL_DIV(x.cols, 8), MAX_BLOCKS), THREADS, 0, x, y);
}

extern "C" void cuda_zero(struct dev *d, void *p, size_t bytes)
{
	if (bytes)
		cuda_check(d, cudaMemsetAsync(p, 0, bytes, d->stream), "clearing memory");
}

/* ---- Adam ---------------------------------------------------------------------------------------- */

/* Scalars of a step; factor NaN: skip the step. */
struct adam_scalars {
	float beta1, beta2, epsilon, rate, factor, decay;
};

/*
 * Computed by each thread, from device memory. To compute it rarely, the grid is no larger than what
 * fits on the GPU, and each thread loops.
 */
static __device__ __forceinline__ struct adam_scalars adam_begin(struct adam_step s)
{
	struct adam_scalars now;

	now.beta1 = s.beta1;
	now.beta2 = s.beta2;
	now.epsilon = s.epsilon;
	now.rate = s.rate * sqrtf(s.correction2) / s.correction1;
	now.factor = adam_factor(&s);
	now.decay = s.decay;
	return now;
}

static __device__ __forceinline__ void adam_one(float *param, float *m, float *v, float grad,
						struct adam_scalars s)
{
	float g = grad * s.factor;

	*m = s.beta1 * *m + (1 - s.beta1) * g;
	*v = s.beta2 * *v + (1 - s.beta2) * g * g;
	*param -= s.rate * *m / (sqrtf(*v) + s.epsilon) + s.decay * *param;
}

static __global__ void adam_fours(float4 *param, float4 *m, float4 *v, const float4 *grad,
				  int64_t n, struct adam_step s)
{
	kernel_begin();
	const struct adam_scalars now = adam_begin(s);

	if (isnan(now.factor))
		return;
	for (int64_t i = first_index(); i < n; i += all_threads()) {
		float4 p = param[i], a = m[i], b = v[i], g = grad[i];

		adam_one(&p.x, &a.x, &b.x, g.x, now);
		adam_one(&p.y, &a.y, &b.y, g.y, now);
		adam_one(&p.z, &a.z, &b.z, g.z, now);
		adam_one(&p.w, &a.w, &b.w, g.w, now);
		param[i] = p;
		m[i] = a;
		v[i] = b;
		if (s.bf16_params)
			((uint2 *)s.bf16_params)[i] =
				make_uint2(bf16_pair(p.x, p.y), bf16_pair(p.z, p.w));
	}
}

static __global__ void adam_ones(float *param, float *m, float *v, const float *grad, int64_t n,
				 struct adam_step s)
{
	kernel_begin();
	const struct adam_scalars now = adam_begin(s);

	if (isnan(now.factor))
		return;
	for (int64_t i = first_index(); i < n; i += all_threads()) {
		adam_one(&param[i], &m[i], &v[i], grad[i], now);
		if (s.bf16_params)
			s.bf16_params[i] = bf16_one(param[i]);
	}
}

extern "C" void cuda_adam(struct dev *d, float *param, float *m, float *v, const float *grad,
			  int64_t n, struct adam_step s)
{
	const int64_t max_blocks = 8 * d->processors;
	bool fours = access_is_aligned(param) && access_is_aligned(m) && access_is_aligned(v) &&
		     access_is_aligned(grad) && (uintptr_t)s.bf16_params % sizeof(uint2) == 0;
	int64_t n4 = fours ? n / 4 : 0, at = n4 * 4;

	if (n4)
		LAUNCH(d, adam_fours, blocks_for(n4, max_blocks), THREADS, 0, (float4 *)param,
		       (float4 *)m, (float4 *)v, (const float4 *)grad, n4, s);
	if (at == n)
		return;
	s.bf16_params = s.bf16_params ? s.bf16_params + at : NULL;
	LAUNCH(d, adam_ones, blocks_for(n - at, max_blocks), THREADS, 0, param + at, m + at, v + at,
	       grad + at, n - at, s);
}

/* ---- scale, moving average ----------------------------------------------------------------------- */

static __global__ void scale_fours(float4 *x, int64_t n, float by)
{
	kernel_begin();
	for (int64_t i = first_index(); i < n; i += all_threads()) {
		const float4 a = x[i];

		x[i] = make_float4(a.x * by, a.y * by, a.z * by, a.w * by);
	}
}

static __global__ void scale_ones(float *x, int64_t n, float by)
{
	kernel_begin();
	for (int64_t i = first_index(); i < n; i += all_threads())
		x[i] *= by;
}

extern "C" void cuda_scale(struct dev *d, float *x, int64_t n, float by)
{
	int64_t n4 = access_is_aligned(x) ? n / 4 : 0, at = n4 * 4;

	if (n4)
		LAUNCH(d, scale_fours, blocks_for(n4, MAX_BLOCKS), THREADS, 0, (float4 *)x, n4, by);
	if (at < n)
		LAUNCH(d, scale_ones, blocks_for(n - at, MAX_BLOCKS), THREADS, 0, x + at, n - at,
		       by);
}

static __global__ void blend_fours(float4 *x, const float4 *y, int64_t n, float share)
{
	kernel_begin();
	for (int64_t i = first_index(); i < n; i += all_threads()) {
		float4 a = x[i], b = y[i];

		a.x += share * (b.x - a.x);
		a.y += share * (b.y - a.y);
		a.z += share * (b.z - a.z);
		a.w += share * (b.w - a.w);
		x[i] = a;
	}
}

static __global__ void blend_ones(float *x, const float *y, int64_t n, float share)
{
	kernel_begin();
	for (int64_t i = first_index(); i < n; i += all_threads())
		x[i] += share * (y[i] - x[i]);
}

extern "C" void cuda_blend(struct dev *d, float *x, const float *y, int64_t n, float share)
{
	int64_t n4 = access_is_aligned(x) && access_is_aligned(y) ? n / 4 : 0, at = n4 * 4;

	if (n4)
		LAUNCH(d, blend_fours, blocks_for(n4, MAX_BLOCKS), THREADS, 0, (float4 *)x,
		       (const float4 *)y, n4, share);
	if (at < n)
		LAUNCH(d, blend_ones, blocks_for(n - at, MAX_BLOCKS), THREADS, 0, x + at, y + at,
		       n - at, share);
}
