/*
 * cuda_loss.cu - see cuda.h: label-smoothed cross entropy and its gradient, maybe in the logits' place.
 *
 * A block has a row and goes through it twice: the greatest, the sum of
 * exponentials and the plain sum at once, then the gradient. The second time
 * the row comes from a cache: trainers make logits in pieces for that.
 */
#include "kernels/cuda/cuda.cuh"

#include <math.h>

#define THREADS 256

/* Below every logit; finite, so that differences are numbers. */
#define LOWEST_SCORE -3.0e38f

struct loss_work {
	struct tensor grad, logits;
	float *loss, *nll;
	const int32_t *targets;
	int64_t n_real;
	float smoothing, grad_scale;
};

/* What was seen of a row: sum of exp(x - greatest), sum of x. */
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

/* A row without a target: all threads of the block. */
template <enum access A>
static __device__ __forceinline__ void costs_nothing(const struct loss_work &w, int64_t row)
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
	const int64_t row = blockIdx.x;
	const int32_t target = w.targets[row];

	if (target < 0) {
		costs_nothing<A>(w, row);
		return;
	}
	const float at_target = tensor_load1(w.logits, row, target);
	const float rest = w.smoothing / (float)w.n_real, most = 1 - w.smoothing;
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
	/* all have read at_target: there were barriers */
	if (threadIdx.x == 0) {
		w.loss[row] = lse - most * at_target - rest * sum;
		w.nll[row] = lse - at_target;
	}
	if (w.grad_scale == 0)
		return;
	for (int64_t col = threadIdx.x * 8; col < w.logits.cols; col += THREADS * 8) {
		float v[8];

		tensor_load8<A>(v, w.logits, row, col);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			float y = col + i == target ? rest + most : rest;

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

	if (logits.rows)
		LAUNCH_ACCESS(d, access_of(logits, w.grad), cross_entropy, (unsigned)logits.rows,
			      THREADS, 0, w);
}
