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
 * Pairs of rows (R-Drop) take five passes: 1 and 2 for each row, without storing; then the two divergences; then both
 * gradients. Their exponentials are computed anew in each pass: they take a small part of the output layer's time.
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

/* ---- pairs ------------------------------------------------------------------- */

struct pair_job {
	struct loss_job a;
	struct tensor b;
	float weight;
};

/* Two predictions of a target: logarithms of their sums, and KL(p, q), KL(q, p). */
struct pair_sums {
	float a_lse, b_lse, pq, qp;
};

static struct pair_sums divergence_pass(const float *a, const float *b, int64_t n,
					struct pair_sums s)
{
	const float apart = s.a_lse - s.b_lse;
	vec pq = vec_set(0), qp = vec_set(0);

	for (int64_t c = 0; c < n; c += VEC_LANES) {
		const vec x = vec_load_part(a + c, n - c, -INFINITY),
			  y = vec_load_part(b + c, n - c, -INFINITY), p = vec_exp(x - s.a_lse),
			  q = vec_exp(y - s.b_lse),
			  r = vec_load_part(a + c, n - c, 0) - vec_load_part(b + c, n - c, 0) -
			      apart;

		pq += p * r;
		qp -= q * r;
	}
	s.pq = vec_sum(pq);
	s.qp = vec_sum(qp);
	return s;
}

/* In place; still without the share (1 - smoothing) of the target. */
static void pair_gradient_pass(float *a, float *b, int64_t n, struct pair_sums s, float weight,
			       float scale, float rest)
{
	const float apart = s.a_lse - s.b_lse, half = 0.5f * weight;

	for (int64_t c = 0; c < n; c += VEC_LANES) {
		const vec x = vec_load_part(a + c, n - c, 0), y = vec_load_part(b + c, n - c, 0),
			  p = vec_exp(x - s.a_lse), q = vec_exp(y - s.b_lse), r = x - y - apart;

		vec_store_part(a + c, (p - rest + (p * (r - s.pq) + p - q) * half) * scale, n - c);
		vec_store_part(b + c, (q - rest - (q * (r + s.qp) + p - q) * half) * scale, n - c);
	}
}

static void cross_entropy_pair(const struct pair_job *j, int64_t t)
{
	const int64_t n = j->a.n_real;
	const float smoothing = j->a.smoothing, rest = smoothing / (float)n,
		    scale = 0.5f * j->a.grad_scale;
	const int32_t target = j->a.targets[t];
	float *a = cpu_row(j->a.logits, t), *b = cpu_row(j->b, t);

	for (int64_t c = target < 0 ? 0 : n; c < j->a.logits.cols && scale != 0; c++)
		a[c] = b[c] = 0;
	if (target < 0) {
		j->a.loss[t] = j->a.nll[t] = 0;
		return;
	}
	const struct row_sums p = first_pass(a, n), q = first_pass(b, n);
	struct pair_sums s = { p.largest + logf(exp_pass(a, n, p.largest, false)),
			       q.largest + logf(exp_pass(b, n, q.largest, false)), 0, 0 };
	const float lse = 0.5f * (s.a_lse + s.b_lse), at_target = 0.5f * (a[target] + b[target]);

	s = divergence_pass(a, b, n, s);
	j->a.nll[t] = lse - at_target;
	j->a.loss[t] = lse - (1 - smoothing) * at_target - 0.5f * rest * (p.sum + q.sum) +
		       0.25f * j->weight * (s.pq + s.qp);
	if (scale == 0)
		return;
	pair_gradient_pass(a, b, n, s, j->weight, scale, rest);
	a[target] -= (1 - smoothing) * scale;
	b[target] -= (1 - smoothing) * scale;
}

static void cross_entropy_pair_rows(const void *context, int64_t first, int64_t last)
{
	for (int64_t t = first; t < last; t++)
		cross_entropy_pair(context, t);
}

void CPU(cross_entropy_pairs)(struct dev *d, struct tensor da, struct tensor db, float *loss,
			      float *nll, struct tensor a, struct tensor b, const int32_t *targets,
			      int64_t n_real, float smoothing, float weight, float grad_scale)
{
	assert(n_real > 0 && n_real <= a.cols && a.rows == b.rows && a.cols == b.cols);
	if (a.dtype != DTYPE_F32 || b.dtype != DTYPE_F32 ||
	    (grad_scale != 0 && (da.data != a.data || db.data != b.data))) {
		ref_cross_entropy_pairs(NULL, da, db, loss, nll, a, b, targets, n_real, smoothing,
					weight, grad_scale);
		return;
	}
	cpu_rows(d, a.rows, 2 * a.cols, cross_entropy_pair_rows,
		 &(struct pair_job){
			 { a, loss, nll, targets, n_real, smoothing, grad_scale }, b, weight });
}
