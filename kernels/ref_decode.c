/* ref_decode.c - see ref.h: what decoding needs, without gradients. */
#include "kernels/ref.h"

#include <assert.h>

struct step {
	struct tensor q, k, v;
	int64_t row;
	const int32_t *index;
	int32_t length;
};

static double step_score(struct step s, int64_t first_col, int64_t n_cols, int32_t j)
{
	double sum = 0;

	for (int64_t c = first_col; c < first_col + n_cols; c++)
		sum += (double)ref_get(s.q, s.row, c) * ref_get(s.k, s.index[j], c);
	return sum / sqrt((double)n_cols);
}

static double step_log_sum_exp(struct step s, int64_t first_col, int64_t n_cols)
{
	double best = -INFINITY, sum = 0;

	for (int32_t j = 0; j < s.length; j++)
		best = fmax(best, step_score(s, first_col, n_cols, j));
	for (int32_t j = 0; j < s.length; j++)
		sum += exp(step_score(s, first_col, n_cols, j) - best);
	return best + log(sum);
}

void REF(attention_step)(struct dev *d, struct tensor out, float *weights, struct tensor q,
			 struct tensor k, struct tensor v, const int32_t *index,
			 const int32_t *length, int64_t index_stride, int32_t heads)
{
	int64_t n_cols = q.cols / heads;

	(void)d;
	for (int64_t r = 0; r < q.rows; r++) {
		struct step s = { q, k, v, r, index + r * index_stride, length[r] };
		float *w = weights ? weights + r * index_stride : NULL;

		for (int64_t j = 0; j < index_stride && w; j++)
			w[j] = 0;
		for (int32_t h = 0; h < heads; h++) {
			double lse = step_log_sum_exp(s, h * n_cols, n_cols);

			for (int64_t c = h * n_cols; c < (h + 1) * n_cols; c++) {
				double sum = 0;

				for (int32_t j = 0; j < s.length; j++)
					sum += exp(step_score(s, h * n_cols, n_cols, j) - lse) *
					       ref_get(v, s.index[j], c);
				ref_set(out, r, c, sum);
			}
			for (int32_t j = 0; j < s.length && w; j++)
				w[j] += (float)(exp(step_score(s, h * n_cols, n_cols, j) - lse) /
						heads);
		}
	}
}

void REF(gather_rows)(struct dev *d, struct tensor out, struct tensor x, const int32_t *index)
{
	(void)d;
	for (int64_t r = 0; r < out.rows; r++)
		for (int64_t c = 0; c < out.cols; c++)
			ref_set(out, r, c, ref_get(x, index[r], c));
}

void REF(scatter_rows)(struct dev *d, struct tensor out, struct tensor x, const int32_t *index)
{
	(void)d;
	for (int64_t r = 0; r < x.rows; r++)
		for (int64_t c = 0; c < x.cols; c++)
			ref_set(out, index[r], c, ref_get(x, r, c));
}

void REF(top_k)(struct dev *d, float *values, int32_t *ids, struct tensor logits, int64_t n_real,
		int32_t k)
{
	(void)d;
	assert(k <= n_real);
	for (int64_t r = 0; r < logits.rows; r++) {
		float *best = values + r * k;
		int32_t *best_id = ids + r * k;
		double largest = -INFINITY, sum = 0;

		for (int64_t c = 0; c < n_real; c++) {
			float x = ref_get(logits, r, c);
			int64_t n = MIN(c, k), place = n;

			while (place > 0 && x > best[place - 1])
				place--;
			for (int64_t i = MIN(n, k - 1); i > place; i--) {
				best[i] = best[i - 1];
				best_id[i] = best_id[i - 1];
			}
			if (place < k) {
				best[place] = x;
				best_id[place] = (int32_t)c;
			}
			largest = fmax(largest, x);
		}
		for (int64_t c = 0; c < n_real; c++)
			sum += exp(ref_get(logits, r, c) - largest);
		for (int32_t i = 0; i < k; i++)
			best[i] = (float)(best[i] - largest - log(sum));
	}
}
