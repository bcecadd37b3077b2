/*
 * cpu_matmul_small.c - matrix products with few rows, without packing.
 *
 *	out (M, N) = or += a (M, K) b (N, K)^T,  M <= 16, float
 *
 * The blocked product of cpu_gemm.c copies both inputs into panels first. With few rows, as in a
 * step of decoding, that copy costs more than the product. Weights stored as (outputs, inputs) can
 * be read in place: each element of the result is the inner product of two contiguous rows.
 *
 * Division of work: a thread takes COL_BLOCK columns of out; it computes tiles of FEW_ROWS x FEW_COLS
 * inner products. The 16 sums of a tile are 16 vectors in registers, over k; each loaded vector of
 * a or b serves four multiplications. A row of b is read from memory once and then, for the next
 * four rows of a, from the L1 cache. The lanes are added at the end.
 *
 * One thread computes each element, in the order of k, so the bits do not depend on threads.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_vec.h"

#define FEW_ROWS  4
#define FEW_COLS  4
#define COL_BLOCK 16 /* columns of a part */
#define MAX_ROWS  16 /* with more rows packing pays */

/* sums = rows x FEW_COLS inner products of n_k elements; rows is a constant after inlining. */
VEC_INLINE void inner_products(float *sums, const float *const *a, const float *const *b,
			       int64_t n_k, const int rows)
{
	vec sum[FEW_ROWS * FEW_COLS];
	int64_t k;

	VEC_UNROLL
	for (int i = 0; i < rows * FEW_COLS; i++)
		sum[i] = vec_set(0);
	for (k = 0; k + VEC_LANES <= n_k; k += VEC_LANES) {
		vec y[FEW_COLS];

		VEC_UNROLL
		for (int j = 0; j < FEW_COLS; j++)
			y[j] = vec_load(b[j] + k);
		VEC_UNROLL
		for (int i = 0; i < rows; i++) {
			vec x = vec_load(a[i] + k);

			VEC_UNROLL
			for (int j = 0; j < FEW_COLS; j++)
				sum[i * FEW_COLS + j] += x * y[j];
		}
	}
	if (k < n_k)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < FEW_COLS; j++)
				sum[i * FEW_COLS + j] += vec_load_part(a[i] + k, n_k - k, 0) *
							 vec_load_part(b[j] + k, n_k - k, 0);
	VEC_UNROLL
	for (int i = 0; i < rows * FEW_COLS; i++)
		sums[i] = vec_sum(sum[i]);
}

static void small_matmul_rows(float *sums, const float *const *a, const float *const *b,
			      int64_t n_k, int64_t rows)
{
	switch (rows) {
	case 1:
		inner_products(sums, a, b, n_k, 1);
		break;
	case 2:
		inner_products(sums, a, b, n_k, 2);
		break;
	case 3:
		inner_products(sums, a, b, n_k, 3);
		break;
	default:
		inner_products(sums, a, b, n_k, 4);
	}
}

/* Columns [col, col + n_cols) of out, all rows. */
static void small_matmul_columns(struct tensor out, struct tensor a, struct tensor b, int64_t col,
				 int64_t n_cols, bool accumulate)
{
	const float *from_a[FEW_ROWS], *from_b[FEW_COLS];
	float sums[FEW_ROWS * FEW_COLS];

	assert(n_cols > 0 && n_cols <= FEW_COLS);
	for (int j = 0; j < FEW_COLS; j++) /* beyond the edge repeat the last row; not stored */
		from_b[j] = cpu_row(b, col + MIN(j, n_cols - 1));
	for (int64_t row = 0; row < out.rows; row += FEW_ROWS) {
		int64_t n_rows = MIN(FEW_ROWS, out.rows - row);

		for (int64_t i = 0; i < n_rows; i++)
			from_a[i] = cpu_row(a, row + i);
		small_matmul_rows(sums, from_a, from_b, a.cols, n_rows);
		for (int64_t i = 0; i < n_rows; i++) {
			float *to = cpu_row(out, row + i) + col;

			for (int64_t j = 0; j < n_cols; j++)
				to[j] = sums[i * FEW_COLS + j] + (accumulate ? to[j] : 0);
		}
	}
}

struct small_job {
	struct tensor out, a, b;
	bool accumulate;
};

/* A block of columns. */
static void small_matmul_part(const void *context, int thread, int64_t part)
{
	const struct small_job *j = context;
	const int64_t last = MIN((part + 1) * COL_BLOCK, j->out.cols);

	(void)thread;
	for (int64_t col = part * COL_BLOCK; col < last; col += FEW_COLS)
		small_matmul_columns(j->out, j->a, j->b, col, MIN(FEW_COLS, j->out.cols - col),
				     j->accumulate);
}

bool CPU(matmul_small)(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how)
{
	if (out.rows > MAX_ROWS || how.a_transposed || !how.b_transposed || d->bf16 ||
	    (out.dtype | a.dtype | b.dtype) != DTYPE_F32)
		return false;
	cpu_team_run(d->team, cpu_threads(d, out.rows * out.cols * a.cols / 16),
		     CEIL_DIV(out.cols, COL_BLOCK), small_matmul_part,
		     &(struct small_job){ out, a, b, how.accumulate });
	return true;
}
