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
