/*
 * cuda_attention.cu - attention within each sentence, forward, on tensor cores (after Dao 2023,
 * FlashAttention-2). Formulas: ref_attention.c.
 *
 * The batch is packed, without padding: the rows of all sentences follow each other.
 *
 *	grid	x: sentence * heads + head	y: tile of queries of that sentence
 *	block	1, 2 or 4 warps, by the longest sentence; a warp has 16 queries
 *
 *		   keys of the sentence, 64 at a time
 *	queries	 +-----------+-----------+
 *	 warp 0  |  s = q kT |  next     |	shared memory: q tile, k tile, v tile (bf16)
 *	 warp 1  |  16 x 64  |  tile     |	registers: q, s (16 x 64 scores), o (16 x 64 output),
 *		 +-----------+-----------+		   greatest and sum of each row
 *
 * For each tile of keys: s = q kT, causal mask, online softmax (a larger maximum rescales o), dropout,
 * o += p v. Sentences are short (about 30 tokens), so most blocks see one tile of keys only. The
 * copy of v runs while s is computed, that of the next k while o is computed (cp.async).
 *
 * No score goes to memory, and no two blocks add to the same output: bits repeat. Other widths and
 * types, and chips without bf16 tensor cores, use cuda_attention_any.cu.
 */
#include "kernels/cuda/cuda_attention_tiles.cuh"

#include <assert.h>
#include <math.h>

#define KEYS 64 /* keys of a tile */

/* The state of a warp: 16 queries, and the current tile of keys. */
struct forward {
	float o[8][4], s[8][4]; /* output and scores; [column / 8][element], see the tiles header */
	/* of rows group and group + 8: greatest score; sum of the weights in this lane */
	float greatest[2], weights[2];
	int query, key; /* first query of the warp, first key of the tile; in the sentence */
	int last_query; /* queries of the sentence */
	int n_here;	/* keys of the tile that the warp sees; <= 0: none */
};

/* s = q kT / sqrt(64) * log2(e), so that exp_2() gives e^score; hidden keys get -infinity. */
static __device__ __forceinline__ void forward_scores(struct forward *f, const uint32_t q[4][4],
						      const uint16_t (*k)[PITCH],
						      const struct attention_work &w, int n_k)
{
	const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
	for (int c = 0; c < 4; c++) {
#pragma unroll
		for (int e = 0; e < 8; e++)
			f->s[2 * c + e / 4][e % 4] = 0;
		if (c * 16 < f->n_here)
			multiply_rows(f->s + 2 * c, q, k, c * 16);
#pragma unroll
		for (int e = 0; e < 8; e++) {
			const int key = f->key + c * 16 + e / 4 * 8 + 2 * t + e % 2,
				  query = f->query + group + e % 4 / 2 * 8;
			float *s = &f->s[2 * c + e / 4][e % 4];

			if (c * 16 >= f->n_here || key >= n_k || (w.causal && key > query))
				*s = -INFINITY;
			else
				*s *= w.scale * LOG2E;
		}
	}
}

/* s = e^(s - greatest); rescale o and weights if the maximum has grown. */
static __device__ __forceinline__ void forward_softmax(struct forward *f)
{
#pragma unroll
	for (int half = 0; half < 2; half++) {
		float greatest = f->greatest[half], old, zero;

#pragma unroll
		for (int i = 0; i < 16; i++)
			greatest = fmaxf(greatest, f->s[i / 2][2 * half + i % 2]);
		greatest = fmaxf(greatest, __shfl_xor_sync(ALL_LANES, greatest, 1));
		greatest = fmaxf(greatest, __shfl_xor_sync(ALL_LANES, greatest, 2));
		zero = greatest == -INFINITY ? 0 : greatest; /* nothing seen yet */
		old = exp_2(f->greatest[half] - zero);
		f->greatest[half] = greatest;
		f->weights[half] *= old;
#pragma unroll
		for (int i = 0; i < 16; i++) {
			float *s = &f->s[i / 2][2 * half + i % 2];

			*s = exp_2(*s - zero);
			f->weights[half] += *s;
			f->o[i / 2][2 * half + i % 2] *= old;
		}
	}
}

/*
 * Zero the dropped ones of 16 x 16 weights, from this query and key on. They need 32 Philox blocks,
 * each of eight keys of one query. Each lane computes one; then the four lanes that hold the
 * weights of a query exchange words.
 */
static __device__ __forceinline__ void forward_drop(float p[2][4], const struct attention_work &w,
						    const struct sentence &s, int query, int key)
{
	const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const int64_t row = s.first_q + query + group + t % 2 * 8;
	/* drop_now() at each call: no register is left to hold the step */
	struct rng_block b = rng_block_at(drop_now(w.drop).key,
					  attention_block(row, s.head, w.heads, key + t / 2 * 8));

	quad_transpose(b.v);
#pragma unroll
	for (int i = 0; i < 4; i++) {
		float *two = &p[i / 2][i % 2 * 2];

		two[0] = (b.v[i] & 0xFFFF) >= w.drop.threshold ? two[0] : 0;
		two[1] = b.v[i] >> 16 >= w.drop.threshold ? two[1] : 0;
	}
}

/* o += dropout(p) v; the factor 1 / (1 - rate) is applied at the end. */
static __device__ __forceinline__ void forward_values(struct forward *f, const uint16_t (*v)[PITCH],
						      const struct attention_work &w,
						      const struct sentence &s)
{
#pragma unroll
	for (int c = 0; c < 4; c++) {
		uint32_t a[4];

		if (c * 16 >= f->n_here)
			continue;
		if (w.drop.threshold)
			forward_drop(f->s + 2 * c, w, s, f->query, f->key + c * 16);
		pack_left(a, f->s + 2 * c);
		multiply_columns(f->o, a, v, c * 16);
	}
}

/* Divide by the sums of weights; store the output and lse. */
template <enum access A>
static __device__ __forceinline__ void
forward_finish(const struct forward *f, const struct attention_work &w, const struct sentence &s)
{
	const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const int n = f->last_query - f->query;
	const int64_t row = s.first_q + f->query;
	float factor[2];

#pragma unroll
	for (int half = 0; half < 2; half++) {
		float sum = f->weights[half];

		sum += __shfl_xor_sync(ALL_LANES, sum, 1);
		sum += __shfl_xor_sync(ALL_LANES, sum, 2);
		factor[half] = sum > 0 ? w.drop.scale / sum : 0;
		if (t == 0 && group + 8 * half < n)
			w.lse[(row + group + 8 * half) * w.heads + s.head] =
				f->greatest[half] * LN2 + logf(sum);
	}
	store_rows<A>(head_of(w.out, s.head, w.heads), row, n, f->o, factor);
}

template <enum access A, int N_WARPS>
static __global__ void __launch_bounds__(N_WARPS * 32, 16 / N_WARPS)
	attention_tiles(struct attention_work w)
{
	kernel_begin();
	SHARED(uint16_t, q, [N_WARPS * 16][PITCH]);
	SHARED(uint16_t, k, [KEYS][PITCH]);
	SHARED(uint16_t, v, [KEYS][PITCH]);
	const struct sentence s = sentence_at(w, blockIdx.x);
	const struct tensor all_k = head_of(w.k, s.head, w.heads),
			    all_v = head_of(w.v, s.head, w.heads);
	const int first = blockIdx.y * N_WARPS * 16, warp = threadIdx.x / 32,
		  last_key = w.causal ? min(s.n_k, first + N_WARPS * 16) : s.n_k;
	struct forward f = { {}, {}, { -INFINITY, -INFINITY }, {}, first + warp * 16, 0, s.n_q, 0 };
	int seen = w.causal ? min(s.n_k, f.query + 16) : s.n_k;
	uint32_t left[4][4];

	if (!HAS_TENSOR_CORES || first >= s.n_q)
		return;
	if (f.query >= s.n_q)
		seen = 0;
	load_tile<A>(q, head_of(w.q, s.head, w.heads), s.first_q + first, s.n_q - first,
		     N_WARPS * 16);
	load_tile<A>(k, all_k, s.first_k, last_key, KEYS);
	copy_commit();
	load_tile<A>(v, all_v, s.first_k, last_key, KEYS);
	copy_commit();
	copy_wait<1>();
	__syncthreads();
	load_left(left, q, warp * 16);
	for (; f.key < last_key; f.key += KEYS) {
		const int next = f.key + KEYS;

		f.n_here = seen - f.key;
		if (f.n_here > 0)
			forward_scores(&f, left, k, w, s.n_k);
		__syncthreads(); /* all warps have read k */
		if (next < last_key)
			load_tile<A>(k, all_k, s.first_k + next, last_key - next, KEYS);
		copy_commit();
		copy_wait<1>();
		__syncthreads(); /* v has arrived */
		if (f.n_here > 0) {
			forward_softmax(&f);
			forward_values(&f, v, w, s);
		}
		__syncthreads(); /* all warps have read v */
		if (next < last_key)
			load_tile<A>(v, all_v, s.first_k + next, last_key - next, KEYS);
		copy_commit();
		copy_wait<1>();
		__syncthreads(); /* the next k has arrived */
	}
	copy_wait<0>();
	forward_finish<A>(&f, w, s);
}

template <enum access A>
static void start_tiles(struct dev *d, const struct attention_work &w, struct attention_shape shape)
{
	assert(w.q.cols == (int64_t)w.heads * WIDTH && shape.max_k <= 4096);
	const int warps = shape.max_q <= 16 ? 1 : shape.max_q <= 32 ? 2 : 4;
	const dim3 grid((unsigned)shape.n * (unsigned)shape.heads,
			(unsigned)CEIL_DIV(shape.max_q, warps * 16));

	if (warps == 1)
		LAUNCH(d, (attention_tiles<A, 1>), grid, 32, 0, w);
	else if (warps == 2)
		LAUNCH(d, (attention_tiles<A, 2>), grid, 64, 0, w);
	else
		LAUNCH(d, (attention_tiles<A, 4>), grid, 128, 0, w);
}

extern "C" void cuda_attention(struct dev *d, struct tensor out, float *lse, struct tensor q,
			       struct tensor k, struct tensor v, struct attention_shape shape,
			       struct dropout drop)
{
	struct attention_work w = attention_work_of(out, lse, q, k, v, &shape);
	enum access access = access_of(out, q, k, v);

	w.drop = drop_of(drop);
	if (!shape.n || !shape.max_q)
		return;
	if (!is_for_tiles(d, w, access))
		cuda_attention_any(d, w, shape);
	else if (access == ACCESS_BF16)
		start_tiles<ACCESS_BF16>(d, w, shape);
	else
		start_tiles<ACCESS_MIXED>(d, w, shape);
}
