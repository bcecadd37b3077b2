/*
 * cuda_attention_grad.cu - gradients of attention, on tensor cores. Formulas: ref_attention.c.
 *
 *	p = e^(score - lse), dscore = p (m dout vT - delta) / sqrt(W), delta = dout . out
 *	dq = dscore k,  dk = dscoreT q,  dv = (m p)T dout
 *
 *	grid	x: sentence * heads + head; a block computes all of dq, dk and dv of its item
 *	block	1, 2 or 4 warps; tiles of SIZE = 16 * warps keys and queries
 *
 *	for each tile of keys:			a warp owns 16 keys: k, dk, dv in registers
 *	    for each tile of queries:
 *		load q, dout; compute delta
 *		for 16 queries at a time:	scores with keys as rows (16 keys x 16 queries), so that
 *			p and dscore in registers are left operands of dv += pT dout, dk += dscoreT q
 *			dscore also goes to shared memory
 *		dq: now a warp owns 16 queries and reads dscore of all keys of the tile
 *
 * Shared memory holds the tiles k, v, q, dout and dscore; v is not in registers, which are scarce. No
 * output is added to by two blocks, and no atomics are used, so bits repeat. If a sentence is longer
 * than a tile, the same thread adds the parts of dq in memory (float), tile after tile.
 *
 * Other widths and types use cuda_attention_any.cu.
 */
#include "kernels/cuda/cuda_attention_tiles.cuh"

#include <assert.h>

/* Shared memory of a block; SIZE keys and SIZE queries. */
template <int SIZE> struct backward_tiles {
	uint16_t k[SIZE][PITCH], v[SIZE][PITCH], q[SIZE][PITCH], dout[SIZE][PITCH];
	uint16_t dscore[SIZE][SIZE + 8]; /* (keys, queries) */
	float lse[SIZE], delta[SIZE];	 /* for each query; delta = dout . out */
};

/* Does any of 16 queries see any of 16 keys? Both arguments are the first ones. */
static __device__ __forceinline__ bool is_tile_visible(const struct attention_work &w,
						       const struct sentence &s, int key, int query)
{
	return key < s.n_k && query < s.n_q && (!w.causal || key <= query + 15);
}

/* Load q, dout, lse and delta of SIZE queries, from query `first`. */
template <enum access A, int SIZE>
static __device__ __forceinline__ void load_queries(struct backward_tiles<SIZE> &tiles,
						    const struct attention_work &w,
						    const struct sentence &s, int first)
{
	const struct tensor dout = head_of(w.dout, s.head, w.heads),
			    out = head_of(w.out, s.head, w.heads);
	const int n = s.n_q - first;

	load_tile<A>(tiles.q, head_of(w.q, s.head, w.heads), s.first_q + first, n, SIZE);
	load_tile<A>(tiles.dout, dout, s.first_q + first, n, SIZE);
	copy_commit();
#pragma unroll 2
	for (int i = threadIdx.x; i < SIZE * 8; i += SIZE * 2) {
		const int r = i / 8, c = i % 8;
		const int64_t row = s.first_q + first + r;
		float a[8], b[8], sum = 0;

		if (r < n) {
			tensor_load8<A>(a, dout, row, c * 8);
			tensor_load8<A>(b, out, row, c * 8);
#pragma unroll
			for (int e = 0; e < 8; e++)
				sum += a[e] * b[e];
		}
		sum += __shfl_xor_sync(ALL_LANES, sum, 1);
		sum += __shfl_xor_sync(ALL_LANES, sum, 2);
		sum += __shfl_xor_sync(ALL_LANES, sum, 4);
		if (c == 0) {
			tiles.delta[r] = sum;
			tiles.lse[r] = r < n ? w.lse[row * w.heads + s.head] : 0;
		}
	}
}

/*
 * Dropout mask of 16 keys x 16 queries, for the rows of this lane: bit query belongs to key `group`,
 * bit 16 + query to key `group` + 8. Each lane computes one of the 32 Philox blocks (eight keys of a
 * query); ballots distribute the bits.
 */
static __device__ __forceinline__ unsigned
backward_keep_mask(const struct attention_work &w, const struct sentence &s, int key, int query)
{
	const int lane = threadIdx.x % 32;
	const int64_t row = s.first_q + query + lane % 16;
	const struct rng_block b = rng_block_at(
		w.drop.key, attention_block(row, s.head, w.heads, key + lane / 16 * 8));
	unsigned mine = 0;

#pragma unroll
	for (int e = 0; e < 8; e++) {
		const uint32_t bits = b.v[e >> 1] >> ((e & 1) * 16) & 0xFFFF;
		unsigned keeps = __ballot_sync(ALL_LANES, bits >= w.drop.threshold);

		mine = lane / 4 == e ? keeps : mine;
	}
	return mine;
}

/* The state of a warp: its 16 keys. */
struct backward {
	uint32_t k[4][4];	  /* as left operand; v is read from shared memory each time */
	float dk[8][4], dv[8][4]; /* sums over queries */
	int key;		  /* first key of the warp, in the sentence */
};

/* 16 queries: row `at` and on in the tile, `query` and on in the sentence. */
template <int SIZE>
static __device__ __forceinline__ void
backward_pairs(struct backward *b, struct backward_tiles<SIZE> &tiles,
	       const struct attention_work &w, const struct sentence &s, int at, int query)
{
	const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
	const unsigned keeps = w.drop.threshold ? backward_keep_mask(w, s, b->key, query) : ~0u;
	float p[2][4] = {}, dp[2][4] = {};
	uint32_t v[4][4], left[4];

	multiply_rows(p, b->k, tiles.q, at);
	load_left(v, tiles.v, b->key % SIZE);
	multiply_rows(dp, v, tiles.dout, at);
#pragma unroll
	for (int e = 0; e < 8; e++) {
		const int in_tile = e / 4 * 8 + 2 * t + e % 2, half = e % 4 / 2,
			  i = query + in_tile, j = b->key + group + 8 * half;
		const bool seen = j < s.n_k && i < s.n_q && (!w.causal || j <= i);
		const float keep = keeps >> (16 * half + in_tile) & 1 ? w.drop.scale : 0;
		float *weight = &p[e / 4][e % 4], *dscore = &dp[e / 4][e % 4];

		*weight = seen ? exp_2((*weight * w.scale - tiles.lse[at + in_tile]) * LOG2E) : 0;
		*dscore = *weight * (*dscore * keep - tiles.delta[at + in_tile]) * w.scale;
		*weight *= keep;
	}
	pack_left(left, p);
	multiply_columns(b->dv, left, tiles.dout, at);
	pack_left(left, dp);
	multiply_columns(b->dk, left, tiles.q, at);
#pragma unroll
	for (int i = 0; i < 4; i++)
		*(uint32_t *)&tiles
			 .dscore[b->key % SIZE + group + i % 2 * 8][at + i / 2 * 8 + 2 * t] =
			left[i];
}

/* acc = dscore k: the terms of one tile of keys for dq of the 16 queries of a warp. */
template <int SIZE>
static __device__ __forceinline__ void
backward_dq(float acc[8][4], struct backward_tiles<SIZE> &tiles, const struct attention_work &w,
	    const struct sentence &s, int key, int query)
{
	const int lane = threadIdx.x % 32;

#pragma unroll
	for (int c = 0; c < SIZE / 16; c++) {
		uint32_t left[4];

		if (!is_tile_visible(w, s, key + 16 * c, query))
			continue;
		load_matrices<true>(left, &tiles.dscore[16 * c + lane / 16 * 8 + lane % 8]
						       [query % SIZE + lane / 8 % 2 * 8]);
		multiply_columns(acc, left, tiles.k, 16 * c);
	}
}

/* acc += the sum of earlier tiles of keys, in w.scratch (rows of q, all columns); store it there. */
static __device__ __forceinline__ void backward_add_partial_dq(float acc[8][4],
							       const struct attention_work &w,
							       const struct sentence &s, int query,
							       bool is_first)
{
	const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
	for (int i = 0; i < 16; i++) {
		const int half = i % 2, r = query + group + 8 * half;
		float *two = &acc[i / 2][2 * half];
		float2 *at = (float2 *)(w.scratch + (s.first_q + r) * w.q.cols + s.head * WIDTH +
					i / 2 * 8 + 2 * t);

		if (r >= s.n_q)
			continue;
		if (!is_first) {
			two[0] += at->x;
			two[1] += at->y;
		}
		*at = make_float2(two[0], two[1]);
	}
}

/* One tile of queries and one tile of keys. */
template <enum access A, int SIZE>
static __device__ __forceinline__ void
backward_tile(struct backward *b, struct backward_tiles<SIZE> &tiles,
	      const struct attention_work &w, const struct sentence &s, int key, int first)
{
	const int query = first + threadIdx.x / 32 * 16;
	const int last_key = w.causal ? min(s.n_k - 1, first + SIZE - 1) : s.n_k - 1;
	const float one[2] = { 1, 1 };
	float acc[8][4] = {};

	load_queries<A>(tiles, w, s, first);
	copy_wait<0>();
	__syncthreads();
	if (first == (w.causal ? key : 0)) /* first tile of queries: the keys have just arrived */
		load_left(b->k, tiles.k, b->key % SIZE);
	for (int c = 0; c < SIZE; c += 16)
		if (is_tile_visible(w, s, b->key, first + c))
			backward_pairs(b, tiles, w, s, c, first + c);
	__syncthreads();
	if (query < s.n_q) {
		backward_dq(acc, tiles, w, s, key, query);
		if (s.n_k > SIZE)
			backward_add_partial_dq(acc, w, s, query, key == 0);
		if (key + SIZE > last_key)
			store_rows<A>(head_of(w.dq, s.head, w.heads), s.first_q + query,
				      s.n_q - query, acc, one);
	}
	__syncthreads(); /* all warps have read the tiles */
}

/* Load tiles of keys and values, from key `first` of the sentence. */
template <enum access A, int SIZE>
static __device__ __forceinline__ void load_keys(struct backward_tiles<SIZE> &tiles,
						 const struct attention_work &w,
						 const struct sentence &s, int first)
{
	load_tile<A>(tiles.k, head_of(w.k, s.head, w.heads), s.first_k + first, s.n_k - first,
		     SIZE);
	load_tile<A>(tiles.v, head_of(w.v, s.head, w.heads), s.first_k + first, s.n_k - first,
		     SIZE);
	copy_commit();
}

template <enum access A>
static __device__ __forceinline__ void store_key_gradients(const struct backward &b,
							   const struct attention_work &w,
							   const struct sentence &s)
{
	const float one[2] = { 1, 1 };

	copy_wait<0>();
	store_rows<A>(head_of(w.dk, s.head, w.heads), s.first_k + b.key, s.n_k - b.key, b.dk, one);
	store_rows<A>(head_of(w.dv, s.head, w.heads), s.first_k + b.key, s.n_k - b.key, b.dv, one);
}

template <enum access A, int N_WARPS>
static __global__ void __launch_bounds__(N_WARPS * 32, (A == ACCESS_BF16 ? 12 : 8) / N_WARPS)
	attention_grad_tiles(struct attention_work w)
{
	kernel_begin();
	enum { SIZE = N_WARPS * 16 };
	SHARED(struct backward_tiles<SIZE>, memory, [1]);
	struct backward_tiles<SIZE> &tiles = memory[0];
	const struct sentence s = sentence_at(w, blockIdx.x);

	if (!s.n_q && !s.n_k)
		return;
	w.drop = drop_now(w.drop);
	for (int key = 0; HAS_TENSOR_CORES && (key == 0 || key < s.n_k); key += SIZE) {
		struct backward b = {};

		b.key = key + threadIdx.x / 32 * 16;
		load_keys<A>(tiles, w, s, key);
		for (int first = w.causal ? key : 0; first < s.n_q; first += SIZE)
			backward_tile<A>(&b, tiles, w, s, key, first);
		store_key_gradients<A>(b, w, s);
	}
}

template <enum access A>
static void start_grad_tiles(struct dev *d, struct attention_work w, struct attention_shape shape)
{
	const int32_t longest = MAX(shape.max_q, shape.max_k);
	const unsigned grid = (unsigned)shape.n * (unsigned)shape.heads;

	assert(w.q.cols == (int64_t)w.heads * WIDTH && shape.max_k <= 4096);
	if (shape.max_k > 64) { /* several tiles of keys: partial sums of dq */
		w.scratch = (float *)cuda_get_scratch(d, CUDA_SCRATCH_ATTENTION,
						      (size_t)(w.q.rows * w.q.cols), sizeof(float));
		if (!w.scratch)
			return;
	}
	if (longest <= 16)
		LAUNCH(d, (attention_grad_tiles<A, 1>), grid, 32, 0, w);
	else if (longest <= 32)
		LAUNCH(d, (attention_grad_tiles<A, 2>), grid, 64, 0, w);
	else
		LAUNCH(d, (attention_grad_tiles<A, 4>), grid, 128, 0, w);
}

extern "C" void cuda_attention_grad(struct dev *d, struct tensor dq, struct tensor dk,
				    struct tensor dv, struct tensor dout, struct tensor out,
				    const float *lse, struct tensor q, struct tensor k,
				    struct tensor v, struct attention_shape shape,
				    struct dropout drop)
{
	struct attention_work w = attention_work_of(out, (float *)lse, q, k, v, &shape);
	enum access access = access_of(dq, dk, dv, dout, out, q, k, v);

	w.drop = drop_of(drop);
	w.dq = dq;
	w.dk = dk;
	w.dv = dv;
	w.dout = dout;
	if (!shape.n || (!shape.max_q && !shape.max_k))
		return;
	if (!is_for_tiles(d, w, access))
		cuda_attention_grad_any(d, w, shape);
	else if (access == ACCESS_BF16)
		start_grad_tiles<ACCESS_BF16>(d, w, shape);
	else
		start_grad_tiles<ACCESS_MIXED>(d, w, shape);
}
