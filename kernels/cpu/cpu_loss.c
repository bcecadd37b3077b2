/*
 * cpu_loss.c - label-smoothed cross entropy and its gradient; formulas: ref_loss.c.
 *
 *	loss = lse - (1 - e) x_t - e / V sum x,  dx_c = (p_c - y_c) * grad_scale, in place of x
 *
 * A thread takes one row of V logits after the other and makes three passes over it:
 *	1. the maximum and the plain sum of x, two vectors at a time, to hide the latency of additions;
 *	2. e^(x - max), summed, and stored in place of x if a gradient is wanted;
 *	3. the stored values times grad_scale / sum, minus the smoothed target: the gradient.
 * So exp() is computed once for each logit. A row of 32,000 floats is 128 KB: from the second pass
 * on it comes from the L2 cache. Rows are independent, and a row's sums have a fixed order.
 *
 * The fast path needs float logits and the gradient in place; otherwise ref_cross_entropy().
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_vec.h"
#include "kernels/ref/ref.h"

struct row_sums {
	float largest, sum;
};

/* The maximum and the sum of a row. */
static struct row_sums first_pass(const float *x, int64_t n)
{
	vec largest[2] = { vec_set(-INFINITY), vec_set(-INFINITY) },
	    sum[2] = { vec_set(0), vec_set(0) };
	int64_t c = 0;

	for (; c + 2 * VEC_LANES <= n; c += 2 * VEC_LANES) {
		vec a = vec_load(x + c), b = vec_load(x + c + VEC_LANES);

		largest[0] = vec_max(a, largest[0]);
		largest[1] = vec_max(b, largest[1]);
		sum[0] += a;
		sum[1] += b;
	}
	for (; c < n; c += VEC_LANES) {
		largest[0] = vec_max(vec_load_part(x + c, n - c, -INFINITY), largest[0]);
		sum[0] += vec_load_part(x + c, n - c, 0);
	}
	return (struct row_sums){ vec_largest(vec_max(largest[0], largest[1])),
				  vec_sum(sum[0] + sum[1]) };
}

/* Returns the sum of e^(x - largest); store: x = e^(x - largest). */
static float exp_pass(float *x, int64_t n, float largest, bool store)
{
	vec sum = vec_set(0);

	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec y = vec_exp(vec_load_part(x + c, n - c, -INFINITY) - largest);

		sum += y;
		if (store)
			vec_store_part(x + c, y, n - c);
	}
	return vec_sum(sum);
}

struct loss_job {
	struct tensor logits;
	float *loss, *nll;
	const int32_t *targets;
	int64_t n_real;
	float smoothing, grad_scale;
};

/*
 * The gradient in one multiplication and one subtraction an element: with a = grad_scale / sum and
 * b = smoothing / V * grad_scale, x = e^(x - max) becomes x a - b = (p - smoothing / V) grad_scale. Only the
 * target's element lacks (1 - smoothing) grad_scale, which is subtracted at the end.
 */
static void cross_entropy_row(const struct loss_job *j, int64_t t)
{
	const float smoothing = j->smoothing, grad_scale = j->grad_scale,
		    rest = smoothing / (float)j->n_real;
	const int64_t n_real = j->n_real, n_cols = j->logits.cols;
	float *x = cpu_row(j->logits, t);

	if (j->targets[t] < 0) {
		j->loss[t] = j->nll[t] = 0;
		for (int64_t c = 0; c < n_cols && grad_scale != 0; c++)
			x[c] = 0;
		return;
	}
	float at_target = x[j->targets[t]];
	struct row_sums s = first_pass(x, n_real);
	float sum = exp_pass(x, n_real, s.largest, grad_scale != 0);
	float lse = s.largest + logf(sum), a = grad_scale / sum, b = rest * grad_scale;

	j->loss[t] = lse - (1 - smoothing) * at_target - rest * s.sum;
	j->nll[t] = lse - at_target;
	if (grad_scale == 0)
		return;
	for (int64_t c = 0; c < n_real; c++)
		x[c] = x[c] * a - b;
	for (int64_t c = n_real; c < n_cols; c++)
		x[c] = 0;
	x[j->targets[t]] -= (1 - smoothing) * grad_scale;
}

static void cross_entropy_rows(const void *context, int64_t first, int64_t last)
{
	for (int64_t t = first; t < last; t++)
		cross_entropy_row(context, t);
}

void CPU(cross_entropy)(struct dev *d, struct tensor dlogits, float *loss, float *nll,
			struct tensor logits, const int32_t *targets, int64_t n_real,
			float smoothing, float grad_scale)
{
	assert(n_real > 0 && n_real <= logits.cols);
	if (logits.dtype != DTYPE_F32 || (grad_scale != 0 && dlogits.data != logits.data)) {
		ref_cross_entropy(NULL, dlogits, loss, nll, logits, targets, n_real, smoothing,
				  grad_scale);
		return;
	}
	cpu_rows(d, logits.rows, logits.cols, cross_entropy_rows,
		 &(struct loss_job){ logits, loss, nll, targets, n_real, smoothing, grad_scale });
}
