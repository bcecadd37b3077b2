/*
 * cuda_loss.cu - label-smoothed cross entropy and its gradient. Formulas: ref_loss.c.
 *
 *	loss = lse - (1 - e) x_t - e / V sum x,  dx_c = (e^(x_c - lse) - y_c) * grad_scale
 *
 *	grid	one block for each row of V logits
 *	pass 1	a thread reads eight columns at a time and keeps, in registers, its maximum, its sum of
 *		e^(x - maximum) (rescaled when the maximum grows) and its plain sum; then the block
 *		reduces all three by shuffles and shared memory
 *	pass 2	writes the gradient, in place or into another tensor
 *
 * The op is bound by memory: 2 V bytes in and out for each row of bf16. loss_in_registers() has 512
 * threads, which hold up to 65,536 bf16 logits between the passes, so the row is read once.
 * loss_in_memory() is for all other types and widths, and reads the row again in pass 2.
 *
 * loss_of_pairs() is for R-Drop: one block for two rows, three passes over both: statistics, divergences, gradients.
 *
 * The trainer computes logits of loss_rows rows at a time (ops.h). A row with a negative target is
 * padding and gets zeros.
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <math.h>

#define THREADS	     256		/* of loss_in_memory */
#define WIDE_THREADS 512		/* of loss_in_registers */
#define WIDE_COLUMNS (WIDE_THREADS * 8) /* columns that its threads read at a time */

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

/* v: the next eight logits, of which the first n exist; n > 0. */
static __device__ __forceinline__ void add_eight_logits(struct logit_stats *s, float v[8], int n)
{
	float greatest = s->greatest;

	if (n < 8) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = i < n ? v[i] : LOWEST_SCORE;
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
		greatest = fmaxf(greatest, v[i]);
	s->exponentials *= exp_2((s->greatest - greatest) * LOG2E);
	s->greatest = greatest;
#pragma unroll
	for (int i = 0; i < 8; i++) {
		s->exponentials += exp_2((v[i] - greatest) * LOG2E); /* 0 of LOWEST_SCORE */
		s->sum += n >= 8 || i < n ? v[i] : 0;
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
	for (int64_t col = threadIdx.x * 8; col < w.grad.cols; col += blockDim.x * 8)
		tensor_store8<A>(w.grad, row, col, none);
}

/* Reduce the sums of N threads; lse on every thread, and *sum = that of the row. */
template <int N>
static __device__ __forceinline__ float block_log_sum(struct logit_stats s, float *sum)
{
	const float greatest = block_max<N>(s.greatest),
		    lse = greatest + logf(block_sum<N>(s.exponentials *
						       exp_2((s.greatest - greatest) * LOG2E)));

	*sum = block_sum<N>(s.sum);
	return lse;
}

/*
 * Reduce the sums of N threads, store loss and nll; returns lse on every thread. Its barriers ensure
 * that all threads have read at_target before the gradient is written in its place.
 */
template <int N>
static __device__ __forceinline__ float finish_loss(const struct loss_work &w, int64_t row,
						    struct logit_stats s, float at_target)
{
	float sum;
	const float lse = block_log_sum<N>(s, &sum);

	if (threadIdx.x == 0) {
		w.loss[row] =
			lse - (1 - w.smoothing) * at_target - w.smoothing / (float)w.n_real * sum;
		w.nll[row] = lse - at_target;
	}
	return lse;
}

/* Store the gradient of eight logits v, from column col on. */
template <enum access A>
static __device__ __forceinline__ void store_loss_grad(const struct loss_work &w, int64_t row,
						       int col, float v[8], float lse,
						       int32_t target)
{
	const float rest = w.smoothing / (float)w.n_real * w.grad_scale;

#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = exp_2((v[i] - lse) * LOG2E) * w.grad_scale - rest;
	if (target >= col && target < col + 8) {
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] -= col + i == target ? (1 - w.smoothing) * w.grad_scale : 0;
	}
	if (col + 8 > w.n_real) { /* padding columns */
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = col + i < w.n_real ? v[i] : 0;
	}
	tensor_store8<A>(w.grad, row, col, v);
}

template <enum access A> static __global__ void loss_in_memory(struct loss_work w)
{
	kernel_begin();
	const int64_t row = blockIdx.x;
	const int32_t target = w.targets[row];

	if (target < 0) {
		store_zero_loss<A>(w, row);
		return;
	}
	const float at_target = tensor_load1(w.logits, row, target);
	struct logit_stats s = { LOWEST_SCORE, 0, 0 };
	float lse, v[8];

	for (int col = threadIdx.x * 8; col < w.n_real; col += THREADS * 8) {
		tensor_load8<A>(v, w.logits, row, col);
		add_eight_logits(&s, v, (int)w.n_real - col);
	}
	lse = finish_loss<THREADS>(w, row, s, at_target);
	if (w.grad_scale == 0)
		return;
	for (int col = threadIdx.x * 8; col < w.logits.cols; col += THREADS * 8) {
		tensor_load8<A>(v, w.logits, row, col);
		store_loss_grad<A>(w, row, col, v, lse, target);
	}
}

/* bf16; at most N * WIDE_COLUMNS columns, a multiple of 8. */
template <int N>
static __global__ void __launch_bounds__(WIDE_THREADS, N > 8 ? 1 : 2)
	loss_in_registers(struct loss_work w)
{
	kernel_begin();
	const int64_t row = blockIdx.x;
	const int32_t target = w.targets[row];

	if (target < 0) {
		store_zero_loss<ACCESS_BF16>(w, row);
		return;
	}
	const uint16_t *const logits = (const uint16_t *)w.logits.data + row * w.logits.stride;
	const float at_target = tensor_load1(w.logits, row, target);
	const int first = (int)threadIdx.x * 8, n_real = (int)w.n_real;
	struct logit_stats s = { LOWEST_SCORE, 0, 0 };
	uint4 raw[N];
	float lse, v[8];

#pragma unroll
	for (int i = 0; i < N; i++) {
		raw[i] = make_uint4(0, 0, 0, 0);
		if (first + i * WIDE_COLUMNS < n_real)
			raw[i] = *(const uint4 *)(logits + first + i * WIDE_COLUMNS);
	}
#pragma unroll
	for (int i = 0; i < N; i++) {
		bf16_unpack8(v, raw[i]);
		if (first + i * WIDE_COLUMNS < n_real)
			add_eight_logits(&s, v, n_real - first - i * WIDE_COLUMNS);
	}
	lse = finish_loss<WIDE_THREADS>(w, row, s, at_target);
	if (w.grad_scale == 0)
		return;
#pragma unroll
	for (int i = 0; i < N; i++) {
		/* unpack again: no registers are left to keep floats between the passes */
		asm volatile("" : "+r"(raw[i].x), "+r"(raw[i].y), "+r"(raw[i].z), "+r"(raw[i].w));
		bf16_unpack8(v, raw[i]);
		if (first + i * WIDE_COLUMNS < w.logits.cols)
			store_loss_grad<ACCESS_BF16>(w, row, first + i * WIDE_COLUMNS, v, lse,
						     target);
	}
}

static void start_in_registers(struct dev *d, const struct loss_work &w)
{
	const unsigned rows = (unsigned)w.logits.rows;

	switch (CEIL_DIV(w.logits.cols, WIDE_COLUMNS)) {
	case 1:
	case 2:
		LAUNCH(d, (loss_in_registers<2>), rows, WIDE_THREADS, 0, w);
		break;
	case 3:
	case 4:
		LAUNCH(d, (loss_in_registers<4>), rows, WIDE_THREADS, 0, w);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		LAUNCH(d, (loss_in_registers<8>), rows, WIDE_THREADS, 0, w);
		break;
	default:
		LAUNCH(d, (loss_in_registers<16>), rows, WIDE_THREADS, 0, w);
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
	const enum access access = access_of(logits, w.grad);

	assert(n_real > 0 && n_real <= logits.cols);
	if (!logits.rows)
		return;
	if (access == ACCESS_BF16 && logits.cols > THREADS * 8 && logits.cols <= 16 * WIDE_COLUMNS)
		start_in_registers(d, w);
	else
		LAUNCH_ACCESS(d, access, loss_in_memory, (unsigned)logits.rows, THREADS, 0, w);
}

/* ---- pairs ------------------------------------------------------------------------- */

struct pair_work {
	struct loss_work a;
	struct tensor b, b_grad;
	float weight;
};

/* Two predictions of a target: logarithms of their sums, and KL(p, q), KL(q, p). */
struct pair_sums {
	float a_lse, b_lse, pq, qp;
};

/* The next eight logits of both rows, of which the first n exist, added to the divergences. */
static __device__ __forceinline__ void add_eight_divergences(struct pair_sums *s, const float a[8],
							     const float b[8], int64_t n)
{
#pragma unroll
	for (int i = 0; i < 8; i++) {
		const float p = a[i] - s->a_lse, q = b[i] - s->b_lse;

		s->pq += i < n ? exp_2(p * LOG2E) * (p - q) : 0;
		s->qp += i < n ? exp_2(q * LOG2E) * (q - p) : 0;
	}
}

/* Logits of both rows become their gradients, from column col on. */
static __device__ __forceinline__ void pair_gradients(const struct pair_work &w, float a[8],
						      float b[8], int64_t col,
						      const struct pair_sums &s, int32_t target)
{
	const float rest = w.a.smoothing / (float)w.a.n_real, scale = 0.5f * w.a.grad_scale,
		    half = 0.5f * w.weight;

#pragma unroll
	for (int i = 0; i < 8; i++) {
		const float log_p = a[i] - s.a_lse, log_q = b[i] - s.b_lse, r = log_p - log_q,
			    p = exp_2(log_p * LOG2E), q = exp_2(log_q * LOG2E),
			    y = rest + (col + i == target ? 1 - w.a.smoothing : 0);
		const bool is_real = col + i < w.a.n_real;

		a[i] = is_real ? (p - y + half * (p * (r - s.pq) + p - q)) * scale : 0;
		b[i] = is_real ? (q - y - half * (q * (r + s.qp) + p - q)) * scale : 0;
	}
}

/* Zeros for a row of padding. */
template <enum access A>
static __device__ __forceinline__ void store_zero_pair(const struct pair_work &w, int64_t row)
{
	const float none[8] = { 0 };

	store_zero_loss<A>(w.a, row);
	if (w.a.grad_scale == 0)
		return;
	for (int64_t col = threadIdx.x * 8; col < w.b_grad.cols; col += blockDim.x * 8)
		tensor_store8<A>(w.b_grad, row, col, none);
}

/* Store loss and nll of a pair; sums: of the logits of both rows. */
static __device__ __forceinline__ void store_pair_loss(const struct pair_work &w, int64_t row,
						       const struct pair_sums &s, float at_target,
						       float sums)
{
	const float lse = 0.5f * (s.a_lse + s.b_lse);

	w.a.nll[row] = lse - at_target;
	w.a.loss[row] = lse - (1 - w.a.smoothing) * at_target -
			0.5f * w.a.smoothing / (float)w.a.n_real * sums +
			0.25f * w.weight * (s.pq + s.qp);
}

template <enum access A> static __global__ void loss_of_pairs(struct pair_work w)
{
	kernel_begin();
	const int64_t row = blockIdx.x;
	const int32_t target = w.a.targets[row];

	if (target < 0) {
		store_zero_pair<A>(w, row);
		return;
	}
	const float at_target =
		0.5f * (tensor_load1(w.a.logits, row, target) + tensor_load1(w.b, row, target));
	struct logit_stats p = { LOWEST_SCORE, 0, 0 }, q = p;
	struct pair_sums s = { 0 };
	float a[8], b[8], a_sum, b_sum;

	for (int col = threadIdx.x * 8; col < w.a.n_real; col += THREADS * 8) {
		tensor_load8<A>(a, w.a.logits, row, col);
		tensor_load8<A>(b, w.b, row, col);
		add_eight_logits(&p, a, (int)w.a.n_real - col);
		add_eight_logits(&q, b, (int)w.a.n_real - col);
	}
	s.a_lse = block_log_sum<THREADS>(p, &a_sum);
	s.b_lse = block_log_sum<THREADS>(q, &b_sum);
	for (int col = threadIdx.x * 8; col < w.a.n_real; col += THREADS * 8) {
		tensor_load8<A>(a, w.a.logits, row, col);
		tensor_load8<A>(b, w.b, row, col);
		add_eight_divergences(&s, a, b, w.a.n_real - col);
	}
	s.pq = block_sum<THREADS>(s.pq);
	s.qp = block_sum<THREADS>(s.qp);
	if (threadIdx.x == 0)
		store_pair_loss(w, row, s, at_target, a_sum + b_sum);
	if (w.a.grad_scale == 0)
		return;
	for (int col = threadIdx.x * 8; col < w.a.logits.cols; col += THREADS * 8) {
		tensor_load8<A>(a, w.a.logits, row, col);
		tensor_load8<A>(b, w.b, row, col);
		pair_gradients(w, a, b, col, s, target);
		tensor_store8<A>(w.a.grad, row, col, a);
		tensor_store8<A>(w.b_grad, row, col, b);
	}
}

extern "C" void cuda_cross_entropy_pairs(struct dev *d, struct tensor da, struct tensor db,
					 float *loss, float *nll, struct tensor a, struct tensor b,
					 const int32_t *targets, int64_t n_real, float smoothing,
					 float weight, float grad_scale)
{
	const bool gradient = grad_scale != 0;
	const struct pair_work w = { { gradient ? da : a, a, loss, nll, targets, n_real, smoothing,
				       grad_scale },
				     b,
				     gradient ? db : b,
				     weight };

	assert(n_real > 0 && n_real <= a.cols && a.rows == b.rows && a.cols == b.cols);
	if (a.rows)
		LAUNCH_ACCESS(d, access_of(a, b, w.a.grad, w.b_grad), loss_of_pairs,
			      (unsigned)a.rows, THREADS, 0, w);
}
