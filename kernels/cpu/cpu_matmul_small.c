/*
 * cpu_matmul_small.c - see cpu.h: products of few rows with weights as they are stored.
 *
 * With few rows, as in a step of decoding, packing the weights would cost more
 * than multiplying by them. Stored (outputs, inputs) they can be used where they
 * lie: each element of the result is the inner product of two rows, FEW_ROWS x
 * FEW_COLS of which are made at once in registers. Each is made by one thread in the
 * order of k, so the number of threads does not matter.
 */
#include "kernels/cpu/cpu.h"

#include "kernels/cpu/cpu_vec.h"

#define FEW_ROWS  4
#define FEW_COLS  4
#define COL_BLOCK 16 /* columns that a thread takes at once */
#define MOST_ROWS 16 /* from here on packing pays */

/* rows x FEW_COLS inner products of n_k elements; rows is a constant wherever this is inlined. */
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

	for (int j = 0; j < FEW_COLS; j++) /* past the edge the last one again */
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

bool CPU(matmul_small)(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		       struct matmul_how how)
{
	int n_threads = cpu_threads(d, out.rows * out.cols * a.cols / 16);

	if (out.rows > MOST_ROWS || how.a_transposed || !how.b_transposed || d->bf16 ||
	    (out.dtype | a.dtype | b.dtype) != DTYPE_F32)
		return false;
#pragma omp parallel for num_threads(n_threads) schedule(static)
	for (int64_t first = 0; first < out.cols; first += COL_BLOCK)
		for (int64_t col = first; col < MIN(first + COL_BLOCK, out.cols); col += FEW_COLS)
			small_matmul_columns(out, a, b, col, MIN(FEW_COLS, out.cols - col),
					     how.accumulate);
	return true;
}
