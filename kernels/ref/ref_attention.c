/*
 * ref_attention.c - attention within each sentence of a packed batch (Vaswani et al. 2017, 3.2).
 *
 * For each sentence, head h and query i, with W = D / H columns a head:
 *
 *	score_j = q_i . k_j / sqrt(W)			over the keys j that query i sees
 *	p_j     = exp(score_j - lse),  lse = log sum_j exp(score_j)
 *	out_i   = sum_j p_j m_j v_j			m_j: dropout's factor, 0 or its scale
 *
 * A packed batch has no padding: the rows of all sentences follow each other, and q_start, k_start
 * say where each sentence begins (struct attention_shape). "causal" hides the keys after i.
 *
 * Forward keeps only lse, not the matrix p; backward computes each p_j again from the scores. The
 * gradients, derived from the lines above:
 *
 *	dp_j     = m_j (dout_i . v_j)
 *	dscore_j = p_j (dp_j - sum_l p_l dp_l) = p_j (dp_j - dout_i . out_i)
 *	dq_i = sum_j dscore_j k_j / sqrt(W),  dk_j = sum_i dscore_j q_i / sqrt(W),
 *	dv_j = sum_i p_j m_j dout_i
 *
 * The loops below compute one query (dk, dv: one key) after the other, in double. Everything is
 * computed as often as needed and nothing is stored, which is slow and easy to check.
 */
#include "kernels/ref/ref.h"

#include <assert.h>

/* One query of one head, and the keys it sees. */
struct query {
	int64_t row; /* in q and out */
	int64_t first_key, n_keys;
	int64_t first_col, n_cols; /* columns of the head */
	int64_t head, heads;
};

static struct query query_at(struct tensor q, struct attention_shape shape, int32_t s, int32_t row,
			     int32_t head)
{
	int64_t i = row - shape.q_start[s], n_keys = shape.k_start[s + 1] - shape.k_start[s];
	int64_t n_cols = q.cols / shape.heads;

	assert(i >= 0 && n_keys <= 4096 && q.cols % shape.heads == 0);
	return (struct query){
		.row = row,
		.first_key = shape.k_start[s],
		.n_keys = shape.causal ? MIN(i + 1, n_keys) : n_keys,
		.first_col = head * n_cols,
		.n_cols = n_cols,
		.head = head,
		.heads = shape.heads,
	};
}

static double dot_rows(struct query at, struct tensor x, int64_t x_row, struct tensor y,
		       int64_t y_row)
{
	double sum = 0;

	for (int64_t c = at.first_col; c < at.first_col + at.n_cols; c++)
		sum += (double)ref_get(x, x_row, c) * ref_get(y, y_row, c);
	return sum;
}

/* Divided by sqrt(W): a product of W random terms has this standard deviation. */
static double query_key_score(struct query at, struct tensor q, struct tensor k, int64_t j)
{
	return dot_rows(at, q, at.row, k, at.first_key + j) / sqrt((double)at.n_cols);
}

/* The number of an attention weight for dropout: (row, head, key), with 12 bits for the key. */
static double dropout_of(struct query at, struct dropout drop, int64_t j)
{
	return ref_dropout(drop, (uint64_t)(at.row * at.heads + at.head) << 12 | (uint64_t)j);
}

static double log_sum_exp(struct query at, struct tensor q, struct tensor k)
{
	double best = -INFINITY, sum = 0;

	for (int64_t j = 0; j < at.n_keys; j++)
		best = fmax(best, query_key_score(at, q, k, j));
	for (int64_t j = 0; j < at.n_keys; j++)
		sum += exp(query_key_score(at, q, k, j) - best);
	return best + log(sum);
}

#define CHUNK 64 /* columns whose sums are held in double at one time */

/* out of one query, CHUNK columns at a time; each weight is computed again for each chunk. */
static void query_context(struct query at, struct tensor out, float *lse, struct tensor q,
			  struct tensor k, struct tensor v, struct dropout drop)
{
	double whole = log_sum_exp(at, q, k);
	int64_t last_col = at.first_col + at.n_cols;

	for (int64_t first = at.first_col; first < last_col; first += CHUNK) {
		int64_t n = MIN(CHUNK, last_col - first);
		double sum[CHUNK] = { 0 };

		for (int64_t j = 0; j < at.n_keys; j++) {
			double w =
				exp(query_key_score(at, q, k, j) - whole) * dropout_of(at, drop, j);

			for (int64_t c = 0; c < n; c++)
				sum[c] += w * ref_get(v, at.first_key + j, first + c);
		}
		for (int64_t c = 0; c < n; c++)
			ref_set(out, at.row, first + c, sum[c]);
	}
	lse[at.row * at.heads + at.head] = (float)whole;
}

void REF(attention)(struct dev *d, struct tensor out, float *lse, struct tensor q, struct tensor k,
		    struct tensor v, struct attention_shape shape, struct dropout drop)
{
	(void)d;
	for (int32_t s = 0; s < shape.n; s++)
		for (int32_t row = shape.q_start[s]; row < shape.q_start[s + 1]; row++)
			for (int32_t h = 0; h < shape.heads; h++)
				query_context(query_at(q, shape, s, row, h), out, lse, q, k, v,
					      drop);
}

/* Inputs of the gradients. */
struct grad {
	struct tensor dout, out, q, k, v;
	const float *lse;
	struct attention_shape shape;
	struct dropout drop;
};

/* A query and a key of its sentence. */
struct pair {
	double dscore; /* gradient of q . k, the scale 1 / sqrt(W) included */
	double weight; /* p m: the factor of v in out */
};

/* The formulas at the head of this file; a key that the query does not see gives zeros. */
static struct pair pair_grad(const struct grad *g, struct query at, int64_t j)
{
	double lse = g->lse[at.row * at.heads + at.head], p, m, dp;

	if (j >= at.n_keys)
		return (struct pair){ 0, 0 };
	p = exp(query_key_score(at, g->q, g->k, j) - lse);
	m = dropout_of(at, g->drop, j);
	dp = m * dot_rows(at, g->dout, at.row, g->v, at.first_key + j);
	return (struct pair){
		.dscore = p * (dp - dot_rows(at, g->dout, at.row, g->out, at.row)) /
			  sqrt((double)at.n_cols),
		.weight = p * m,
	};
}

/* dq_i = sum_j dscore_j k_j; pair_grad() includes the factor 1 / sqrt(W). */
static void one_query_grad(const struct grad *g, struct tensor dq, struct query at)
{
	int64_t last_col = at.first_col + at.n_cols;

	for (int64_t first = at.first_col; first < last_col; first += CHUNK) {
		int64_t n = MIN(CHUNK, last_col - first);
		double sum[CHUNK] = { 0 };

		for (int64_t j = 0; j < at.n_keys; j++) {
			struct pair p = pair_grad(g, at, j);

			for (int64_t c = 0; c < n; c++)
				sum[c] += p.dscore * ref_get(g->k, at.first_key + j, first + c);
		}
		for (int64_t c = 0; c < n; c++)
			ref_set(dq, at.row, first + c, sum[c]);
	}
}

/* Key j of sentence s, head h. */
static void key_value_grad(const struct grad *g, struct tensor dk, struct tensor dv, int32_t s,
			   int32_t h, int64_t j)
{
	int64_t n_cols = g->q.cols / g->shape.heads, last_col = (h + 1) * n_cols,
		key = g->shape.k_start[s] + j;

	for (int64_t first = h * n_cols; first < last_col; first += CHUNK) {
		int64_t n = MIN(CHUNK, last_col - first);
		double k_sum[CHUNK] = { 0 }, v_sum[CHUNK] = { 0 };

		for (int32_t row = g->shape.q_start[s]; row < g->shape.q_start[s + 1]; row++) {
			struct pair p = pair_grad(g, query_at(g->q, g->shape, s, row, h), j);

			for (int64_t c = 0; c < n; c++) {
				k_sum[c] += p.dscore * ref_get(g->q, row, first + c);
				v_sum[c] += p.weight * ref_get(g->dout, row, first + c);
			}
		}
		for (int64_t c = 0; c < n; c++) {
			ref_set(dk, key, first + c, k_sum[c]);
			ref_set(dv, key, first + c, v_sum[c]);
		}
	}
}

void REF(attention_grad)(struct dev *d, struct tensor dq, struct tensor dk, struct tensor dv,
			 struct tensor dout, struct tensor out, const float *lse, struct tensor q,
			 struct tensor k, struct tensor v, struct attention_shape shape,
			 struct dropout drop)
{
	struct grad g = { dout, out, q, k, v, lse, shape, drop };

	(void)d;
	for (int32_t s = 0; s < shape.n; s++) {
		for (int32_t h = 0; h < shape.heads; h++) {
			for (int32_t row = shape.q_start[s]; row < shape.q_start[s + 1]; row++)
				one_query_grad(&g, dq, query_at(q, shape, s, row, h));
			for (int32_t j = 0; j < shape.k_start[s + 1] - shape.k_start[s]; j++)
				key_value_grad(&g, dk, dv, s, h, j);
		}
	}
}
