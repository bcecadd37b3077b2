/*
 * ref_loss.c - label-smoothed cross entropy and its gradient (Szegedy et al. 2016, 7).
 *
 * For a row of logits x with V = n_real real columns, p = softmax(x), smoothing e and target t, the
 * target distribution is y_c = e / V + (c == t ? 1 - e : 0). It sums to one, so with
 * lse = log sum exp(x)
 *
 *	loss = -sum_c y_c log p_c = lse - sum_c y_c x_c = lse - (1 - e) x_t - e / V sum_c x_c
 *	nll  = -log p_t           = lse - x_t
 *	dloss / dx_c = p_c - y_c
 *
 * Two predictions p and q of the same target (R-Drop) cost the mean of both losses and w/2 of their divergence
 * S = (KL(p, q) + KL(q, p)) / 2. With r_c = log p_c - log q_c, and x the logits of p,
 *
 *	dS / dx_c = (p_c (r_c - KL(p, q)) + p_c - q_c) / 2
 *
 * The gradient is written times grad_scale; columns from V on are padding and get 0. A row with a
 * negative target is padding and gives 0 everywhere.
 */
#include "kernels/ref/ref.h"

#include <assert.h>

/* log sum e^x = max + log sum e^(x - max): no exponential overflows, and one of them is 1. */
static double log_sum_exp_row(struct tensor x, int64_t row, int64_t n)
{
	double best = -INFINITY, sum = 0;

	for (int64_t c = 0; c < n; c++)
		best = fmax(best, ref_get(x, row, c));
	for (int64_t c = 0; c < n; c++)
		sum += exp(ref_get(x, row, c) - best);
	return best + log(sum);
}

void REF(cross_entropy)(struct dev *d, struct tensor dlogits, float *loss, float *nll,
			struct tensor logits, const int32_t *targets, int64_t n_real,
			float smoothing, float grad_scale)
{
	double rest = smoothing / (double)n_real;

	(void)d;
	for (int64_t t = 0; t < logits.rows; t++) {
		if (targets[t] < 0) {
			loss[t] = nll[t] = 0;
			for (int64_t c = 0; c < logits.cols && grad_scale != 0; c++)
				ref_set(dlogits, t, c, 0);
			continue;
		}
		assert(targets[t] < n_real);
		double lse = log_sum_exp_row(logits, t, n_real),
		       at_target = ref_get(logits, t, targets[t]), sum = 0;

		for (int64_t c = 0; c < n_real; c++)
			sum += ref_get(logits, t, c);
		loss[t] = (float)(lse - (1.0 - smoothing) * at_target - rest * sum);
		nll[t] = (float)(lse - at_target);
		for (int64_t c = 0; c < logits.cols && grad_scale != 0; c++) {
			double y = rest + (c == targets[t] ? 1.0 - smoothing : 0);

			ref_set(dlogits, t, c,
				c < n_real ? (exp(ref_get(logits, t, c) - lse) - y) * grad_scale
					   : 0);
		}
	}
}

/* The loss of one prediction of the pair, without the divergence. */
struct ref_prediction {
	double lse, loss, nll;
};

static struct ref_prediction predict_row(struct tensor x, int64_t row, int32_t target, int64_t n,
					 double smoothing)
{
	const double lse = log_sum_exp_row(x, row, n), at_target = ref_get(x, row, target);
	double sum = 0;

	for (int64_t c = 0; c < n; c++)
		sum += ref_get(x, row, c);
	return (struct ref_prediction){ lse,
					lse - (1 - smoothing) * at_target -
						smoothing / (double)n * sum,
					lse - at_target };
}

/* KL(p, q) = sum p (log p - log q). */
static double divergence(struct tensor a, double a_lse, struct tensor b, double b_lse, int64_t row,
			 int64_t n)
{
	double sum = 0;

	for (int64_t c = 0; c < n; c++) {
		const double p = ref_get(a, row, c) - a_lse, q = ref_get(b, row, c) - b_lse;

		sum += exp(p) * (p - q);
	}
	return sum;
}

void REF(cross_entropy_pairs)(struct dev *d, struct tensor da, struct tensor db, float *loss,
			      float *nll, struct tensor a, struct tensor b, const int32_t *targets,
			      int64_t n_real, float smoothing, float weight, float grad_scale)
{
	(void)d;
	for (int64_t t = 0; t < a.rows; t++) {
		const bool is_padding = targets[t] < 0;
		const int32_t target = is_padding ? 0 : targets[t];
		const struct ref_prediction p = predict_row(a, t, target, n_real, smoothing),
					    q = predict_row(b, t, target, n_real, smoothing);
		const double pq = divergence(a, p.lse, b, q.lse, t, n_real),
			     qp = divergence(b, q.lse, a, p.lse, t, n_real), half = 0.5 * weight;

		loss[t] = is_padding ? 0 : (float)((p.loss + q.loss + half * (pq + qp)) / 2);
		nll[t] = is_padding ? 0 : (float)((p.nll + q.nll) / 2);
		for (int64_t c = 0; c < a.cols && grad_scale != 0; c++) {
			double dp = 0, dq = 0;

			if (c < n_real && !is_padding) {
				const double log_p = ref_get(a, t, c) - p.lse,
					     log_q = ref_get(b, t, c) - q.lse, r = log_p - log_q,
					     pc = exp(log_p), qc = exp(log_q),
					     y = smoothing / (double)n_real +
						 (c == target ? 1.0 - smoothing : 0);

				dp = pc - y + half * (pc * (r - pq) + pc - qc);
				dq = qc - y + half * (qc * (-r - qp) + qc - pc);
			}
			ref_set(da, t, c, dp / 2 * grad_scale);
			ref_set(db, t, c, dq / 2 * grad_scale);
		}
	}
}
