/*
 * cpu_loss.c - see cpu.h: label-smoothed cross entropy. A row stays in the first cache for its
 * three passes.
 */
#include "kernels/cpu/cpu.h"

#include "kernels/cpu/cpu_vec.h"
#include "kernels/ref/ref.h"

struct row_sums {
	float largest, sum;
};

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

/* Returns the sum of e^(x - largest); those stay in place of x when store. */
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

void CPU(cross_entropy)(struct dev *d, struct tensor dlogits, float *loss, float *nll,
			struct tensor logits, const int32_t *targets, int64_t n_real,
			float smoothing, float grad_scale)
{
	float rest = smoothing / (float)n_real;

	if (logits.dtype != DTYPE_F32 || (grad_scale != 0 && dlogits.data != logits.data)) {
		ref_cross_entropy(NULL, dlogits, loss, nll, logits, targets, n_real, smoothing,
				  grad_scale);
		return;
	}
#pragma omp parallel for num_threads(cpu_threads(d, logits.rows *logits.cols)) schedule(static)
	for (int64_t t = 0; t < logits.rows; t++) {
		float *x = cpu_row(logits, t);

		if (targets[t] < 0) {
			loss[t] = nll[t] = 0;
			for (int64_t c = 0; c < logits.cols && grad_scale != 0; c++)
				x[c] = 0;
			continue;
		}
		float at_target = x[targets[t]];
		struct row_sums s = first_pass(x, n_real);
		float sum = exp_pass(x, n_real, s.largest, grad_scale != 0);
		float lse = s.largest + logf(sum), a = grad_scale / sum, b = rest * grad_scale;

		loss[t] = lse - (1 - smoothing) * at_target - rest * s.sum;
		nll[t] = lse - at_target;
		if (grad_scale == 0)
			continue;
		for (int64_t c = 0; c < n_real; c++)
			x[c] = x[c] * a - b;
		for (int64_t c = n_real; c < logits.cols; c++)
			x[c] = 0;
		x[targets[t]] -= (1 - smoothing) * grad_scale;
	}
}
