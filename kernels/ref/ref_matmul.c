/*
 * ref_matmul.c - the matrix product: out (M, N) = or += a (M, K) b (K, N).
 *
 * Either input may be stored transposed: a as (K, M), b as (N, K). The three forms of a layer
 * y = x w^T with weights w (N, K) are
 *
 *	forward		y  = x w^T		b transposed
 *	input		dx = dy w		none transposed
 *	weights		dw += dy^T x		a transposed, accumulate
 *
 * With bf16 each input is rounded to bf16; products and sums stay exact to double. Sums run over k
 * in rising order. The fast backends sum in fp32, in blocks, so tests compare with a tolerance.
 */
#include "kernels/ref/ref.h"

#include <assert.h>

static double matmul_input(bool bf16, struct tensor t, int64_t row, int64_t col)
{
	double x = ref_get(t, row, col);

	return bf16 ? bf16_to_float(bf16_from_float((float)x)) : x;
}

void REF(matmul)(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		 struct matmul_how how)
{
	bool bf16 = ((struct ref_dev *)d)->bf16;
	int64_t n_k = how.a_transposed ? a.rows : a.cols;

	assert(n_k == (how.b_transposed ? b.cols : b.rows));
	for (int64_t m = 0; m < out.rows; m++) {
		for (int64_t n = 0; n < out.cols; n++) {
			double sum = how.accumulate ? ref_get(out, m, n) : 0;

			for (int64_t k = 0; k < n_k; k++)
				sum += matmul_input(bf16, a, how.a_transposed ? k : m,
						    how.a_transposed ? m : k) *
				       matmul_input(bf16, b, how.b_transposed ? n : k,
						    how.b_transposed ? k : n);
			ref_set(out, m, n, sum);
		}
	}
}
