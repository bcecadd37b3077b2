/*
 * cuda_attention_tiles.cuh - attention on tensor cores: shared by forward (cuda_attention.cu) and
 * backward (cuda_attention_grad.cu). For heads of 64 columns in bf16, or in float if products may
 * round to bf16.
 *
 * Scores stay in registers, in the layout of the tensor cores' results (mma_bf16() in cuda.cuh).
 * With lane = 4 * group + t, a lane holds 4 elements of a 16 x 8 tile:
 *
 *			 columns 0..1	2..3	4..5	6..7
 *	row group	   t = 0	t = 1	t = 2	t = 3		elements 0, 1
 *	row group + 8	   t = 0	t = 1	t = 2	t = 3		elements 2, 3
 *
 * So a row is spread over four neighbouring lanes; sums over a row take two shuffles. The same
 * layout, rounded to bf16, is the left operand of the next product: no detour by shared memory.
 */
#ifndef WERKBANK_KERNELS_CUDA_CUDA_ATTENTION_TILES_CUH
#define WERKBANK_KERNELS_CUDA_CUDA_ATTENTION_TILES_CUH

#include "kernels/cuda/cuda_attention.cuh"

#include <math.h>

#define WIDTH 64	  /* columns of a head */
#define PITCH (WIDTH + 8) /* of a row in shared memory: ldmatrix of 8 rows hits all banks once */
#define LN2   0.69314718055994530942f

/* Transpose a 4 x 4 matrix over four lanes: v[i] of lane t becomes v[t] of lane i. */
template <class T> static __device__ __forceinline__ void quad_transpose(T v[4])
{
	const int t = threadIdx.x % 4;

#pragma unroll
	for (int by = 1; by <= 2; by *= 2) {
		const bool upper = t & by;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			if (i & by)
				continue;
			T got = __shfl_xor_sync(ALL_LANES, upper ? v[i] : v[i + by], by);

			v[i] = upper ? got : v[i];
			v[i + by] = upper ? v[i + by] : got;
		}
	}
}

/*
 * Load n rows of a head, from row `first`, into shared memory as bf16; rows n .. rows - 1 become 0.
 * bf16 rows are copied asynchronously: copy_commit(), copy_wait() and a barrier must follow.
 */
template <enum access A>
static __device__ __forceinline__ void load_tile(uint16_t (*tile)[PITCH], struct tensor t,
						 int64_t first, int n, int rows)
{
	for (int i = threadIdx.x; i < rows * 8; i += blockDim.x) {
		const int r = i / 8, c = i % 8 * 8;
		float v[8] = { 0 };

		if (is_bf16<A>(t)) {
			const uint16_t *from = (const uint16_t *)t.data;

			copy_async16(&tile[r][c], from + (r < n ? (first + r) * t.stride + c : 0),
				     r < n ? 16 : 0);
			continue;
		}
		if (r < n)
			tensor_load8<A>(v, t, first + r, c);
		*(uint4 *)&tile[r][c] = bf16_pack8(v);
	}
}

/* 16 rows of a tile as left operand; a[k]: columns 16 k .. 16 k + 15. */
static __device__ __forceinline__ void load_left(uint32_t a[4][4], const uint16_t (*tile)[PITCH],
						 int row)
{
	const int lane = threadIdx.x % 32;

#pragma unroll
	for (int k = 0; k < 4; k++)
		load_matrices<false>(a[k], &tile[row + lane % 16][k * 16 + lane / 16 * 8]);
}

/* acc (16, 16) += a (16, 64) times the transpose of rows [row, row + 16) of a tile. */
static __device__ __forceinline__ void multiply_rows(float acc[2][4], const uint32_t a[4][4],
						     const uint16_t (*tile)[PITCH], int row)
{
	const int lane = threadIdx.x % 32, r = row + lane / 16 * 8 + lane % 8, c = lane / 8 % 2 * 8;

#pragma unroll
	for (int k = 0; k < 4; k++) {
		uint32_t b[4];

		load_matrices<false>(b, &tile[r][k * 16 + c]);
		mma_bf16(acc[0], a[k], b);
		mma_bf16(acc[1], a[k], b + 2);
	}
}

/* acc (16, 64) += a (16, 16) times rows [row, row + 16) of a tile. */
static __device__ __forceinline__ void multiply_columns(float acc[8][4], const uint32_t a[4],
							const uint16_t (*tile)[PITCH], int row)
{
	const int lane = threadIdx.x % 32;

#pragma unroll
	for (int k = 0; k < 4; k++) {
		uint32_t b[4];

		load_matrices<true>(b, &tile[row + lane % 16][k * 16 + lane / 16 * 8]);
		mma_bf16(acc[2 * k], a, b);
		mma_bf16(acc[2 * k + 1], a, b + 2);
	}
}

/* 16 x 16 results as left operand of the next product, rounded to bf16. */
static __device__ __forceinline__ void pack_left(uint32_t a[4], const float p[2][4])
{
#pragma unroll
	for (int i = 0; i < 4; i++)
		a[i] = bf16_pair(p[i / 2][i % 2 * 2], p[i / 2][i % 2 * 2 + 1]);
}

/*
 * Store acc (16, 64) * factor to rows [row, row + 16), only the first n of them. factor[half] is for
 * row group + 8 * half. The four lanes of a row exchange elements, so that each stores eight
 * neighbouring columns.
 */
template <enum access A>
static __device__ __forceinline__ void store_rows(struct tensor out, int64_t row, int n,
						  const float acc[8][4], const float factor[2])
{
	const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
	for (int half = 0; half < 2; half++) {
#pragma unroll
		for (int part = 0; part < 2; part++) {
			float even[4], odd[4], v[8];

#pragma unroll
			for (int i = 0; i < 4; i++) {
				even[i] = acc[4 * part + i][2 * half] * factor[half];
				odd[i] = acc[4 * part + i][2 * half + 1] * factor[half];
			}
			quad_transpose(even);
			quad_transpose(odd);
#pragma unroll
			for (int i = 0; i < 4; i++) {
				v[2 * i] = even[i];
				v[2 * i + 1] = odd[i];
			}
			if (group + 8 * half < n)
				tensor_store8<A>(out, row + group + 8 * half, 32 * part + 8 * t, v);
		}
	}
}

/* ---- host ------------------------------------------------------------------------------------- */

/* Can tensor cores compute this? access is the result of access_of() for all tensors. */
static inline bool is_for_tiles(struct dev *d, const struct attention_work &w, enum access access)
{
	return d->tensor_cores && w.q.cols == (int64_t)w.heads * WIDTH &&
	       (access == ACCESS_BF16 || (access != ACCESS_ANY && d->bf16));
}

static inline struct attention_work attention_work_of(struct tensor out, float *lse,
						      struct tensor q, struct tensor k,
						      struct tensor v,
						      const struct attention_shape *shape)
{
	struct attention_work w = {};

	w.out = out;
	w.q = q;
	w.k = k;
	w.v = v;
	w.lse = lse;
	w.q_start = shape->q_start;
	w.k_start = shape->k_start;
	w.heads = shape->heads;
	w.causal = shape->causal;
	w.scale = 1 / sqrtf((float)(q.cols / shape->heads));
	return w;
}

#endif
