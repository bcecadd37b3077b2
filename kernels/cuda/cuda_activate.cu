/*
 * cuda_activate.cu - activations, gates, sums of columns, rotary positions. Formulas: ref_activate.c.
 *
 * An activation is a row of activations.def and two functions here, act_NAME() and slope_NAME(), its derivative. Kernels
 * have the activation as a template argument, and the gate as a uniform branch.
 *
 *	activate	a thread for eight columns of out
 *	activate_grad	as relu_dropout_grad: block 32 x 8 threads, 256 columns x PART_ROWS rows; the sums of both halves
 *			stay in registers
 *	column_sums	the same block, without anything but sums; fewer parts if there are many columns
 *	rotate		a thread for eight pairs of columns
 *
 * Sums have two steps, as in cuda_point.cu, so bits repeat.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>

#define THREADS 256

/* ---- the activations ---------------------------------------------------------------------- */

static __device__ __forceinline__ float act_relu(float x)
{
	return x > 0 ? x : 0;
}

static __device__ __forceinline__ float slope_relu(float x)
{
	return x > 0 ? 1 : 0;
}

/* The area of the normal distribution below x. */
static __device__ __forceinline__ float normal_area(float x)
{
	return 0.5f + 0.5f * erff(x * 0.70710678118654752440f);
}

static __device__ __forceinline__ float act_gelu(float x)
{
	return x * normal_area(x);
}

static __device__ __forceinline__ float slope_gelu(float x)
{
	const float density = 0.39894228040143267794f * exp_2(-0.5f * LOG2E * x * x);

	return normal_area(x) + x * density;
}

/*
 * The others are x sigmoid(z(x)). For gelu_tanh, 0.5 (1 + tanh(u)) = sigmoid(2u). z_slope: the derivative of z.
 */
static __device__ __forceinline__ float slope_of_sigmoid(float x, float z, float z_slope)
{
	const float s = sigmoid(z);

	return s + x * s * (1 - s) * z_slope;
}

#define GELU_CUBE   0.044715f
#define GELU_FACTOR 1.59576912160573071176f /* 2 sqrt(2 / pi) */

static __device__ __forceinline__ float act_gelu_tanh(float x)
{
	return x * sigmoid(GELU_FACTOR * x * (1 + GELU_CUBE * x * x));
}

static __device__ __forceinline__ float slope_gelu_tanh(float x)
{
	return slope_of_sigmoid(x, GELU_FACTOR * x * (1 + GELU_CUBE * x * x),
				GELU_FACTOR * (1 + 3 * GELU_CUBE * x * x));
}

#define GELU_SIGMOID 1.702f

static __device__ __forceinline__ float act_gelu_sigmoid(float x)
{
	return x * sigmoid(GELU_SIGMOID * x);
}

static __device__ __forceinline__ float slope_gelu_sigmoid(float x)
{
	return slope_of_sigmoid(x, GELU_SIGMOID * x, GELU_SIGMOID);
}

static __device__ __forceinline__ float act_silu(float x)
{
	return x * sigmoid(x);
}

static __device__ __forceinline__ float slope_silu(float x)
{
	return slope_of_sigmoid(x, x, 1);
}

template <enum activation ACT> static __device__ __forceinline__ float activation_of(float x)
{
#define ACTIVATION(name, text)                                                                     \
	if constexpr (ACT == ACTIVATION_##name)                                                    \
		return act_##name(x);
#include "share/base/activations.def"
}

template <enum activation ACT> static __device__ __forceinline__ float slope_of(float x)
{
#define ACTIVATION(name, text)                                                                     \
	if constexpr (ACT == ACTIVATION_##name)                                                    \
		return slope_##name(x);
#include "share/base/activations.def"
}

/* ---- forward ------------------------------------------------------------------------------- */

struct activate_work {
	struct tensor out, x, gate;    /* gate: the second half of the columns; data NULL: none */
	const float *bias, *gate_bias; /* of x, of gate; or NULL */
	struct drop drop;
};

/* v = eight columns of x + bias. */
template <enum access A>
static __device__ __forceinline__ void load_biased(float v[8], struct tensor x, const float *bias,
						   int64_t row, int64_t col)
{
	float b[8];

	tensor_load8<A>(v, x, row, col);
	if (!bias)
		return;
	tensor_load8<A>(b, bias, col, x.cols);
#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] += b[k];
}

template <enum access A, enum activation ACT>
static __global__ void activate_rows(struct activate_work w)
{
	kernel_begin();
	const struct eight at =
		eight_at((int64_t)blockIdx.x * THREADS + threadIdx.x, (w.out.cols + 7) / 8);
	float v[8], g[8], m[8];

	if (at.row >= w.out.rows)
		return;
	w.drop = drop_now(w.drop);
	load_biased<A>(v, w.x, w.bias, at.row, at.col);
	dropout_factors8<A>(m, w.drop, at.row, at.col, w.out.cols);
#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] = activation_of<ACT>(v[k]) * m[k];
	if (w.gate.data) {
		load_biased<A>(g, w.gate, w.gate_bias, at.row, at.col);
#pragma unroll
		for (int k = 0; k < 8; k++)
			v[k] *= g[k];
	}
	tensor_store8<A>(w.out, at.row, at.col, v);
}

template <enum activation ACT>
static void start_activate(struct dev *d, enum access access, const struct activate_work &w)
{
	LAUNCH_ACCESS_WITH(d, access, activate_rows, ACT,
			   (unsigned)CEIL_DIV(w.out.rows * CEIL_DIV(w.out.cols, 8), THREADS),
			   THREADS, 0, w);
}

/* The second half of the columns of x, if x is that of a gate and cols its half; otherwise no data. */
static struct tensor gate_of(struct tensor x, int64_t cols)
{
	struct tensor gate = tensor_columns(x, x.cols - cols, cols);

	assert(x.cols == cols || x.cols == 2 * cols);
	if (x.cols == cols)
		gate.data = NULL;
	return gate;
}

extern "C" void cuda_activate(struct dev *d, struct tensor out, struct tensor x, const float *bias,
			      enum activation act, struct dropout drop)
{
	const int64_t cols = out.cols;
	const struct activate_work w = { out,  tensor_columns(x, 0, cols), gate_of(x, cols),
					 bias, bias ? bias + cols : NULL,  drop_of(drop) };
	const enum access access = access_of(out, x, bias);

	if (!out.rows)
		return;
	switch (act) {
#define ACTIVATION(name, text)                                                                     \
	case ACTIVATION_##name:                                                                    \
		start_activate<ACTIVATION_##name>(d, access, w);                                   \
		break;
#include "share/base/activations.def"
	case N_ACTIVATIONS:
		break;
	}
}

/* ---- backward ------------------------------------------------------------------------------ */

struct activate_grad_work {
	struct tensor dx, dgate, dout, x, gate; /* dgate, gate: as in activate_work */
	const float *bias, *gate_bias;
	struct drop drop;
	float *parts; /* (parts, columns of x and gate); NULL: no sums wanted */
};

/* sum += v as it is stored in t. */
template <enum access A>
static __device__ __forceinline__ void add_stored(float sum[8], struct tensor t, const float v[8])
{
#pragma unroll
	for (int k = 0; k < 8; k++)
		sum[k] += is_bf16<A>(t) ? bf16_rounded(v[k]) : v[k];
}

/* Eight columns of dx and dgate, which are added to sum. */
template <enum access A, enum activation ACT>
static __device__ __forceinline__ void
activate_grad_eight(float sum[2][8], const struct activate_grad_work &w, int64_t row, int64_t col)
{
	float d[8], x[8], g[8], m[8];

	tensor_load8<A>(d, w.dout, row, col);
	load_biased<A>(x, w.x, w.bias, row, col);
	dropout_factors8<A>(m, w.drop, row, col, w.dout.cols);
#pragma unroll
	for (int k = 0; k < 8; k++)
		d[k] *= m[k];
	if (w.gate.data) {
		load_biased<A>(g, w.gate, w.gate_bias, row, col);
#pragma unroll
		for (int k = 0; k < 8; k++) {
			m[k] = d[k] * activation_of<ACT>(x[k]);
			d[k] *= g[k];
		}
		tensor_store8<A>(w.dgate, row, col, m);
		add_stored<A>(sum[1], w.dgate, m);
	}
#pragma unroll
	for (int k = 0; k < 8; k++)
		d[k] *= slope_of<ACT>(x[k]);
	tensor_store8<A>(w.dx, row, col, d);
	add_stored<A>(sum[0], w.dx, d);
}

/* Without bounds it takes up to 128 registers, so only 16 warps of a multiprocessor would be resident instead of 24. */
template <enum access A, enum activation ACT>
static __global__ void __launch_bounds__(THREADS, A == ACCESS_ANY ? 2 : 3)
	activate_grad_rows(struct activate_grad_work w)
{
	kernel_begin();
	const int64_t cols = w.dout.cols, halves = w.gate.data ? 2 : 1,
		      col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * 8;
	const int64_t first = (int64_t)blockIdx.y * PART_ROWS,
		      last = min(first + PART_ROWS, w.dout.rows);
	float *part = w.parts + blockIdx.y * halves * cols;
	float sum[2][8] = {};

	w.drop = drop_now(w.drop);
	for (int64_t row = first + threadIdx.y; row < last && col < cols; row += 8)
		activate_grad_eight<A, ACT>(sum, w, row, col);
	if (!w.parts)
		return;
	store_column_sums(part, cols, col, sum[0]);
	if (halves == 1)
		return;
	__syncthreads(); /* all threads have read the first sums */
	store_column_sums(part + cols, cols, col, sum[1]);
}

template <enum activation ACT>
static void start_activate_grad(struct dev *d, enum access access,
				const struct activate_grad_work &w)
{
	LAUNCH_ACCESS_WITH(d, access, activate_grad_rows, ACT,
			   dim3((unsigned)CEIL_DIV(w.dout.cols, 256),
				(unsigned)CEIL_DIV(w.dout.rows, PART_ROWS)),
			   dim3(32, 8), 0, w);
}

extern "C" void cuda_activate_grad(struct dev *d, struct tensor dx, float *dbias,
				   struct tensor dout, struct tensor x, const float *bias,
				   enum activation act, struct dropout drop)
{
	const int64_t cols = dout.cols, n_parts = CEIL_DIV(dout.rows, PART_ROWS);
	struct activate_grad_work w = { tensor_columns(dx, 0, cols), gate_of(dx, cols), dout,
					tensor_columns(x, 0, cols),  gate_of(x, cols),	bias,
					bias ? bias + cols : NULL,   drop_of(drop),	NULL };
	const enum access access = access_of(dx, dout, x, bias);

	if (dbias)
		w.parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS,
						    (size_t)(n_parts * x.cols), sizeof(*w.parts));
	if (!dout.rows || (dbias && !w.parts))
		return;
	switch (act) {
#define ACTIVATION(name, text)                                                                     \
	case ACTIVATION_##name:                                                                    \
		start_activate_grad<ACTIVATION_##name>(d, access, w);                              \
		break;
#include "share/base/activations.def"
	case N_ACTIVATIONS:
		break;
	}
	if (dbias)
		cuda_add_parts(d, dbias, w.parts, n_parts, x.cols);
}

/* ---- sums of columns ------------------------------------------------------------------------ */

template <enum access A>
static __global__ void column_sums(float *parts, struct tensor x, int64_t rows_per_part)
{
	kernel_begin();
	const int64_t col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * 8;
	const int64_t first = blockIdx.y * rows_per_part, last = min(first + rows_per_part, x.rows);
	float sum[8] = { 0 };

#pragma unroll 4
	for (int64_t row = first + threadIdx.y; row < last && col < x.cols; row += 8) {
		float v[8];

		tensor_load8<A>(v, x, row, col);
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum[k] += v[k];
	}
	store_column_sums(parts + blockIdx.y * x.cols, x.cols, col, sum);
}

extern "C" void cuda_column_sums(struct dev *d, float *sums, struct tensor x)
{
	/* Logits have many columns, which give enough blocks: few parts, so that they fit the scratch memory. */
	const int64_t most = MAX(CUDA_COLUMN_PARTS / x.cols, (int64_t)1),
		      rows_per_part = MAX(CEIL_DIV(x.rows, most), (int64_t)PART_ROWS),
		      n_parts = CEIL_DIV(x.rows, rows_per_part);
	float *parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS, (size_t)(n_parts * x.cols),
						 sizeof(*parts));

	if (!parts || !x.rows)
		return;
	LAUNCH_ACCESS(d, access_of(x), column_sums,
		      dim3((unsigned)CEIL_DIV(x.cols, 256), (unsigned)n_parts), dim3(32, 8), 0,
		      parts, x, rows_per_part);
	cuda_add_parts(d, sums, parts, n_parts, x.cols);
}

/* ---- rotary positions ------------------------------------------------------------------------ */

struct rotate_work {
	struct tensor x, waves;
	const int32_t *positions;
	int32_t heads;
	float direction; /* 1, or -1: back */
};

/* Half a head is a "head" of twice as many; eight of its columns turn with those of the other half. */
template <enum access A> static __global__ void rotate_pairs(struct rotate_work w)
{
	kernel_begin();
	const int64_t eights = (w.waves.cols / 2 + 7) / 8;
	const struct eight at =
		eight_at((int64_t)blockIdx.x * THREADS + threadIdx.x, w.heads * eights);
	const int64_t head = at.col / 8 / eights, col = at.col - head * eights * 8;
	const struct tensor low = head_of(w.x, (int32_t)(2 * head), 2 * w.heads),
			    high = head_of(w.x, (int32_t)(2 * head + 1), 2 * w.heads);
	float a[8], b[8], cosine[8], sine[8];

	if (at.row >= w.x.rows)
		return;
	tensor_load8<A>(cosine, head_of(w.waves, 0, 2), w.positions[at.row], col);
	tensor_load8<A>(sine, head_of(w.waves, 1, 2), w.positions[at.row], col);
	tensor_load8<A>(a, low, at.row, col);
	tensor_load8<A>(b, high, at.row, col);
#pragma unroll
	for (int k = 0; k < 8; k++) {
		const float turned = a[k] * cosine[k] - w.direction * b[k] * sine[k];

		b[k] = b[k] * cosine[k] + w.direction * a[k] * sine[k];
		a[k] = turned;
	}
	tensor_store8<A>(low, at.row, col, a);
	tensor_store8<A>(high, at.row, col, b);
}

extern "C" void cuda_rotate(struct dev *d, struct tensor x, struct tensor waves,
			    const int32_t *positions, int32_t heads, bool back)
{
	const int64_t half = waves.cols / 2;
	const struct rotate_work w = { x, waves, positions, heads, back ? -1.0f : 1.0f };

	assert(x.cols == heads * waves.cols && waves.cols % 2 == 0);
	if (x.rows)
		LAUNCH_ACCESS(d, half % 8 ? ACCESS_ANY : access_of(x, waves), rotate_pairs,
			      (unsigned)CEIL_DIV(x.rows * heads * CEIL_DIV(half, 8), THREADS),
			      THREADS, 0, w);
}
