/*
 * ref_decode.c - ops of incremental decoding, without gradients.
 *
 * attention_step: like attention (ref_attention.c), but each row r has one query, and its keys lie
 * anywhere in the cache: keys and values of hypothesis r are the cache rows
 *
 *	index[r][0], index[r][1], … index[r][length[r] - 1]
 *
 * so hypotheses of a beam share the rows of their common prefix, and reordering the beam moves
 * indices instead of keys and values.
 *
 * gather_rows, scatter_rows: copies of rows by index, to read and fill that cache.
 *
 * top_k: log p_c = x_c - log sum exp(x), and the k greatest of a row in falling order. best_of_row()
 * keeps a sorted list of k and inserts each column in turn; a column goes after equal ones, so
 * ties are ordered by id.
 */
#include "kernels/ref/ref.h"

#include <assert.h>

struct step {
	struct tensor q, k, v;
	int64_t row;
	const int32_t *index;
	int32_t length;
};

/* Score of the query of this row with the key in cache row index[j]. */
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

void REF(best_of_row)(float *values, int32_t *ids, ref_element *element, const void *row,
		      int64_t n_real, int32_t k)
{
	double largest = -INFINITY, sum = 0;

	assert(k <= n_real);
	for (int64_t c = 0; c < n_real; c++) {
		float x = element(row, c);
		int64_t n = MIN(c, k), place = n;

		while (place > 0 && x > values[place - 1])
			place--;
		for (int64_t i = MIN(n, k - 1); i > place; i--) {
			values[i] = values[i - 1];
			ids[i] = ids[i - 1];
		}
		if (place < k) {
			values[place] = x;
			ids[place] = (int32_t)c;
		}
		largest = fmax(largest, x);
	}
	for (int64_t c = 0; c < n_real; c++)
		sum += exp(element(row, c) - largest);
	for (int32_t i = 0; i < k; i++)
		values[i] = (float)(values[i] - largest - log(sum));
}

static float element_of_row(const void *row, int64_t col)
{
	return (float)ref_get(*(const struct tensor *)row, 0, col);
}

void REF(top_k)(struct dev *d, float *values, int32_t *ids, struct tensor logits, int64_t n_real,
		int32_t k)
{
	(void)d;
	for (int64_t r = 0; r < logits.rows; r++) {
		struct tensor row = tensor_rows(logits, r, 1);

		REF(best_of_row)(values + r * k, ids + r * k, element_of_row, &row, n_real, k);
	}
}
