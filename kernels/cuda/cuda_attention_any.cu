/*
 * cuda_attention_any.cu - attention, forward and backward, for any type, width and alignment, without
 * tensor cores. Formulas: ref_attention.c.
 *
 *	grid	x: sentence * heads + head	y: 16 rows (queries; for dk and dv: keys)
 *	block	4 warps; a warp computes one row after the other
 *	warp	groups of lanes, eight columns a lane (cuda_attention.cuh); with heads of 64 columns:
 *
 *		lane	 0 … 7	    8 … 15    16 … 23	 24 … 31
 *		columns	 0 … 63	    0 … 63     0 … 63	  0 … 63
 *		forward	 keys 0-7   8-15       16-23	  24-31		of the query of the warp
 *
 * Forward: each group takes eight keys at a time (one Philox block), with an online softmax in
 * registers; the groups are merged by shuffles at the end. Backward: attention_dq has a warp for each
 * query and stores delta = dout . out; attention_dkv, launched after it, has a warp for each key
 * and walks through the queries. Sums are in registers and in a fixed order.
 *
 * Heads wider than 256 columns take several rounds over the keys. Each round computes the same
 * scores again, and other columns of the result.
 */
#include "kernels/cuda/cuda_attention.cuh"

#define WARPS 4
#define BLOCK (WARPS * 32)
#define ROWS  16 /* rows of a block */

struct group {
	int lanes, number, count; /* lanes of a group; number of this group; groups of the warp */
	int64_t col;		  /* first column of this lane */
};

static __device__ __forceinline__ struct group group_of_lane(int lanes)
{
	const int lane = threadIdx.x % 32;
	struct group g = { lanes, lane / lanes, 32 / lanes, lane % lanes * 8 };

	return g;
}

/* Sums over the groups of a warp, on all lanes. */
static __device__ __forceinline__ void join_groups(float v[8], int lanes)
{
	for (int with = lanes; with < 32; with *= 2)
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] += __shfl_xor_sync(ALL_LANES, v[i], with);
}

/* Dropout mask of the eight keys from `first` on, a multiple of 8: bit i is set if key i is kept. */
static __device__ __forceinline__ unsigned
dropout_kept_keys(struct drop d, int64_t row, int32_t head, int32_t heads, int32_t first)
{
	unsigned kept = 0;

	if (d.threshold == 0)
		return 0xFF;
	const struct rng_block b = rng_block_at(d.key, attention_block(row, head, heads, first));

#pragma unroll
	for (int i = 0; i < 8; i++)
		kept |= (unsigned)((b.v[i >> 1] >> ((i & 1) * 16) & 0xFFFF) >= d.threshold) << i;
	return kept;
}

/* Number of keys that query i sees. */
static __device__ __forceinline__ int32_t count_seen_keys(const struct attention_work &w,
							  const struct sentence &s, int32_t i)
{
	return w.causal ? min(i + 1, s.n_k) : s.n_k;
}

/* ---- forward ------------------------------------------------------------------------------ */

/* Softmax and output columns [first + g.col, + 8) of query i, merged over all groups. */
template <enum access A>
static __device__ __forceinline__ struct softmax_sum
group_attend(const struct attention_work &w, const struct sentence &s, const struct group &g,
	     int32_t i, int64_t first)
{
	const struct tensor q = head_of(w.q, s.head, w.heads), k = head_of(w.k, s.head, w.heads),
			    v = head_of(w.v, s.head, w.heads);
	const int64_t row = s.first_q + i;
	const int32_t n = count_seen_keys(w, s, i);
	struct softmax_sum sum = { LOWEST_SCORE, 0, { 0 } };
	float a[8], values[8];

	load_part<A>(a, q, row, g.col);
	for (int32_t base = 0; base < n; base += g.count * 8) {
		const int32_t from = base + g.number * 8;
		const unsigned kept = dropout_kept_keys(w.drop, row, s.head, w.heads, from);

#pragma unroll
		for (int e = 0; e < 8; e++) {
			const int64_t key = s.first_k + min(from + e, n - 1);
			const float score = group_dot<A>(a, q, row, k, key, g.col, g.lanes);

			if (from + e >= n)
				continue;
			load_part<A>(values, v, key, first + g.col);
			softmax_add_key(&sum, score * w.scale, kept >> e & 1 ? w.drop.scale : 0,
					values);
		}
	}
	softmax_merge_warp(&sum, g.lanes);
	return sum;
}

template <enum access A>
static __global__ void __launch_bounds__(BLOCK, 3)
	attention_rows(struct attention_work w, int lanes)
{
	kernel_begin();
	const struct sentence s = sentence_at(w, blockIdx.x);
	const struct tensor out = head_of(w.out, s.head, w.heads);
	const struct group g = group_of_lane(lanes);
	const int32_t last = min((int32_t)(blockIdx.y + 1) * ROWS, s.n_q);

	w.drop = drop_now(w.drop);
	for (int32_t i = blockIdx.y * ROWS + threadIdx.x / 32; i < last; i += WARPS) {
		const int64_t row = s.first_q + i;

		for (int64_t first = 0; first < out.cols; first += lanes * 8) {
			struct softmax_sum sum = group_attend<A>(w, s, g, i, first);

#pragma unroll
			for (int e = 0; e < 8; e++)
				sum.v[e] = sum.weights > 0 ? sum.v[e] / sum.weights : 0;
			if (g.number == 0 && first + g.col < out.cols)
				tensor_store8<A>(out, row, first + g.col, sum.v);
			if (threadIdx.x % 32 == 0 && first == 0)
				w.lse[row * w.heads + s.head] = sum.greatest + logf(sum.weights);
		}
	}
}

void cuda_attention_any(struct dev *d, struct attention_work w, struct attention_shape shape)
{
	const int64_t width = w.q.cols / w.heads;
	const dim3 grid((unsigned)shape.n * (unsigned)w.heads,
			(unsigned)CEIL_DIV(shape.max_q, ROWS));
	enum access access = width % 8 ? ACCESS_ANY : access_of(w.out, w.q, w.k, w.v);

	LAUNCH_ACCESS(d, access, attention_rows, grid, BLOCK, 0, w, group_lanes(width));
}

/* ---- backward ------------------------------------------------------------------------------- */

struct grad_row {
	struct tensor q, k, v, dout; /* columns of the head */
	float a[8], b[8]; /* first columns, in this lane, of q and dout (dk, dv: of k and v) */
};

template <enum access A>
static __device__ __forceinline__ struct grad_row grad_row_of(const struct attention_work &w,
							      const struct sentence &s)
{
	struct grad_row r;

	r.q = head_of(w.q, s.head, w.heads);
	r.k = head_of(w.k, s.head, w.heads);
	r.v = head_of(w.v, s.head, w.heads);
	r.dout = head_of(w.dout, s.head, w.heads);
	return r;
}

/* sum = dq: the sum of dscore * k over the keys that query i sees; delta = dout . out. */
template <enum access A>
static __device__ __forceinline__ void
group_query_grad(float sum[8], const struct attention_work &w, const struct sentence &s,
		 const struct grad_row &r, const struct group &g, int32_t i, int64_t first,
		 float delta)
{
	const int64_t row = s.first_q + i;
	const float lse = w.lse[row * w.heads + s.head];
	const int32_t n = count_seen_keys(w, s, i);
	float values[8];

	for (int32_t base = 0; base < n; base += g.count * 8) {
		const int32_t from = base + g.number * 8;
		const unsigned kept = dropout_kept_keys(w.drop, row, s.head, w.heads, from);

#pragma unroll
		for (int e = 0; e < 8; e++) {
			const int64_t key = s.first_k + min(from + e, n - 1);
			float score = group_dot<A>(r.a, r.q, row, r.k, key, g.col, g.lanes),
			      dp = group_dot<A>(r.b, r.dout, row, r.v, key, g.col, g.lanes),
			      m = kept >> e & 1 ? w.drop.scale : 0,
			      dscore = __expf(score * w.scale - lse) * (dp * m - delta) * w.scale;

			load_part<A>(values, r.k, key, first + g.col);
#pragma unroll
			for (int c = 0; c < 8; c++)
				sum[c] += from + e < n ? dscore * values[c] : 0;
		}
	}
	join_groups(sum, g.lanes);
}

template <enum access A>
static __global__ void __launch_bounds__(BLOCK, 3) attention_dq(struct attention_work w, int lanes)
{
	kernel_begin();
	const struct sentence s = sentence_at(w, blockIdx.x);
	const struct tensor out = head_of(w.out, s.head, w.heads),
			    dq = head_of(w.dq, s.head, w.heads);
	const struct group g = group_of_lane(lanes);
	const int32_t last = min((int32_t)(blockIdx.y + 1) * ROWS, s.n_q);

	w.drop = drop_now(w.drop);
	for (int32_t i = blockIdx.y * ROWS + threadIdx.x / 32; i < last; i += WARPS) {
		const int64_t row = s.first_q + i;
		struct grad_row r = grad_row_of<A>(w, s);
		float delta;

		load_part<A>(r.a, r.q, row, g.col);
		load_part<A>(r.b, r.dout, row, g.col);
		delta = group_dot<A>(r.b, r.dout, row, out, row, g.col, lanes);
		if (threadIdx.x % 32 == 0)
			w.scratch[row * w.heads + s.head] = delta;
		for (int64_t first = 0; first < dq.cols; first += lanes * 8) {
			float sum[8] = { 0 };

			group_query_grad<A>(sum, w, s, r, g, i, first, delta);
			if (g.number == 0 && first + g.col < dq.cols)
				tensor_store8<A>(dq, row, first + g.col, sum);
		}
	}
}

/* dk, dv of key j: sums over the queries that see it. */
template <enum access A>
static __device__ __forceinline__ void
group_key_grad(float dk[8], float dv[8], const struct attention_work &w, const struct sentence &s,
	       const struct grad_row &r, const struct group &g, int32_t j, int64_t first)
{
	const int32_t begin = w.causal ? j : 0;
	const int64_t key = s.first_k + j;
	float values[8];

	for (int32_t base = begin; base < s.n_q; base += g.count) {
		const int32_t i = base + g.number;
		const int64_t row = s.first_q + min(i, s.n_q - 1);
		const int64_t at = row * w.heads + s.head;
		float score = group_dot<A>(r.a, r.k, key, r.q, row, g.col, g.lanes),
		      dp = group_dot<A>(r.b, r.v, key, r.dout, row, g.col, g.lanes), p, m, dscore;

		if (i >= s.n_q)
			continue;
		m = dropout_kept_keys(w.drop, row, s.head, w.heads, j) >> j % 8 & 1 ? w.drop.scale
										    : 0;
		p = __expf(score * w.scale - w.lse[at]);
		dscore = p * (dp * m - w.scratch[at]) * w.scale;
		load_part<A>(values, r.q, row, first + g.col);
#pragma unroll
		for (int c = 0; c < 8; c++)
			dk[c] += dscore * values[c];
		load_part<A>(values, r.dout, row, first + g.col);
#pragma unroll
		for (int c = 0; c < 8; c++)
			dv[c] += p * m * values[c];
	}
	join_groups(dk, g.lanes);
	join_groups(dv, g.lanes);
}

template <enum access A>
static __global__ void __launch_bounds__(BLOCK, 3) attention_dkv(struct attention_work w, int lanes)
{
	kernel_begin();
	const struct sentence s = sentence_at(w, blockIdx.x);
	const struct tensor dk = head_of(w.dk, s.head, w.heads),
			    dv = head_of(w.dv, s.head, w.heads);
	const struct group g = group_of_lane(lanes);
	const int32_t last = min((int32_t)(blockIdx.y + 1) * ROWS, s.n_k);

	w.drop = drop_now(w.drop);
	for (int32_t j = blockIdx.y * ROWS + threadIdx.x / 32; j < last; j += WARPS) {
		const int64_t key = s.first_k + j;
		struct grad_row r = grad_row_of<A>(w, s);

		load_part<A>(r.a, r.k, key, g.col);
		load_part<A>(r.b, r.v, key, g.col);
		for (int64_t first = 0; first < dk.cols; first += lanes * 8) {
			float k_sum[8] = { 0 }, v_sum[8] = { 0 };

			group_key_grad<A>(k_sum, v_sum, w, s, r, g, j, first);
			if (g.number != 0 || first + g.col >= dk.cols)
				continue;
			tensor_store8<A>(dk, key, first + g.col, k_sum);
			tensor_store8<A>(dv, key, first + g.col, v_sum);
		}
	}
}

void cuda_attention_grad_any(struct dev *d, struct attention_work w, struct attention_shape shape)
{
	const int64_t width = w.q.cols / w.heads;
	const unsigned pairs = (unsigned)shape.n * (unsigned)w.heads;
	const dim3 q_grid(pairs, (unsigned)CEIL_DIV(shape.max_q, ROWS)),
		k_grid(pairs, (unsigned)CEIL_DIV(shape.max_k, ROWS));
	const int lanes = group_lanes(width);
	enum access access =
		width % 8 ? ACCESS_ANY : access_of(w.dq, w.dk, w.dv, w.dout, w.out, w.q, w.k, w.v);

	/* dout . out of each query and head */
	w.scratch = (float *)cuda_get_scratch(d, CUDA_SCRATCH_ATTENTION,
					      (size_t)(w.q.rows * w.heads), sizeof(float));
	if (!w.scratch)
		return;
	if (shape.max_q)
		LAUNCH_ACCESS(d, access, attention_dq, q_grid, BLOCK, 0, w, lanes);
	if (shape.max_k)
		LAUNCH_ACCESS(d, access, attention_dkv, k_grid, BLOCK, 0, w, lanes);
}
