/*
 * cuda_decode.cu - ops of incremental decoding: attention over a cache, row copies, top k. Definition:
 * ref_decode.c.
 *
 * attention_step	out = softmax(q k[index]^T / sqrt(W)) v[index], for each row and head
 *	grid (rows, heads), WARPS warps a block, so 4 WARPS groups of 8 lanes for heads of 64 columns.
 *	Group g takes keys g, g + 4 WARPS, …; each lane holds eight columns and an online softmax in
 *	registers (cuda_attention.cuh). Groups are merged by shuffles, then warps in shared memory.
 *	WARPS is 4, or 1 if the grid has work for all multiprocessors: then merging four warps of
 *	few keys each takes more time than the keys. If attention weights are wanted, scores go to
 *	scratch and step_weights averages them over heads.
 *
 * gather_rows, scatter_rows	a thread for eight columns of a row.
 *
 * top_k	the k greatest log-probabilities of a row of V logits; one block of 256 threads a row:
 *	1. each thread takes the maximum of its V / 256 logits (and the sum of exponentials);
 *	2. bound = the k-th greatest of these 256 maxima. At least k logits are >= bound, so no
 *	   logit below it can be among the k best;
 *	3. threads collect the logits >= bound in shared memory: a handful, in any order;
 *	4. rank of a candidate = number of better candidates; ties by id. So the result does not
 *	   depend on the order of collection.
 *	If more than MAX_CANDIDATES logits are equal to the bound, top_slowly() takes k passes.
 */
#include "kernels/cuda/cuda_attention.cuh"

#include <assert.h>
#include <math.h>

/* ---- attention ---------------------------------------------------------------------------- */

#define STEP_WARPS 4
#define STEP_MANY                                                                                  \
	2048 /* blocks from which one warp each is enough: 15 a multiprocessor of an H100 */

struct step_work {
	struct tensor out, q, k, v;
	float *scores, *lse; /* (R, H, index_stride), (R, H); NULL: no weights wanted */
	const int32_t *index, *length;
	int64_t index_stride;
	int32_t heads;
	int lanes; /* lanes of a group: a power of two */
	float scale;
};

/* Merge the groups of each warp, then the warps; the first warp gets the result. */
template <int WARPS> static __device__ void step_join_all(struct softmax_sum *s, int lanes)
{
	SHARED(struct softmax_sum, sums, [WARPS][32]);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	softmax_merge_warp(s, lanes);
	if (WARPS == 1)
		return;
	__syncthreads();
	sums[warp][lane] = *s;
	__syncthreads();
	if (warp == 0)
		for (int i = 1; i < WARPS; i++)
			softmax_merge(s, &sums[i][lane]);
}

/* Output columns [first, first + 8 * lanes) of the head. LANES 0: w.lanes, not a constant. */
template <enum access A, int LANES, int WARPS>
static __device__ __forceinline__ struct softmax_sum step_columns(const struct step_work &w,
								  struct tensor q, struct tensor k,
								  struct tensor v, int64_t first)
{
	const int lanes = LANES ? LANES : w.lanes, group = (int)threadIdx.x / lanes,
		  groups = WARPS * 32 / lanes;
	const int64_t row = blockIdx.x, col = (int)threadIdx.x % lanes * 8;
	const int32_t length = w.length[row], *index = w.index + row * w.index_stride;
	struct softmax_sum s = { LOWEST_SCORE, 0, { 0 } };
	float a[8];

	load_part<A>(a, q, row, col);
#pragma unroll 2
	for (int32_t at = 0; at < length; at += groups) {
		const int32_t j = at + group;
		const int64_t from = index[min(j, length - 1)];
		float values[8], score;

		load_part<A>(values, v, from, first + col);
		score = group_dot<A>(a, q, row, k, from, col, lanes) * w.scale;
		if (j >= length)
			continue;
		softmax_add_key(&s, score, 1, values);
		if (w.scores && col == 0 && first == 0)
			w.scores[(row * w.heads + blockIdx.y) * w.index_stride + j] = score;
	}
	step_join_all<WARPS>(&s, lanes);
	return s;
}

template <enum access A, int LANES, int WARPS>
static __global__ void __launch_bounds__(WARPS * 32, (A == ACCESS_F32 ? 12 : 16) / WARPS)
	attention_step(struct step_work w)
{
	kernel_begin();
	const struct tensor q = head_of(w.q, blockIdx.y, w.heads),
			    k = head_of(w.k, blockIdx.y, w.heads),
			    v = head_of(w.v, blockIdx.y, w.heads),
			    out = head_of(w.out, blockIdx.y, w.heads);
	const int lanes = LANES ? LANES : w.lanes;
	const int64_t row = blockIdx.x;

	for (int64_t first = 0; first < q.cols; first += lanes * 8) {
		const int64_t col = first + threadIdx.x * 8;
		struct softmax_sum s = step_columns<A, LANES, WARPS>(w, q, k, v, first);

		if ((int)threadIdx.x >= lanes)
			continue;
#pragma unroll
		for (int i = 0; i < 8; i++)
			s.v[i] = s.weights > 0 ? s.v[i] / s.weights : 0;
		if (col < q.cols)
			tensor_store8<A>(out, row, col, s.v);
		if (w.lse && col == 0)
			w.lse[row * w.heads + blockIdx.y] = s.greatest + logf(s.weights);
	}
}

/* weights = average over heads of e^(score - lse); one block for each row. */
static __global__ void step_weights(float *weights, const float *scores, const float *lse,
				    const int32_t *length, int64_t stride, int32_t heads)
{
	kernel_begin();
	const int64_t row = blockIdx.x;

	for (int64_t j = threadIdx.x; j < stride; j += blockDim.x) {
		float sum = 0;

		for (int32_t h = 0; h < heads && j < length[row]; h++)
			sum += __expf(scores[(row * heads + h) * stride + j] -
				      lse[row * heads + h]);
		weights[row * stride + j] = sum / (float)heads;
	}
}

template <int WARPS>
static void start_attention_step(struct dev *d, dim3 grid, enum access access,
				 const struct step_work &w)
{
	if (access == ACCESS_BF16 && w.lanes == 8)
		LAUNCH(d, (attention_step<ACCESS_BF16, 8, WARPS>), grid, WARPS * 32, 0, w);
	else if (access == ACCESS_F32 && w.lanes == 8)
		LAUNCH(d, (attention_step<ACCESS_F32, 8, WARPS>), grid, WARPS * 32, 0, w);
	else if (access != ACCESS_ANY && w.lanes == 8)
		LAUNCH(d, (attention_step<ACCESS_MIXED, 8, WARPS>), grid, WARPS * 32, 0, w);
	else if (access != ACCESS_ANY)
		LAUNCH(d, (attention_step<ACCESS_MIXED, 0, WARPS>), grid, WARPS * 32, 0, w);
	else
		LAUNCH(d, (attention_step<ACCESS_ANY, 0, WARPS>), grid, WARPS * 32, 0, w);
}

extern "C" void cuda_attention_step(struct dev *d, struct tensor out, float *weights,
				    struct tensor q, struct tensor k, struct tensor v,
				    const int32_t *index, const int32_t *length,
				    int64_t index_stride, int32_t heads)
{
	const int64_t width = q.cols / heads, n = weights ? q.rows * heads : 0;
	const dim3 grid((unsigned)q.rows, (unsigned)heads);
	enum access access = width % 8 ? ACCESS_ANY : access_of(out, q, k, v);
	struct step_work w = { out,
			       q,
			       k,
			       v,
			       NULL,
			       NULL,
			       index,
			       length,
			       index_stride,
			       heads,
			       group_lanes(width),
			       1 / sqrtf((float)width) };

	if (!q.rows)
		return;
	if (n) {
		w.scores = (float *)cuda_get_scratch(
			d, CUDA_SCRATCH_ATTENTION, (size_t)(n * (index_stride + 1)), sizeof(float));
		if (!w.scores)
			return;
		w.lse = w.scores + n * index_stride;
	}
	if (q.rows * heads >= STEP_MANY)
		start_attention_step<1>(d, grid, access, w);
	else
		start_attention_step<STEP_WARPS>(d, grid, access, w);
	if (weights)
		LAUNCH(d, step_weights, (unsigned)q.rows, 128, 0, weights, (const float *)w.scores,
		       (const float *)w.lse, length, index_stride, heads);
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define ROW_THREADS 128

/* out row to[i] = x row from[i]; NULL: i. */
template <enum access A>
static __global__ void copy_rows(struct tensor out, struct tensor x, const int32_t *to,
				 const int32_t *from, int64_t rows)
{
	kernel_begin();
	const int64_t eights = (out.cols + 7) / 8,
		      i = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x, row = i / eights,
		      col = (i - row * eights) * 8;
	float v[8];

	if (row >= rows)
		return;
	tensor_load8<A>(v, x, from ? from[row] : row, col);
	tensor_store8<A>(out, to ? to[row] : row, col, v);
}

static void start_copy_rows(struct dev *d, struct tensor out, struct tensor x, const int32_t *to,
			    const int32_t *from, int64_t rows)
{
	if (rows)
		LAUNCH_ACCESS(d, access_of(out, x), copy_rows,
			      (unsigned)CEIL_DIV(rows * CEIL_DIV(out.cols, 8), ROW_THREADS),
			      ROW_THREADS, 0, out, x, to, from, rows);
}

extern "C" void cuda_gather_rows(struct dev *d, struct tensor out, struct tensor x,
				 const int32_t *index)
{
	start_copy_rows(d, out, x, NULL, index, out.rows);
}

extern "C" void cuda_scatter_rows(struct dev *d, struct tensor out, struct tensor x,
				  const int32_t *index)
{
	start_copy_rows(d, out, x, index, NULL, x.rows);
}

/* ---- top k ----------------------------------------------------------------------------------- */

#define TOP_THREADS    256
#define MAX_CANDIDATES 1024 /* of a row, in shared memory */

struct top_work {
	float *values;
	int32_t *ids;
	struct tensor logits;
	int64_t n_real;
	int32_t k;
};

struct candidate {
	float x;
	int32_t id;
};

static __device__ __forceinline__ bool candidate_is_better(struct candidate a, struct candidate b)
{
	return a.x > b.x || (a.x == b.x && a.id < b.id);
}

/* The k-th greatest x of all threads; LOWEST_SCORE if k is greater than their number. */
static __device__ float kth_of_threads(float x, int32_t k)
{
	SHARED(float, all, [TOP_THREADS]);
	SHARED(float, found, [1]);
	int before = 0;

	if (threadIdx.x == 0)
		found[0] = LOWEST_SCORE;
	all[threadIdx.x] = x;
	__syncthreads();
	for (int i = 0; i < TOP_THREADS; i++)
		before += all[i] > x || (all[i] == x && i < (int)threadIdx.x);
	if (before == k - 1)
		found[0] = x;
	__syncthreads();
	return found[0];
}

/* The best candidate of the block, on all threads. */
static __device__ struct candidate best_of_block(struct candidate c)
{
	SHARED(struct candidate, best, [TOP_THREADS / 32]);

#pragma unroll
	for (int with = 16; with > 0; with >>= 1) {
		struct candidate other = { __shfl_xor_sync(ALL_LANES, c.x, with),
					   __shfl_xor_sync(ALL_LANES, c.id, with) };

		c = candidate_is_better(other, c) ? other : c;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		best[threadIdx.x / 32] = c;
	__syncthreads();
	for (int i = 0; i < TOP_THREADS / 32; i++)
		c = candidate_is_better(best[i], c) ? best[i] : c;
	return c;
}

/* Too many equal logits: k passes over the row; each finds the best one after the last. */
template <enum access A>
static __device__ void top_slowly(const struct top_work &w, int64_t row, float lse)
{
	struct candidate last = { INFINITY, -1 };

	for (int32_t i = 0; i < w.k; i++) {
		struct candidate best = { -INFINITY, INT32_MAX };

		for (int64_t col = threadIdx.x * 8; col < w.n_real; col += TOP_THREADS * 8) {
			float v[8];

			tensor_load8<A>(v, w.logits, row, col);
#pragma unroll
			for (int e = 0; e < 8; e++) {
				struct candidate c = { v[e], (int32_t)col + e };

				if (c.id < w.n_real && candidate_is_better(last, c) &&
				    candidate_is_better(c, best))
					best = c;
			}
		}
		last = best_of_block(best);
		if (threadIdx.x == 0) {
			w.values[row * w.k + i] = last.x - lse;
			w.ids[row * w.k + i] = last.id;
		}
	}
}

/* Returns the greatest logit of this thread; *lse: log sum exp of the row, on all threads. */
template <enum access A>
static __device__ float top_survey(const struct top_work &w, int64_t row, float *lse)
{
	float own = LOWEST_SCORE, sum = 0, greatest;

	for (int64_t col = threadIdx.x * 8; col < w.n_real; col += TOP_THREADS * 8) {
		float v[8], before = own;

		tensor_load8<A>(v, w.logits, row, col);
#pragma unroll
		for (int i = 0; i < 8; i++)
			own = fmaxf(own, col + i < w.n_real ? v[i] : LOWEST_SCORE);
		sum *= __expf(before - own);
#pragma unroll
		for (int i = 0; i < 8; i++)
			sum += col + i < w.n_real ? __expf(v[i] - own) : 0;
	}
	greatest = block_max<TOP_THREADS>(own);
	*lse = greatest + logf(block_sum<TOP_THREADS>(sum * __expf(own - greatest)));
	return own;
}

template <enum access A>
static __global__ void __launch_bounds__(TOP_THREADS) top_k(struct top_work w)
{
	kernel_begin();
	SHARED(struct candidate, list, [MAX_CANDIDATES]);
	SHARED(int, n, [1]);
	const int64_t row = blockIdx.x;
	float lse, own = top_survey<A>(w, row, &lse), bound;

	if (threadIdx.x == 0)
		n[0] = 0;
	bound = kth_of_threads(own, w.k);
	/* atomicAdd gives any order; the ranks below do not depend on it */
	for (int64_t col = threadIdx.x * 8; col < w.n_real; col += TOP_THREADS * 8) {
		float v[8];

		if (own < bound)
			break;
		tensor_load8<A>(v, w.logits, row, col);
#pragma unroll
		for (int i = 0; i < 8; i++) {
			if (col + i >= w.n_real || !(v[i] >= bound || bound <= LOWEST_SCORE))
				continue;
			int at = atomicAdd(&n[0], 1);

			if (at < MAX_CANDIDATES)
				list[at] = candidate{ v[i], (int32_t)col + i };
		}
	}
	__syncthreads();
	if (n[0] > MAX_CANDIDATES) {
		top_slowly<A>(w, row, lse);
		return;
	}
	for (int i = threadIdx.x; i < n[0]; i += TOP_THREADS) {
		int rank = 0;

		for (int j = 0; j < n[0]; j++)
			rank += candidate_is_better(list[j], list[i]);
		if (rank >= w.k)
			continue;
		w.values[row * w.k + rank] = list[i].x - lse;
		w.ids[row * w.k + rank] = list[i].id;
	}
}

extern "C" void cuda_top_k(struct dev *d, float *values, int32_t *ids, struct tensor logits,
			   int64_t n_real, int32_t k)
{
	const struct top_work w = { values, ids, logits, n_real, k };

	assert(k > 0 && k <= n_real && n_real <= logits.cols);
	if (logits.rows)
		LAUNCH_ACCESS(d, access_of(logits), top_k, (unsigned)logits.rows, TOP_THREADS, 0,
			      w);
}
