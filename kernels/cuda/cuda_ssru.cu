/*
 * cuda_ssru.cu - the simpler simple recurrent unit. Formulas: ref_ssru.c.
 *
 * Columns are independent of each other, rows of a sentence are not: a thread owns a column of a sentence and walks over its
 * rows, forward from the first, backward from the last. The 32 threads of a warp read 32 neighbouring columns. Only the
 * state depends on the row before, so a thread loads the inputs of ROWS_AHEAD rows at one time.
 *
 *	ssru		grid (sentences, columns / THREADS)
 *	ssru_grad	grid (parts, columns / THREADS); a thread sums dbias over all rows of its part, which has one
 *			sentence or more: at most MAX_PARTS parts, added in order
 *	ssru_step	a thread for eight columns of a row
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>

#define THREADS	   128
#define ROWS_AHEAD 8
#define MAX_PARTS  1024

struct ssru_work {
	struct tensor out, state, z, gate; /* z, gate: the halves of x */
	const float *bias;
	const int32_t *start;
	/* ssru_grad */
	struct tensor dz, dgate, dout;
	float *parts; /* (parts, cols) */
	int64_t sentences, sentences_per_part;
};

/* One element. For one type of all tensors without a branch, so that loads of several rows are under way together. */
template <enum access A>
static __device__ __forceinline__ float ssru_load(struct tensor t, int64_t row, int64_t col)
{
	t.dtype = is_bf16<A>(t) ? DTYPE_BF16 : DTYPE_F32;
	return tensor_load1(t, row, col);
}

template <enum access A>
static __device__ __forceinline__ void ssru_store(struct tensor t, int64_t row, int64_t col,
						  float x)
{
	t.dtype = is_bf16<A>(t) ? DTYPE_BF16 : DTYPE_F32;
	tensor_store1(t, row, col, x);
}

template <enum access A>
static __global__ void __launch_bounds__(THREADS) ssru_columns(struct ssru_work w)
{
	kernel_begin();
	const int64_t col = (int64_t)blockIdx.y * THREADS + threadIdx.x,
		      last = w.start[blockIdx.x + 1];
	float now = 0, bias;

	if (col >= w.out.cols)
		return;
	bias = w.bias[col];
	for (int64_t row = w.start[blockIdx.x]; row < last; row += ROWS_AHEAD) {
		float z[ROWS_AHEAD], f[ROWS_AHEAD];

#pragma unroll
		for (int r = 0; r < ROWS_AHEAD; r++) {
			z[r] = ssru_load<A>(w.z, min(row + r, last - 1), col);
			f[r] = ssru_load<A>(w.gate, min(row + r, last - 1), col);
		}
#pragma unroll
		for (int r = 0; r < ROWS_AHEAD; r++) {
			if (row + r >= last)
				break;
			now = z[r] + sigmoid(f[r] + bias) * (now - z[r]);
			ssru_store<ACCESS_F32>(w.state, row + r, col, now);
			ssru_store<A>(w.out, row + r, col, fmaxf(now, 0));
		}
	}
}

extern "C" void cuda_ssru(struct dev *d, struct tensor out, struct tensor state, struct tensor x,
			  const float *bias, const int32_t *start, int32_t n, int32_t longest)
{
	struct ssru_work w = {};

	(void)longest;
	assert(x.cols == 2 * out.cols && state.dtype == DTYPE_F32);
	w.out = out;
	w.state = state;
	w.z = tensor_columns(x, 0, out.cols);
	w.gate = tensor_columns(x, out.cols, out.cols);
	w.bias = bias;
	w.start = start;
	if (n)
		LAUNCH_ACCESS(d, access_of(out, x), ssru_columns,
			      dim3((unsigned)n, (unsigned)CEIL_DIV(out.cols, THREADS)), THREADS, 0,
			      w);
}

/* The rows of a sentence, from the last one to the first; returns the sum of the gates' gradients. */
template <enum access A>
static __device__ __forceinline__ float ssru_sentence_grad(const struct ssru_work &w, int64_t first,
							   int64_t last, int64_t col, float bias)
{
	float later = 0, sum = 0; /* later: f_(t+1) s_(t+1) */

	for (int64_t row = last - 1; row >= first; row -= ROWS_AHEAD) {
		float z[ROWS_AHEAD], f[ROWS_AHEAD], g[ROWS_AHEAD], state[ROWS_AHEAD + 1];

#pragma unroll
		for (int r = 0; r < ROWS_AHEAD; r++) {
			const int64_t t = max(row - r, first);

			z[r] = ssru_load<A>(w.z, t, col);
			f[r] = ssru_load<A>(w.gate, t, col);
			g[r] = ssru_load<A>(w.dout, t, col);
			state[r] = ssru_load<ACCESS_F32>(w.state, t, col);
		}
		state[ROWS_AHEAD] =
			ssru_load<ACCESS_F32>(w.state, max(row - ROWS_AHEAD, first), col);
#pragma unroll
		for (int r = 0; r < ROWS_AHEAD; r++) {
			const int64_t t = row - r;
			const float gate = sigmoid(f[r] + bias),
				    before = t > first ? state[r + 1] : 0,
				    s = later + (state[r] > 0 ? g[r] : 0),
				    dgate = gate * (1 - gate) * (before - z[r]) * s;

			if (t < first)
				break;
			later = gate * s;
			ssru_store<A>(w.dz, t, col, (1 - gate) * s);
			ssru_store<A>(w.dgate, t, col, dgate);
			sum += is_bf16<A>(w.dgate) ? bf16_rounded(dgate) : dgate;
		}
	}
	return sum;
}

template <enum access A>
static __global__ void __launch_bounds__(THREADS) ssru_grad_columns(struct ssru_work w)
{
	kernel_begin();
	const int64_t col = (int64_t)blockIdx.y * THREADS + threadIdx.x,
		      from = blockIdx.x * w.sentences_per_part,
		      end = min(from + w.sentences_per_part, w.sentences);
	float sum = 0;

	if (col >= w.dout.cols)
		return;
	for (int64_t s = from; s < end; s++)
		sum += ssru_sentence_grad<A>(w, w.start[s], w.start[s + 1], col, w.bias[col]);
	w.parts[blockIdx.x * w.dout.cols + col] = sum;
}

extern "C" void cuda_ssru_grad(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
			       struct tensor state, struct tensor x, const float *bias,
			       const int32_t *start, int32_t n, int32_t longest)
{
	const int64_t cols = dout.cols, per_part = MAX(CEIL_DIV(n, MAX_PARTS), 1),
		      n_parts = CEIL_DIV(n, per_part);
	struct ssru_work w = {};

	(void)longest;
	assert(x.cols == 2 * cols && dx.cols == 2 * cols && state.dtype == DTYPE_F32);
	w.state = state;
	w.z = tensor_columns(x, 0, cols);
	w.gate = tensor_columns(x, cols, cols);
	w.bias = bias;
	w.start = start;
	w.dz = tensor_columns(dx, 0, cols);
	w.dgate = tensor_columns(dx, cols, cols);
	w.dout = dout;
	w.sentences = n;
	w.sentences_per_part = per_part;
	w.parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS, (size_t)(n_parts * cols),
					    sizeof(*w.parts));
	if (!w.parts || !n)
		return;
	LAUNCH_ACCESS(d, access_of(dx, dout, x), ssru_grad_columns,
		      dim3((unsigned)n_parts, (unsigned)CEIL_DIV(cols, THREADS)), THREADS, 0, w);
	cuda_add_parts(d, dbias, w.parts, n_parts, cols);
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct ssru_step_work {
	struct tensor out, states, z, gate;
	const float *bias;
	const int32_t *from, *to;
};

template <enum access A> static __global__ void ssru_step_rows(struct ssru_step_work w)
{
	kernel_begin();
	const struct eight at =
		eight_at((int64_t)blockIdx.x * THREADS + threadIdx.x, (w.out.cols + 7) / 8);
	float now[8] = { 0 }, z[8], f[8], bias[8];
	int32_t from;

	if (at.row >= w.out.rows)
		return;
	from = w.from[at.row];
	if (from >= 0)
		tensor_load8<A>(now, w.states, from, at.col);
	tensor_load8<A>(z, w.z, at.row, at.col);
	tensor_load8<A>(f, w.gate, at.row, at.col);
	tensor_load8<A>(bias, w.bias, at.col, w.out.cols);
#pragma unroll
	for (int k = 0; k < 8; k++)
		now[k] = z[k] + sigmoid(f[k] + bias[k]) * (now[k] - z[k]);
	tensor_store8<A>(w.states, w.to[at.row], at.col, now);
#pragma unroll
	for (int k = 0; k < 8; k++)
		now[k] = fmaxf(now[k], 0);
	tensor_store8<A>(w.out, at.row, at.col, now);
}

extern "C" void cuda_ssru_step(struct dev *d, struct tensor out, struct tensor states,
			       struct tensor x, const float *bias, const int32_t *from,
			       const int32_t *to)
{
	const int64_t cols = out.cols;
	const struct ssru_step_work w = {
		out,  states, tensor_columns(x, 0, cols), tensor_columns(x, cols, cols), bias,
		from, to
	};

	assert(x.cols == 2 * cols && states.cols == cols);
	if (out.rows)
		LAUNCH_ACCESS(d, access_of(out, states, x, bias), ssru_step_rows,
			      (unsigned)CEIL_DIV(out.rows * CEIL_DIV(cols, 8), THREADS), THREADS, 0,
			      w);
}
