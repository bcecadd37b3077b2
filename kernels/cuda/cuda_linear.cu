/*
 * cuda_linear.cu - matrix products: which kernel multiplies, conversion of the inputs, and own kernels
 * for packed weights. Definitions: ref_matmul.c, ref_linear.c.
 *
 * Products of unpacked matrices go to cuBLASLt (cuda_product.cu), with few rows to cuda_few_rows.cu, or
 * to a simple kernel where the library refuses one.
 *
 * Packed weights (decoding), linear_rows: out = a packed^T. A lane owns one of the 32 outputs of a
 * panel, so a warp reads a unit of all outputs in one access of 128 bytes, and each weight once.
 *
 *	grid	x: 4 panels	y: 16 rows of a
 *	block	4 warps, one panel each
 *	shared	16 rows x 64 units of a		registers	16 sums a lane, one for each row
 *
 * make_input first converts the rows of a to units of the weights' type (panels.h).
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <type_traits>

#include "kernels/cuda/cuda_product.cuh"
#include "kernels/ops/panels.h"

/* ---- conversion ---------------------------------------------------------------------------- */

template <enum access A> static __global__ void convert_rows(struct tensor out, struct tensor x)
{
	kernel_begin();
	const int64_t eights = (x.cols + 7) / 8;
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = i / eights,
		      col = (i - row * eights) * 8;
	float v[8];

	if (row >= x.rows)
		return;
	tensor_load8<A>(v, x, row, col);
	tensor_store8<A>(out, row, col, v);
}

/* All files are compiled for the same GPUs, so one kernel is enough to test. */
bool cuda_kernels_fit(void)
{
	struct cudaFuncAttributes facts;
	const cudaError_t error =
		cudaFuncGetAttributes(&facts, (const void *)convert_rows<ACCESS_ANY>);

	(void)cudaGetLastError();
	return error == cudaSuccess;
}

static void launch_convert(struct dev *d, struct tensor out, struct tensor x)
{
	LAUNCH_ACCESS(d, access_of(out, x), convert_rows,
		      (unsigned)CEIL_DIV(x.rows * CEIL_DIV(x.cols, 8), 256), 256, 0, out, x);
}

extern "C" void cuda_copy(struct dev *d, struct tensor out, struct tensor x)
{
	if (x.rows && x.cols)
		launch_convert(d, out, x);
}

/* x with this dtype: itself, or a converted copy in scratch memory. data NULL: out of memory. */
static struct tensor in_type(struct dev *d, struct tensor x, enum dtype type,
			     enum cuda_scratch where)
{
	struct tensor copy = x;

	if (x.dtype == type)
		return x;
	copy.dtype = type;
	copy.stride = CEIL_DIV(x.cols, 8) * 8;
	copy.data = cuda_get_scratch(d, where, (size_t)(x.rows * copy.stride), dtype_bytes(type));
	if (copy.data)
		launch_convert(d, copy, x);
	return copy;
}

/* ---- products that cuBLASLt does not support -------------------------------------------------- */

#define TILE 16

static __device__ __forceinline__ float apply_bias_relu(const struct product &p, float x,
							int64_t col)
{
	x += p.bias ? p.bias[col] : 0;
	return p.relu ? fmaxf(x, 0) : x;
}

/* One thread for each element; tiles of 16 x 16 of a and b in shared memory. Simple, not fast. */
static __global__ void product_fallback(struct product p)
{
	kernel_begin();
	const struct tensor out = p.out, a = p.a, b = p.b;
	const struct matmul_how how = p.how;
	const int64_t inner = p.inner;
	SHARED(float, x, [TILE][TILE + 1]);
	SHARED(float, y, [TILE][TILE + 1]);
	const int64_t row = (int64_t)blockIdx.y * TILE + threadIdx.y,
		      col = (int64_t)blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int64_t k = 0; k < inner; k += TILE) {
		int64_t i = k + threadIdx.x, j = k + threadIdx.y;

		x[threadIdx.y][threadIdx.x] = row >= out.rows || i >= inner ? 0
					      : how.a_transposed ? tensor_load1(a, i, row)
								 : tensor_load1(a, row, i);
		y[threadIdx.y][threadIdx.x] = col >= out.cols || j >= inner ? 0
					      : how.b_transposed ? tensor_load1(b, col, j)
								 : tensor_load1(b, j, col);
		__syncthreads();
#pragma unroll
		for (int l = 0; l < TILE; l++)
			sum += x[threadIdx.y][l] * y[l][threadIdx.x];
		__syncthreads();
	}
	if (row < out.rows && col < out.cols)
		tensor_store1(
			out, row, col,
			apply_bias_relu(p, sum + (how.accumulate ? tensor_load1(out, row, col) : 0),
					col));
}

/* Bias and ReLU in place, where the library's epilogue cannot; eight columns a thread. */
template <enum access A> static __global__ void finish_product(struct product p)
{
	kernel_begin();
	const int64_t eights = (p.out.cols + 7) / 8;
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = i / eights,
		      col = (i - row * eights) * 8;
	float v[8];

	if (row >= p.out.rows)
		return;
	tensor_load8<A>(v, p.out, row, col);
#pragma unroll
	for (int j = 0; j < 8; j++)
		v[j] = apply_bias_relu(p, v[j], min(col + j, p.out.cols - 1));
	tensor_store8<A>(p.out, row, col, v);
}

static void product_by_kernel(struct dev *d, const struct product *p)
{
	if (!cuda_product_by_library(d, p) && !d->fault.code)
		LAUNCH(d, product_fallback,
		       dim3((unsigned)CEIL_DIV(p->out.cols, TILE),
			    (unsigned)CEIL_DIV(p->out.rows, TILE)),
		       dim3(TILE, TILE), 0, *p);
}

/* ---- matmul, and linear without packing -------------------------------------------------------- */

/*
 * The library wants a bias of the output's type. With gpu_ways.fuses_bias it gets one for a bf16
 * output: the bias rounded to bf16, as the output is anyway. False: not possible here.
 */
static bool round_bias(struct dev *d, struct product *p)
{
	const int64_t n = p->out.cols;
	struct tensor halves = { NULL, 1, n, CEIL_DIV(n, 8) * 8, DTYPE_BF16 };

	if (!d->ways.fuses_bias || p->out.dtype != DTYPE_BF16 || !p->bias)
		return false;
	halves.data = cuda_get_scratch(d, CUDA_SCRATCH_BIAS, (size_t)halves.stride, 2);
	if (!halves.data)
		return false;
	launch_convert(d, halves, tensor_f32((float *)p->bias, 1, n));
	p->rounded_bias = halves.data;
	return true;
}

/*
 * Must finish_product() add the bias and apply ReLU? cuBLASLt has preferences for the alignment of the
 * matrices but not of the bias, and may read the bias 16 bytes at a time: an unaligned one would be a
 * fault of the GPU (pytorch/pytorch pull request 194497).
 */
static bool needs_finish(struct dev *d, struct product *p, bool halves)
{
	if (halves && p->out.dtype == DTYPE_BF16 && (p->bias || p->relu) && !round_bias(d, p))
		return true;
	return p->bias && !p->rounded_bias && !access_is_aligned(p->bias);
}

static void multiply_matrices(struct dev *d, struct product p)
{
	const bool halves = d->bf16 || (p.a.dtype == DTYPE_BF16 && p.b.dtype == DTYPE_BF16);
	const bool apart = needs_finish(d, &p, halves);
	const enum dtype type = halves ? DTYPE_BF16 : DTYPE_F32;
	struct tensor out = p.out;
	struct product alone;

	p.inner = p.how.a_transposed ? p.a.rows : p.a.cols;
	assert(p.inner == (p.how.b_transposed ? p.b.cols : p.b.rows));
	if (out.rows == 0 || out.cols == 0 || p.inner == 0 || cuda_product_of_few_rows(d, &p))
		return;
	p.a = in_type(d, p.a, type, CUDA_SCRATCH_A);
	p.b = in_type(d, p.b, type, CUDA_SCRATCH_B);
	if (!halves && out.dtype == DTYPE_BF16) /* float x float into bf16: not in the library */
		p.out = in_type(d, out, DTYPE_F32, CUDA_SCRATCH_OUT);
	if (!p.a.data || !p.b.data || !p.out.data)
		return;
	alone = p;
	if (apart) {
		alone.bias = NULL;
		alone.relu = false;
	}
	product_by_kernel(d, &alone);
	if (apart)
		LAUNCH_ACCESS(d, access_of(p.out, p.bias), finish_product,
			      (unsigned)CEIL_DIV(out.rows * CEIL_DIV(out.cols, 8), 256), 256, 0, p);
	if (p.out.data != out.data)
		launch_convert(d, out, p.out);
}

extern "C" void cuda_matmul(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
			    struct matmul_how how)
{
	multiply_matrices(d, { out, a, b, how, NULL, NULL, false, 0 });
}

/* ---- packing ---------------------------------------------------------------------------------------- */

/* Addresses in a block of packed weights, panels.h. */
struct panels {
	uint32_t *units;
	float *scales;
	int32_t *sums;
	int64_t rows, cols, n_units; /* N, K, U */
};

static struct panels panels_of(struct tensor packed)
{
	struct panels p;

	p.units = (uint32_t *)packed.data;
	p.scales = panel_scales(packed);
	p.sums = panel_sums(packed);
	p.rows = packed.rows;
	p.cols = packed.cols;
	p.n_units = panel_units(packed);
	return p;
}

static __device__ __forceinline__ int quantise_int8(float x, float factor)
{
	return (int)fminf(fmaxf(rintf(x * factor), -127), 127);
}

/* Unit u of a row; int8: factor = 127 / amax. Elements after the last column are 0. */
template <enum dtype TYPE>
static __device__ __forceinline__ uint32_t make_unit(struct tensor x, int64_t row, int64_t u,
						     float factor)
{
	uint32_t unit = 0;

	if constexpr (TYPE == DTYPE_PACKED_F32) {
		unit = __float_as_uint(tensor_load1(x, row, u));
	} else if constexpr (TYPE == DTYPE_PACKED_BF16) {
		unit = bf16_pair(tensor_load1(x, row, 2 * u),
				 2 * u + 1 < x.cols ? tensor_load1(x, row, 2 * u + 1) : 0);
	} else {
#pragma unroll
		for (int i = 0; i < 4; i++)
			if (4 * u + i < x.cols)
				unit |= (uint32_t)(quantise_int8(tensor_load1(x, row, 4 * u + i),
								 factor) &
						   0xFF)
					<< 8 * i;
	}
	return unit;
}

/* The greatest magnitude of a row, computed by a warp, on every lane. */
static __device__ __forceinline__ float row_greatest(struct tensor x, int64_t row)
{
	float most = 0;

	for (int64_t k = threadIdx.x % 32; k < x.cols; k += 32)
		most = fmaxf(most, fabsf(tensor_load1(x, row, k)));
	return warp_max(most);
}

static __device__ __forceinline__ float factor_of(float greatest)
{
	return greatest > 0 ? 127 / greatest : 0;
}

/* A warp packs one output; outputs after the last one become zeros. */
template <enum dtype TYPE> static __global__ void pack_outputs(struct panels p, struct tensor b)
{
	kernel_begin();
	const int64_t n = (int64_t)blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
	uint32_t *to = p.units + n / PANEL_WIDTH * p.n_units * PANEL_WIDTH + n % PANEL_WIDTH;
	const bool real = n < p.rows;
	float most = TYPE == DTYPE_PACKED_INT8 && real ? row_greatest(b, n) : 0;
	int sum = 0;

	for (int64_t u = lane; u < p.n_units; u += 32) {
		uint32_t unit = real ? make_unit<TYPE>(b, n, u, factor_of(most)) : 0;

		to[u * PANEL_WIDTH] = unit;
		if (TYPE == DTYPE_PACKED_INT8)
			sum = __dp4a((int)unit, 0x01010101, sum);
	}
	if (TYPE != DTYPE_PACKED_INT8)
		return;
	sum = warp_sum(sum);
	if (lane == 0) {
		p.scales[n] = most / 127;
		p.sums[n] = sum;
	}
}

/* Launch the instance of a kernel for this type of packed weights. */
#define LAUNCH_PACKED(d, type, kernel, grid, block, shared, ...)                                   \
	do {                                                                                       \
		if (type == DTYPE_PACKED_INT8)                                                     \
			LAUNCH(d, kernel<DTYPE_PACKED_INT8>, grid, block, shared, __VA_ARGS__);    \
		else if (type == DTYPE_PACKED_BF16)                                                \
			LAUNCH(d, kernel<DTYPE_PACKED_BF16>, grid, block, shared, __VA_ARGS__);    \
		else                                                                               \
			LAUNCH(d, kernel<DTYPE_PACKED_F32>, grid, block, shared, __VA_ARGS__);     \
	} while (0)

extern "C" void cuda_pack(struct dev *d, struct tensor packed, struct tensor b)
{
	LAUNCH_PACKED(d, packed.dtype, pack_outputs,
		      (unsigned)(panel_count(packed) * PANEL_WIDTH / 4), 128, 0, panels_of(packed),
		      b);
}

/* ---- products with packed weights ------------------------------------------------------------------- */

#define LINEAR_ROWS  16 /* rows of the input for a block */
#define LINEAR_WARPS 4	/* warps of a block, one panel each */
#define LINEAR_UNITS 64 /* units along K in shared memory at one time */

struct linear_how {
	const float *bias;
	bool relu;
};

/* sum += unit of the input * unit of weights. */
template <enum dtype TYPE, class SUM>
static __device__ __forceinline__ void multiply_unit(SUM *sum, uint32_t x, uint32_t w)
{
	if (TYPE == DTYPE_PACKED_INT8)
		*sum = (SUM)__dp4a((int)x, (int)w, (int)*sum);
	else if (TYPE == DTYPE_PACKED_BF16)
		*sum += bf16_low(x) * bf16_low(w) + bf16_high(x) * bf16_high(w);
	else
		*sum += __uint_as_float(x) * __uint_as_float(w);
}

/* Convert rows of the input to units of the weights' type; a warp for each row. scales: int8 only. */
template <enum dtype TYPE>
static __global__ void make_input(uint32_t *units, float *scales, struct tensor a, int64_t n_units)
{
	kernel_begin();
	const int64_t row = (int64_t)blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
	float most;

	if (row >= a.rows)
		return;
	most = TYPE == DTYPE_PACKED_INT8 ? row_greatest(a, row) : 0;
	for (int64_t u = lane; u < n_units; u += 32)
		units[row * n_units + u] = make_unit<TYPE>(a, row, u, factor_of(most));
	if (TYPE == DTYPE_PACKED_INT8 && lane == 0)
		scales[row] = most / 127;
}

/* LINEAR_ROWS rows times LINEAR_WARPS panels; see the head of this file. */
template <enum dtype TYPE>
static __global__ void __launch_bounds__(LINEAR_WARPS * 32, 3)
	linear_rows(struct tensor out, const uint32_t *units, const float *scales, struct panels p,
		    struct linear_how how)
{
	kernel_begin();
	typedef typename std::conditional<TYPE == DTYPE_PACKED_INT8, int, float>::type sum_type;
	SHARED(uint32_t, x, [LINEAR_ROWS][LINEAR_UNITS]);
	const int lane = threadIdx.x % 32;
	const int64_t panel = (int64_t)blockIdx.x * LINEAR_WARPS + threadIdx.x / 32,
		      n = panel * PANEL_WIDTH + lane, first = (int64_t)blockIdx.y * LINEAR_ROWS;
	const bool real = panel * PANEL_WIDTH < p.rows;
	const uint32_t *w = p.units + (real ? panel : 0) * p.n_units * PANEL_WIDTH + lane;
	sum_type sum[LINEAR_ROWS] = { 0 };

	for (int64_t from = 0; from < p.n_units; from += LINEAR_UNITS) {
		const int many = (int)min((int64_t)LINEAR_UNITS, p.n_units - from);

		__syncthreads();
		for (int i = threadIdx.x; i < LINEAR_ROWS * LINEAR_UNITS; i += LINEAR_WARPS * 32) {
			int r = i / LINEAR_UNITS, u = i % LINEAR_UNITS;

			x[r][u] = first + r < out.rows && u < many
					  ? units[(first + r) * p.n_units + from + u]
					  : 0;
		}
		__syncthreads();
#pragma unroll 4
		for (int u = 0; u < many; u++) {
			uint32_t weight = w[(from + u) * PANEL_WIDTH];

#pragma unroll
			for (int r = 0; r < LINEAR_ROWS; r++)
				multiply_unit<TYPE>(&sum[r], x[r][u], weight);
		}
	}
	if (n >= out.cols)
		return;
#pragma unroll
	for (int r = 0; r < LINEAR_ROWS; r++) {
		float y = (float)sum[r];

		if (first + r >= out.rows)
			break;
		if (TYPE == DTYPE_PACKED_INT8)
			y *= scales[first + r] * p.scales[n];
		y += how.bias ? how.bias[n] : 0;
		tensor_store1(out, first + r, n, how.relu ? fmaxf(y, 0) : y);
	}
}

static void linear_packed(struct dev *d, struct tensor out, struct tensor a, struct tensor packed,
			  struct linear_how how)
{
	const struct panels p = panels_of(packed);
	const dim3 grid((unsigned)CEIL_DIV(panel_count(packed), LINEAR_WARPS),
			(unsigned)CEIL_DIV(out.rows, LINEAR_ROWS));
	uint32_t *units;
	float *scales;

	assert(p.cols == a.cols && p.rows >= out.cols);
	if (!out.rows)
		return;
	units = (uint32_t *)cuda_get_scratch(d, CUDA_SCRATCH_A, (size_t)a.rows,
					     (size_t)(p.n_units + 1) * sizeof(*units));
	if (!units)
		return;
	scales = (float *)(void *)(units + a.rows * p.n_units);
	LAUNCH_PACKED(d, packed.dtype, make_input, (unsigned)CEIL_DIV(a.rows, 4), 128, 0, units,
		      scales, a, p.n_units);
	LAUNCH_PACKED(d, packed.dtype, linear_rows, grid, LINEAR_WARPS * 32, 0, out,
		      (const uint32_t *)units, (const float *)scales, p, how);
}

extern "C" void cuda_linear(struct dev *d, struct tensor out, struct tensor a, struct tensor packed,
			    const float *bias, bool relu)
{
	if (tensor_is_packed(packed))
		linear_packed(d, out, a, packed, { bias, relu });
	else
		multiply_matrices(d,
				  { out, a, packed, { false, true, false }, bias, NULL, relu, 0 });
}

extern "C" void cuda_linear_top_k(struct dev *d, float *values, int32_t *ids, struct tensor a,
				  struct tensor packed, const float *bias, int64_t n_real,
				  int32_t k)
{
	/* As many rows at a time as have 160 MB of logits. With parts that stay in the L2 cache (24 MB)
	   1,024 rows took 254 us on an H200 instead of 156: top_k had too few blocks. */
	const int64_t most = (160 << 20) / (int64_t)sizeof(float) / packed.rows,
		      rows = MIN(a.rows, MAX(most, 1));
	struct tensor logits = { NULL, rows, packed.rows, CEIL_DIV(packed.rows, 8) * 8, DTYPE_F32 };

	logits.data = cuda_get_scratch(d, CUDA_SCRATCH_OUT, (size_t)rows,
				       (size_t)logits.stride * sizeof(float));
	for (int64_t first = 0; first < a.rows && logits.data; first += rows) {
		int64_t n = MIN(rows, a.rows - first);

		struct tensor part = tensor_rows(logits, 0, n);

		cuda_linear(d, part, tensor_rows(a, first, n), packed, bias, false);
		cuda_top_k(d, values + first * k, ids + first * k, part, n_real, k);
	}
}
