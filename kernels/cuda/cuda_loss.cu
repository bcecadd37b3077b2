/*
 * cuda_loss.cu - label-smoothed cross entropy and its gradient. Formulas: ref_loss.c.
 *
 *	loss = lse - (1 - e) x_t - e / V sum x,  dx_c = (e^(x_c - lse) - y_c) * grad_scale
 *
 *	grid	one block of 256 threads for each row of V logits
 *	pass 1	a thread reads eight columns at a time and keeps, in registers, its maximum, its sum of
 *		e^(x - maximum) (rescaled when the maximum grows) and its plain sum; then the block
 *		reduces all three by shuffles and shared memory
 *	pass 2	reads the row again and writes the gradient, in place or into another tensor
 *
 * A row is read once by each pass, 16 bytes a thread; there is nothing to keep in shared memory. The
 * trainer computes logits of loss_rows rows at a time (ops.h). A row with a negative target is padding and gets zeros.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <math.h>

#define THREADS 256

/* Less than every logit; finite, so that differences are not NaN. */
#define LOWEST_SCORE -3.0e38f

struct loss_work {
	struct tensor grad, logits;
	float *loss, *nll;
	const int32_t *targets;
	int64_t n_real;
	float smoothing, grad_scale;
};

/* Of the logits seen so far: maximum, sum of e^(x - maximum), sum of x. */
struct logit_stats {
	float greatest, exponentials, sum;
};

static __device__ __forceinline__ void add_eight_logits(struct logit_stats *s, const float v[8],
							int64_t n)
{
	float greatest = s->greatest;

#pragma unroll
	for (int i = 0; i < 8; i++)
		greatest = fmaxf(greatest, i < n ? v[i] : LOWEST_SCORE);
	s->exponentials *= __expf(s->greatest - greatest);
	s->greatest = greatest;
#pragma unroll
	for (int i = 0; i < 8; i++) {
		if (i >= n)
			continue;
		s->exponentials += __expf(v[i] - greatest);
		s->sum += v[i];
	}
}

/* A row of padding: zeros. Called by all threads of the block. */
template <enum access A>
static __device__ __forceinline__ void store_zero_loss(const struct loss_work &w, int64_t row)
{
	const float none[8] = { 0 };

	if (threadIdx.x == 0)
		w.loss[row] = w.nll[row] = 0;
	if (w.grad_scale == 0)
		return;
	for (int64_t col = threadIdx.x * 8; col < w.grad.cols; col += THREADS * 8)
		tensor_store8<A>(w.grad, row, col, none);
}

template <enum access A> static __global__ void cross_entropy(struct loss_work w)
{
	kernel_begin();
	const int64_t row = blockIdx.x;
	const int32_t target = w.targets[row];

	if (target < 0) {
		store_zero_loss<A>(w, row);
		return;
	}
	const float at_target = tensor_load1(w.logits, row, target);
	const float rest = w.smoothing / (float)w.n_real, target_share = 1 - w.smoothing;
	struct logit_stats s = { LOWEST_SCORE, 0, 0 };
	float greatest, lse, sum;

	for (int64_t col = threadIdx.x * 8; col < w.n_real; col += THREADS * 8) {
		float v[8];

		tensor_load8<A>(v, w.logits, row, col);
		add_eight_logits(&s, v, w.n_real - col);
	}
	greatest = block_max<THREADS>(s.greatest);
	lse = greatest + logf(block_sum<THREADS>(s.exponentials * __expf(s.greatest - greatest)));
	sum = block_sum<THREADS>(s.sum);
	/* the barriers in block_sum(): all threads have read at_target before the gradient is written */
	if (threadIdx.x == 0) {
		w.loss[row] = lse - target_share * at_target - rest * sum;
		w.nll[row] = lse - at_target;
	}
	if (w.grad_scale == 0)
		return;
	for (int64_t col = threadIdx.x * 8; col < w.logits.cols; col += THREADS * 8) {
		float v[8];

		tensor_load8<A>(v, w.logits, row, col);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			float y = col + i == target ? rest + target_share : rest;

			v[i] = col + i < w.n_real ? (__expf(v[i] - lse) - y) * w.grad_scale : 0;
		}
		tensor_store8<A>(w.grad, row, col, v);
	}
}

extern "C" void cuda_cross_entropy(struct dev *d, struct tensor dlogits, float *loss, float *nll,
				   struct tensor logits, const int32_t *targets, int64_t n_real,
				   float smoothing, float grad_scale)
{
	const struct loss_work w = { grad_scale == 0 ? logits : dlogits,
				     logits,
				     loss,
				     nll,
				     targets,
				     n_real,
				     smoothing,
				     grad_scale };

	assert(n_real > 0 && n_real <= logits.cols);
	if (logits.rows)
		LAUNCH_ACCESS(d, access_of(logits, w.grad), cross_entropy, (unsigned)logits.rows,
			      THREADS, 0, w);
}
