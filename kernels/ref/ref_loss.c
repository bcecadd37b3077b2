/* ref_loss.c - see ref.h: label-smoothed cross entropy. */
#include "kernels/ref/ref.h"

static double log_sum_exp_row(struct tensor x, int64_t row, int64_t n)
{
	double best = -INFINITY, sum = 0;

	for (int64_t c = 0; c < n; c++)
		best = fmax(best, ref_get(x, row, c));
	for (int64_t c = 0; c < n; c++)
		sum += exp(ref_get(x, row, c) - best);
	return best + log(sum);
}

/*
 * The target distribution is y_c = smoothing / n_real, and 1 - smoothing more at the target; it
 * sums to one, so loss = -sum y_c log p_c = lse - sum y_c x_c and its gradient is p_c - y_c.
 */
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
