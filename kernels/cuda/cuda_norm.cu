/*
 * cuda_norm.cu - layer and RMS normalisation, alone and fused with a residual connection. Formulas:
 * ref_norm.c.
 *
 * Forward, norm_warp_rows: a warp for each row, 8 rows a block. Lane l holds columns 8 l .. 8 l + 7
 * of every 256 columns in registers (up to 1024 columns), so the row is read once; mean and variance
 * are two warp sums. Wider rows are read three times (norm_wide_rows). add_norm computes the row
 * first: residual + dropout(branch + bias). out may be residual: a lane has read a column before it writes it.
 *
 * Backward has two kinds of sums: two averages over each row, and dscale, dshift, dbias over all
 * rows. norm_grad_rows: a thread owns eight columns and walks down the rows of its block, so the sums
 * over rows stay in registers; the averages over a row go through shared memory:
 *
 *			thread 0   thread 1   …		D / 8 threads
 *	rows 0, 1	 8 cols	    8 cols		-> averages of both rows: one barrier
 *	rows 2, 3	   |	      |
 *	   …		   v	      v
 *		      sums of the block -> parts (blocks, 3, D)
 *
 * Two rows at a time halve the number of barriers. norm_add_sums adds the parts in a fixed order, so
 * bits repeat. Rows with more than 2048 columns: norm_grad_wide (a warp for each row), then
 * norm_wide_sums (a thread for each column).
 *
 * NORM_RMS: the mean is 0, also in the gradient, where the first average is left out. NORM_NONE: copies and sums.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>

#define WARPS 8
#define BLOCK (WARPS * 32)

/* ---- forward ------------------------------------------------------------------------------ */

struct norm_work {
	struct tensor sum, out; /* sum: the rows to normalise; an output of add_norm */
	float *mean, *rstd;
	struct tensor residual, branch; /* add_norm: inputs of sum */
	const float *bias, *scale, *shift;
	float epsilon;
	struct drop drop;
};

/* v = eight columns of residual + dropout(branch + bias); stored in sum. */
template <enum access A>
static __device__ __forceinline__ void add_branch(float v[8], const struct norm_work &w,
						  int64_t row, int64_t col)
{
	float b[8], m[8], bias[8] = { 0 };

	tensor_load8<A>(v, w.residual, row, col);
	tensor_load8<A>(b, w.branch, row, col);
	if (w.bias)
		tensor_load8<A>(bias, w.bias, col, w.sum.cols);
	dropout_factors8<A>(m, w.drop, row, col, w.sum.cols);
#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] += (b[i] + bias[i]) * m[i];
	tensor_store8<A>(w.sum, row, col, v);
	if (is_bf16<A>(w.sum))
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = bf16_rounded(v[i]);
}

/* The sum of the first n of eight columns; below: the sum of their squares around the mean. */
static __device__ __forceinline__ float sum_eight(const float v[8], int64_t n)
{
	float total = 0;

#pragma unroll
	for (int i = 0; i < 8; i++)
		total += i < n ? v[i] : 0;
	return total;
}

static __device__ __forceinline__ float squares_eight(const float v[8], int64_t n, float mean)
{
	float total = 0;

#pragma unroll
	for (int i = 0; i < 8; i++)
		total += i < n ? (v[i] - mean) * (v[i] - mean) : 0;
	return total;
}

template <enum access A, bool RMS>
static __device__ __forceinline__ void norm_eight(float v[8], const struct norm_work &w,
						  int64_t row, int64_t col, float mean, float rstd)
{
	float scale[8], shift[8] = { 0 };

	tensor_load8<A>(scale, w.scale, col, w.sum.cols);
	if (!RMS)
		tensor_load8<A>(shift, w.shift, col, w.sum.cols);
#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = (v[i] - mean) * rstd * scale[i] + shift[i];
	tensor_store8<A>(w.out, row, col, v);
}

/* Rows of at most KEPT * 256 columns, held in registers. */
template <enum access A, int KEPT, bool ADD, bool RMS>
static __global__ void norm_warp_rows(struct norm_work w)
{
	kernel_begin();
	const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32, cols = w.sum.cols;
	const int64_t first = threadIdx.x % 32 * 8;
	const float width = (float)cols;
	float v[KEPT][8], total = 0, squares = 0, mean, rstd;

	if (row >= w.sum.rows)
		return;
	if (ADD)
		w.drop = drop_now(w.drop);
#pragma unroll
	for (int e = 0; e < KEPT; e++) {
		const int64_t col = first + e * 256;

		if (col >= cols)
			continue;
		if (ADD)
			add_branch<A>(v[e], w, row, col);
		else
			tensor_load8<A>(v[e], w.sum, row, col);
		total += sum_eight(v[e], cols - col);
	}
	mean = RMS ? 0 : warp_sum(total) / width;
#pragma unroll
	for (int e = 0; e < KEPT; e++)
		if (first + e * 256 < cols)
			squares += squares_eight(v[e], cols - first - e * 256, mean);
	rstd = rsqrtf(warp_sum(squares) / width + w.epsilon);
#pragma unroll
	for (int e = 0; e < KEPT; e++)
		if (first + e * 256 < cols)
			norm_eight<A, RMS>(v[e], w, row, first + e * 256, mean, rstd);
	if (first == 0) {
		w.mean[row] = mean;
		w.rstd[row] = rstd;
	}
}

/* Rows of any width, read three times. */
template <enum access A, bool ADD, bool RMS>
static __global__ void norm_wide_rows(struct norm_work w)
{
	kernel_begin();
	const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32, cols = w.sum.cols;
	const int64_t first = threadIdx.x % 32 * 8;
	const float width = (float)cols;
	float v[8], total = 0, squares = 0, mean, rstd;

	if (row >= w.sum.rows)
		return;
	if (ADD)
		w.drop = drop_now(w.drop);
	for (int64_t col = first; col < cols; col += 256) {
		if (ADD)
			add_branch<A>(v, w, row, col);
		else
			tensor_load8<A>(v, w.sum, row, col);
		total += sum_eight(v, cols - col);
	}
	mean = RMS ? 0 : warp_sum(total) / width;
	for (int64_t col = first; col < cols; col += 256) {
		tensor_load8<A>(v, w.sum, row, col);
		squares += squares_eight(v, cols - col, mean);
	}
	rstd = rsqrtf(warp_sum(squares) / width + w.epsilon);
	for (int64_t col = first; col < cols; col += 256) {
		tensor_load8<A>(v, w.sum, row, col);
		norm_eight<A, RMS>(v, w, row, col, mean, rstd);
	}
	if (first == 0) {
		w.mean[row] = mean;
		w.rstd[row] = rstd;
	}
}

/* Of NORM_NONE: sum and out, a thread for eight columns. */
template <enum access A> static __global__ void add_branch_rows(struct norm_work w)
{
	kernel_begin();
	const struct eight at =
		eight_at((int64_t)blockIdx.x * BLOCK + threadIdx.x, (w.sum.cols + 7) / 8);
	float v[8];

	if (at.row >= w.sum.rows)
		return;
	w.drop = drop_now(w.drop);
	add_branch<A>(v, w, at.row, at.col);
	tensor_store8<A>(w.out, at.row, at.col, v);
}

template <enum access A, bool ADD, bool RMS>
static void launch_norm(struct dev *d, const struct norm_work &w)
{
	const unsigned grid = (unsigned)CEIL_DIV(w.sum.rows, WARPS);

	if (w.sum.cols <= 512)
		LAUNCH(d, (norm_warp_rows<A, 2, ADD, RMS>), grid, BLOCK, 0, w);
	else if (w.sum.cols <= 1024)
		LAUNCH(d, (norm_warp_rows<A, 4, ADD, RMS>), grid, BLOCK, 0, w);
	else
		LAUNCH(d, (norm_wide_rows<A, ADD, RMS>), grid, BLOCK, 0, w);
}

template <bool ADD, bool RMS>
static void start_norm(struct dev *d, enum access access, const struct norm_work &w)
{
	if (!w.sum.rows)
		return;
	switch (access) {
	case ACCESS_F32:
		launch_norm<ACCESS_F32, ADD, RMS>(d, w);
		break;
	case ACCESS_BF16:
		launch_norm<ACCESS_BF16, ADD, RMS>(d, w);
		break;
	case ACCESS_MIXED:
		launch_norm<ACCESS_MIXED, ADD, RMS>(d, w);
		break;
	default:
		launch_norm<ACCESS_ANY, ADD, RMS>(d, w);
	}
}

extern "C" void cuda_norm(struct dev *d, struct tensor out, float *mean, float *rstd,
			  struct tensor x, const float *scale, const float *shift,
			  struct norm_how how)
{
	const struct norm_work w = {
		x, out, mean, rstd, x, x, NULL, scale, shift, how.epsilon, {}
	};
	const enum access access = access_of(out, x, scale, shift);

	if (how.kind == NORM_NONE)
		cuda_copy(d, out, x);
	else if (how.kind == NORM_RMS)
		start_norm<false, true>(d, access, w);
	else
		start_norm<false, false>(d, access, w);
}

extern "C" void cuda_add_norm(struct dev *d, struct tensor sum, struct tensor out, float *mean,
			      float *rstd, struct tensor residual, struct tensor branch,
			      const float *bias, const float *scale, const float *shift,
			      struct norm_how how, struct dropout drop)
{
	const struct norm_work w = { sum,  out,	  mean,	 rstd,	      residual,	    branch,
				     bias, scale, shift, how.epsilon, drop_of(drop) };
	const enum access access = access_of(sum, out, residual, branch, bias, scale, shift);

	if (how.kind == NORM_RMS)
		start_norm<true, true>(d, access, w);
	else if (how.kind == NORM_LAYER)
		start_norm<true, false>(d, access, w);
	else if (sum.rows)
		LAUNCH_ACCESS(d, access, add_branch_rows,
			      (unsigned)CEIL_DIV(sum.rows * CEIL_DIV(sum.cols, 8), BLOCK), BLOCK, 0,
			      w);
}

/* ---- backward ------------------------------------------------------------------------------- */

/* Order of the sums over rows in a part: dscale, dshift, dbias. */
enum norm_sum { SUM_SCALE, SUM_SHIFT, SUM_BIAS, SUM_COUNT };

struct norm_grad_work {
	struct tensor dx, dout, x;
	const float *mean, *rstd, *scale;
	bool accumulate, is_rms;
	struct tensor dbranch; /* ADD only */
	struct drop drop;
	float *parts; /* (parts, SUM_COUNT, cols) */
	int64_t rows_per_part;
};

/* Eight columns of a row. */
struct grad_eight {
	float g[8], n[8]; /* dout; (x - mean) * rstd */
};

template <enum access A>
static __device__ __forceinline__ struct grad_eight
load_eight(const struct norm_grad_work &w, int64_t row, int64_t col, float mean, float rstd)
{
	struct grad_eight at;

	tensor_load8<A>(at.g, w.dout, row, col);
	tensor_load8<A>(at.n, w.x, row, col);
#pragma unroll
	for (int i = 0; i < 8; i++)
		at.n[i] = (at.n[i] - mean) * rstd;
	return at;
}

/* Eight columns of dx, from the two averages of the row; ADD: also of dbranch. */
template <enum access A, bool ADD>
static __device__ __forceinline__ void
finish_eight(float dbranch[8], const struct norm_grad_work &w, const struct grad_eight &at,
	     int64_t row, int64_t col, const float sum[2])
{
	const float rstd = w.rstd[row];
	float v[8] = { 0 }, scale[8];

	if (ADD || w.accumulate)
		tensor_load8<A>(v, w.dx, row, col);
	tensor_load8<A>(scale, w.scale, col, w.dx.cols);
#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] += rstd * (at.g[i] * scale[i] - sum[0] - at.n[i] * sum[1]);
	tensor_store8<A>(w.dx, row, col, v);
	if (!ADD)
		return;
	dropout_factors8<A>(dbranch, w.drop, row, col, w.dx.cols);
#pragma unroll
	for (int i = 0; i < 8; i++)
		dbranch[i] *= is_bf16<A>(w.dx) ? bf16_rounded(v[i]) : v[i];
	tensor_store8<A>(w.dbranch, row, col, dbranch);
}

/* sum += eight columns of g * scale, and of g * scale * n. */
template <enum access A>
static __device__ __forceinline__ void norm_eight_sums(float sum[2], const struct norm_grad_work &w,
						       const struct grad_eight &at, int64_t col)
{
	float scale[8];

	tensor_load8<A>(scale, w.scale, col, w.dx.cols);
#pragma unroll
	for (int i = 0; i < 8; i++) {
		sum[0] += at.g[i] * scale[i];
		sum[1] += at.g[i] * scale[i] * at.n[i];
	}
}

#define MAX_THREADS   256 /* threads of a block of norm_grad_rows: up to 2048 columns */
#define ROWS_PER_STEP 2	  /* rows of norm_grad_rows at one time */

/*
 * In place: the averages over the row of each sum, on every thread. One barrier suffices, because
 * shared memory is double-buffered: `turn` selects a half, and a half is written again only after
 * the barrier of the next call, when all threads have read it.
 */
static __device__ __forceinline__ void row_averages(float sum[ROWS_PER_STEP][2],
						    const struct norm_grad_work &w, int turn)
{
	SHARED(float, warps, [2][MAX_THREADS / 32][ROWS_PER_STEP * 2]);
	const int lane = threadIdx.x % 32, n_warps = blockDim.x / 32;

#pragma unroll
	for (int i = 0; i < ROWS_PER_STEP * 2; i++) {
		float total = warp_sum(sum[i / 2][i % 2]);

		if (lane == 0)
			warps[turn][threadIdx.x / 32][i] = total;
		sum[i / 2][i % 2] = 0;
	}
	__syncthreads();
	for (int k = 0; k < n_warps; k++)
#pragma unroll
		for (int i = 0; i < ROWS_PER_STEP * 2; i++)
			sum[i / 2][i % 2] += warps[turn][k][i];
#pragma unroll
	for (int i = 0; i < ROWS_PER_STEP * 2; i++)
		sum[i / 2][i % 2] /= (float)w.dx.cols;
	if (w.is_rms)
#pragma unroll
		for (int r = 0; r < ROWS_PER_STEP; r++)
			sum[r][0] = 0;
}

template <enum access A, bool ADD>
static __global__ void __launch_bounds__(MAX_THREADS) norm_grad_rows(struct norm_grad_work w)
{
	kernel_begin();
	const int64_t first = (int64_t)blockIdx.x * w.rows_per_part,
		      last = min(first + w.rows_per_part, w.dx.rows),
		      col = (int64_t)threadIdx.x * 8;
	const bool real = col < w.dx.cols;
	float *part = w.parts + (int64_t)blockIdx.x * SUM_COUNT * w.dx.cols;
	float total[SUM_COUNT][8] = {};
	int turn = 0;

	if (ADD)
		w.drop = drop_now(w.drop);
	for (int64_t row = first; row < last; row += ROWS_PER_STEP, turn = 1 - turn) {
		struct grad_eight at[ROWS_PER_STEP];
		float sum[ROWS_PER_STEP][2] = {}, b[8];

#pragma unroll
		for (int r = 0; r < ROWS_PER_STEP; r++) {
			if (!real || row + r >= last)
				continue;
			at[r] = load_eight<A>(w, row + r, col, w.mean[row + r], w.rstd[row + r]);
			norm_eight_sums<A>(sum[r], w, at[r], col);
		}
		row_averages(sum, w, turn);
#pragma unroll
		for (int r = 0; r < ROWS_PER_STEP; r++) {
			if (!real || row + r >= last)
				continue;
			finish_eight<A, ADD>(b, w, at[r], row + r, col, sum[r]);
#pragma unroll
			for (int i = 0; i < 8; i++) {
				total[SUM_SCALE][i] += at[r].g[i] * at[r].n[i];
				total[SUM_SHIFT][i] += at[r].g[i];
				total[SUM_BIAS][i] += ADD ? b[i] : 0;
			}
		}
	}
#pragma unroll
	for (int s = 0; s < (ADD ? SUM_COUNT : SUM_BIAS); s++)
		if (real)
			tensor_store8<A>(part + s * w.dx.cols, col, w.dx.cols, total[s]);
}

/* Rows of any width: dx (and dbranch), a warp for each row. */
template <enum access A, bool ADD> static __global__ void norm_grad_wide(struct norm_grad_work w)
{
	kernel_begin();
	const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32,
		      first = threadIdx.x % 32 * 8;
	float sum[2] = { 0, 0 }, b[8];

	if (row >= w.dx.rows)
		return;
	if (ADD)
		w.drop = drop_now(w.drop);
	for (int64_t col = first; col < w.dx.cols; col += 256)
		norm_eight_sums<A>(sum, w, load_eight<A>(w, row, col, w.mean[row], w.rstd[row]),
				   col);
	sum[0] = w.is_rms ? 0 : warp_sum(sum[0]) / (float)w.dx.cols;
	sum[1] = warp_sum(sum[1]) / (float)w.dx.cols;
	for (int64_t col = first; col < w.dx.cols; col += 256)
		finish_eight<A, ADD>(b, w, load_eight<A>(w, row, col, w.mean[row], w.rstd[row]),
				     row, col, sum);
}

/*
 * Rows of any width: the sums over rows, a thread for each column. dbias is summed from dx, because
 * dbranch may be rounded to bf16.
 */
template <bool ADD> static __global__ void norm_wide_sums(struct norm_grad_work w)
{
	kernel_begin();
	const int64_t col = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
	const int64_t first = (int64_t)blockIdx.y * w.rows_per_part,
		      last = min(first + w.rows_per_part, w.dx.rows);
	float *part = w.parts + (int64_t)blockIdx.y * SUM_COUNT * w.dx.cols;
	float total[SUM_COUNT] = {};

	if (col >= w.dx.cols)
		return;
	if (ADD)
		w.drop = drop_now(w.drop);
	for (int64_t row = first; row < last; row++) {
		const float g = tensor_load1(w.dout, row, col);

		total[SUM_SCALE] += g * (tensor_load1(w.x, row, col) - w.mean[row]) * w.rstd[row];
		total[SUM_SHIFT] += g;
		if (ADD && dropout_is_kept(w.drop.key, (uint64_t)(row * w.dx.cols + col),
					   w.drop.threshold))
			total[SUM_BIAS] += tensor_load1(w.dx, row, col) * w.drop.scale;
	}
	for (int s = 0; s < (ADD ? SUM_COUNT : SUM_BIAS); s++)
		part[s * w.dx.cols + col] = total[s];
}

struct norm_sums {
	float *scale, *shift, *bias; /* (cols) each, or NULL */
};

/* Add the parts of 32 columns of one sum: 32 x 32 threads, transposed in shared memory. */
static __global__ void norm_add_sums(struct norm_sums to, const float *parts, int n_parts,
				     int64_t cols)
{
	kernel_begin();
	SHARED(float, sums, [32][33]);
	const int64_t col = (int64_t)blockIdx.x * 32 + threadIdx.x;
	const float *from = parts + blockIdx.y * cols + col;
	float *out = blockIdx.y == SUM_SCALE   ? to.scale
		     : blockIdx.y == SUM_SHIFT ? to.shift
					       : to.bias;
	float sum = 0;

	if (!out)
		return;
#pragma unroll 8
	for (int p = threadIdx.y; p < n_parts; p += 32)
		sum += col < cols ? from[p * SUM_COUNT * cols] : 0;
	sums[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	sum = warp_sum(sums[threadIdx.x][threadIdx.y]);
	/* warp y holds the sum of column y */
	if (threadIdx.x == 0 && (int64_t)blockIdx.x * 32 + threadIdx.y < cols)
		out[(int64_t)blockIdx.x * 32 + threadIdx.y] += sum;
}

#define MAX_PARTS 1024

template <bool ADD>
static void start_norm_grad(struct dev *d, enum access access, struct norm_grad_work w,
			    const struct norm_sums &sums)
{
	const int64_t cols = w.dx.cols, rows = w.dx.rows;
	const unsigned threads = (unsigned)(CEIL_DIV(cols, 256) * 32);
	const dim3 all_sums((unsigned)CEIL_DIV(cols, 32), ADD ? SUM_COUNT : SUM_BIAS);
	int n_parts;

	w.rows_per_part = MAX(CEIL_DIV(rows, MAX_PARTS), (int64_t)8);
	n_parts = (int)CEIL_DIV(rows, w.rows_per_part);
	assert(n_parts <= MAX_PARTS);
	w.parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS,
					    (size_t)n_parts * (size_t)(SUM_COUNT * cols),
					    sizeof(*w.parts));
	if (!w.parts || !rows)
		return;
	if (threads <= MAX_THREADS) {
		LAUNCH_ACCESS_WITH(d, access, norm_grad_rows, ADD, (unsigned)n_parts, threads, 0,
				   w);
	} else {
		LAUNCH_ACCESS_WITH(d, access, norm_grad_wide, ADD, (unsigned)CEIL_DIV(rows, WARPS),
				   BLOCK, 0, w);
		LAUNCH(d, norm_wide_sums<ADD>,
		       dim3((unsigned)CEIL_DIV(cols, BLOCK), (unsigned)n_parts), BLOCK, 0, w);
	}
	LAUNCH(d, norm_add_sums, all_sums, dim3(32, 32), 0, sums, (const float *)w.parts, n_parts,
	       cols);
}

/* NORM_NONE with a branch: dsum += dout, dbranch = dropout'(dsum), and the parts of dbias. */
template <enum access A> static __global__ void pass_branch_grad(struct norm_grad_work w)
{
	kernel_begin();
	const int64_t col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * 8;
	const int64_t first = (int64_t)blockIdx.y * PART_ROWS,
		      last = min(first + PART_ROWS, w.dx.rows);
	float sum[8] = { 0 };

	w.drop = drop_now(w.drop);
	for (int64_t row = first + threadIdx.y; row < last && col < w.dx.cols; row += 8) {
		float v[8], g[8], m[8];

		tensor_load8<A>(v, w.dx, row, col);
		tensor_load8<A>(g, w.dout, row, col);
		dropout_factors8<A>(m, w.drop, row, col, w.dx.cols);
#pragma unroll
		for (int k = 0; k < 8; k++)
			v[k] += g[k];
		tensor_store8<A>(w.dx, row, col, v);
#pragma unroll
		for (int k = 0; k < 8; k++) {
			g[k] = m[k] * (is_bf16<A>(w.dx) ? bf16_rounded(v[k]) : v[k]);
			sum[k] += g[k];
		}
		tensor_store8<A>(w.dbranch, row, col, g);
	}
	if (w.parts)
		store_column_sums(w.parts + (int64_t)blockIdx.y * w.dx.cols, w.dx.cols, col, sum);
}

static void start_pass_branch(struct dev *d, struct norm_grad_work w, float *dbias)
{
	const int64_t cols = w.dx.cols, n_parts = CEIL_DIV(w.dx.rows, PART_ROWS);
	const dim3 grid((unsigned)CEIL_DIV(cols, 256), (unsigned)n_parts);

	if (dbias)
		w.parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS, (size_t)(n_parts * cols),
						    sizeof(*w.parts));
	if (!n_parts || (dbias && !w.parts))
		return;
	LAUNCH_ACCESS(d, access_of(w.dx, w.dbranch, w.dout), pass_branch_grad, grid, dim3(32, 8), 0,
		      w);
	if (dbias)
		cuda_add_parts(d, dbias, w.parts, n_parts, cols);
}

extern "C" void cuda_norm_grad(struct dev *d, struct tensor dx, float *dscale, float *dshift,
			       struct tensor dout, struct tensor x, const float *mean,
			       const float *rstd, const float *scale, struct norm_how how,
			       bool accumulate)
{
	const struct norm_grad_work w = { dx,	dout,  x,	   mean,
					  rstd, scale, accumulate, how.kind == NORM_RMS,
					  dx,	{},    NULL,	   0 };
	const struct norm_sums sums = { dscale, dshift, NULL };

	if (how.kind != NORM_NONE)
		start_norm_grad<false>(d, access_of(dx, dout, x, scale), w, sums);
	else if (accumulate)
		cuda_add(d, dx, dout);
	else
		cuda_copy(d, dx, dout);
}

extern "C" void cuda_add_norm_grad(struct dev *d, struct tensor dsum, struct tensor dbranch,
				   float *dbias, float *dscale, float *dshift, struct tensor dout,
				   struct tensor sum, const float *mean, const float *rstd,
				   const float *scale, struct norm_how how, struct dropout drop)
{
	const struct norm_grad_work w = { dsum,	   dout,	  sum,	mean,
					  rstd,	   scale,	  true, how.kind == NORM_RMS,
					  dbranch, drop_of(drop), NULL, 0 };
	const struct norm_sums sums = { dscale, dshift, dbias };

	if (how.kind == NORM_NONE)
		start_pass_branch(d, w, dbias);
	else
		start_norm_grad<true>(d, access_of(dsum, dbranch, dout, sum, scale), w, sums);
}
