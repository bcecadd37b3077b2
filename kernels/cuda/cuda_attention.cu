/*
 * cuda_attention.cu - see cuda.h: attention within each sentence, on tensor cores.
 *
 * A block has a sentence, a head and a tile of queries, each warp 16 of them,
 * and goes through the keys 64 at a time (Dao 2023, FlashAttention-2). Sentences
 * are short: most often that is once. What tensor cores do not take goes to
 * cuda_attention_any.cu.
 */
#include "kernels/cuda/cuda_attention_tiles.cuh"

#include <math.h>

#define KEYS 64 /* of a tile */

/* 16 queries of a warp against one tile of keys. */
struct forward {
	float o[8][4], s[8][4];
	/* of the row group and the one 8 below; weights: this lane's share */
	float greatest[2], weights[2];
	int query, key; /* first of the sentence's */
	int last_query; /* the first that is none */
	int n_here;	/* keys of the tile that are seen */
};

/* Scores in the exponent of 2. */
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
 * Zero what dropout drops of 16 by 16 weights from this query and key on. Each lane makes one of
 * the 32 blocks of random numbers, of eight keys of one query, and the four lanes that hold the
 * query's weights exchange them.
 */
static __device__ __forceinline__ void forward_drop(float p[2][4], const struct attention_work &w,
						    const struct sentence &s, int query, int key)
{
	const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const int64_t row = s.first_q + query + group + t % 2 * 8;
	/* read here, each time: there is no register left to keep the moment in */
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
	SHARED(uint16_t, q, [N_WARPS * 16][PITCH]);
	SHARED(uint16_t, k, [KEYS][PITCH]);
	SHARED(uint16_t, v, [KEYS][PITCH]);
	const struct sentence s = sentence_at(w, blockIdx.x);
	const struct tensor all_k = head_of(w.k, s.head, w.heads),
			    all_v = head_of(w.v, s.head, w.heads);
	const int first = blockIdx.y * N_WARPS * 16, warp = threadIdx.x / 32,
		  most = w.causal ? min(s.n_k, first + N_WARPS * 16) : s.n_k;
	struct forward f = { {}, {}, { -INFINITY, -INFINITY }, {}, first + warp * 16, 0, s.n_q, 0 };
	int seen = w.causal ? min(s.n_k, f.query + 16) : s.n_k;
	uint32_t left[4][4];

	if (!HAS_TENSOR_CORES || first >= s.n_q)
		return;
	if (f.query >= s.n_q)
		seen = 0;
	load_tile<A>(q, head_of(w.q, s.head, w.heads), s.first_q + first, s.n_q - first,
		     N_WARPS * 16);
	load_tile<A>(k, all_k, s.first_k, most, KEYS);
	copy_commit();
	load_tile<A>(v, all_v, s.first_k, most, KEYS);
	copy_commit();
	copy_wait<1>();
	__syncthreads();
	load_left(left, q, warp * 16);
	for (; f.key < most; f.key += KEYS) {
		const int next = f.key + KEYS;

		f.n_here = seen - f.key;
		if (f.n_here > 0)
			forward_scores(&f, left, k, w, s.n_k);
		__syncthreads(); /* all have read k */
		if (next < most)
			load_tile<A>(k, all_k, s.first_k + next, most - next, KEYS);
		copy_commit();
		copy_wait<1>();
		__syncthreads(); /* v is there */
		if (f.n_here > 0) {
			forward_softmax(&f);
			forward_values(&f, v, w, s);
		}
		__syncthreads(); /* all have read v */
		if (next < most)
			load_tile<A>(v, all_v, s.first_k + next, most - next, KEYS);
		copy_commit();
		copy_wait<1>();
		__syncthreads(); /* k is there */
	}
	copy_wait<0>();
	forward_finish<A>(&f, w, s);
}

template <enum access A>
static void start_tiles(struct dev *d, const struct attention_work &w, struct attention_shape shape)
{
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
