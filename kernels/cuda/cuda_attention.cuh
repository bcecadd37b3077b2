/*
 * cuda_attention.cuh - shared by the kernels of attention: cuda_attention.cu and
 * cuda_attention_grad.cu (tensor cores, heads of 64 columns), cuda_attention_any.cu (all other
 * shapes), cuda_decode.cu (one decoding step).
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_ATTENTION_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_ATTENTION_CUH

#include "kernels/cuda/cuda.cuh"

/* The arguments of attention and attention_grad. */
struct attention_work {
	struct tensor out, q, k, v;
	float *lse;
	const int32_t *q_start, *k_start;
	int32_t heads;
	bool causal;
	float scale; /* of scores: 1 / sqrt(columns of a head) */
	struct drop drop;
	struct tensor dq, dk, dv, dout; /* backward only */
	float *scratch; /* backward only: dq sums (grad_tiles), or dout . out (grad_any) */
};

void cuda_attention_any(struct dev *d, struct attention_work w, struct attention_shape shape);
void cuda_attention_grad_any(struct dev *d, struct attention_work w, struct attention_shape shape);

/* One head of one sentence: blockIdx.x = sentence * heads + head. */
struct sentence {
	int32_t head;
	int64_t first_q, first_k; /* first rows of the sentence */
	int32_t n_q, n_k;	  /* number of rows */
};

static __device__ __forceinline__ struct sentence sentence_at(const struct attention_work &w,
							      unsigned pair)
{
	const unsigned i = pair / w.heads;
	struct sentence s;

	s.head = (int32_t)(pair - i * w.heads);
	s.first_q = w.q_start[i];
	s.first_k = w.k_start[i];
	s.n_q = (int32_t)(w.q_start[i + 1] - s.first_q);
	s.n_k = (int32_t)(w.k_start[i + 1] - s.first_k);
	return s;
}

/* The Philox block for the eight keys around j (j & ~7 and on) of a query row: ops.def, attention. */
static __device__ __forceinline__ uint64_t attention_block(int64_t row, int32_t head, int32_t heads,
							   int32_t j)
{
	return (uint64_t)(row * heads + head) << 9 | (uint64_t)(j >> 3);
}

/*
 * ---- groups of lanes -------------------------------------------------------------------------
 *
 * Without tensor cores a group of lanes owns a row of a head, eight columns a lane: 64 columns need
 * 8 lanes, so a warp has 4 groups, and each takes every fourth key.
 */

/* Lanes of a group: a power of two. Heads wider than 256 columns take several rounds. */
static inline int group_lanes(int64_t width)
{
	int lanes = 1;

	while (lanes < 32 && lanes * 8 < width)
		lanes *= 2;
	return lanes;
}

/* tensor_load8(), but zeros if col is after the last column. */
template <enum access A>
static __device__ __forceinline__ void load_part(float v[8], struct tensor t, int64_t row,
						 int64_t col)
{
#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = 0;
	if (col < t.cols)
		tensor_load8<A>(v, t, row, col);
}

/* Dot product of two rows, on all lanes of the group; a: the first eight columns of q of this lane. */
template <enum access A>
static __device__ __forceinline__ float group_dot(const float a[8], struct tensor q, int64_t q_row,
						  struct tensor k, int64_t k_row, int64_t col,
						  int lanes)
{
	float x[8], y[8], sum = 0;

	load_part<A>(y, k, k_row, col);
#pragma unroll
	for (int i = 0; i < 8; i++)
		sum += a[i] * y[i];
	for (col += lanes * 8; col < q.cols; col += lanes * 8) {
		tensor_load8<A>(x, q, q_row, col);
		tensor_load8<A>(y, k, k_row, col);
#pragma unroll
		for (int i = 0; i < 8; i++)
			sum += x[i] * y[i];
	}
	for (int with = lanes / 2; with > 0; with /= 2)
		sum += __shfl_xor_sync(ALL_LANES, sum, with);
	return sum;
}

/*
 * Online softmax of the keys seen so far (Milakov and Gimelshein 2018): greatest score, sum of
 * e^(score - greatest), and this lane's eight columns of sum e^(score - greatest) v. A larger score
 * rescales both sums.
 */
struct softmax_sum {
	float greatest, weights, v[8];
};

/* Less than every score; finite, so that differences are not NaN. */
#define LOWEST_SCORE -3.0e38f

/* Add a key; keep: its dropout factor. */
static __device__ __forceinline__ void softmax_add_key(struct softmax_sum *s, float score,
						       float keep, const float v[8])
{
	const float greatest = fmaxf(s->greatest, score), old = __expf(s->greatest - greatest),
		    weight = __expf(score - greatest);

	s->greatest = greatest;
	s->weights = s->weights * old + weight;
#pragma unroll
	for (int i = 0; i < 8; i++)
		s->v[i] = s->v[i] * old + weight * keep * v[i];
}

static __device__ __forceinline__ void softmax_merge(struct softmax_sum *s,
						     const struct softmax_sum *other)
{
	const float greatest = fmaxf(s->greatest, other->greatest),
		    own = __expf(s->greatest - greatest), its = __expf(other->greatest - greatest);

	s->greatest = greatest;
	s->weights = s->weights * own + other->weights * its;
#pragma unroll
	for (int i = 0; i < 8; i++)
		s->v[i] = s->v[i] * own + other->v[i] * its;
}

/* Merge the groups of a warp; all lanes get the result. */
static __device__ __forceinline__ void softmax_merge_warp(struct softmax_sum *s, int lanes)
{
	for (int with = lanes; with < 32; with *= 2) {
		struct softmax_sum other;

		other.greatest = __shfl_xor_sync(ALL_LANES, s->greatest, with);
		other.weights = __shfl_xor_sync(ALL_LANES, s->weights, with);
#pragma unroll
		for (int i = 0; i < 8; i++)
			other.v[i] = __shfl_xor_sync(ALL_LANES, s->v[i], with);
		softmax_merge(s, &other);
	}
}

#endif
