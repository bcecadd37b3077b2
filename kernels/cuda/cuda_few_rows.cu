/*
 * cuda_few_rows.cu - products of few rows with bf16 weights, as in decoding: out = a b^T.
 * Definition: ref_matmul.c.
 *
 * With few rows a product takes as long as reading the weights b (N, K), or as the latency of
 * memory if b is small. So the kernel spreads b over all multiprocessors, reads it once with 16
 * bytes an access, and has all reads of a block under way at the same time. Tensor cores multiply:
 * 16 rows of a fill the tall side of an instruction, 8 columns the other.
 *
 *	grid	x: 4 * GROUPS outputs	y: 16 rows of a
 *	block	8 warps; each takes another part of K
 *	warp	a stretch of 64 numbers along K, then the stretch 512 further on
 *
 * Four outputs a block give N / 4 blocks: N = 512 has 128 of them; an H100 has 132
 * multiprocessors. But an instruction has eight columns. Columns 0 ... 3 are the four outputs with
 * the first half of the stretch, columns 4 ... 7 the same outputs with the second half. The first
 * half of a is multiplied into sums[0], of which only columns 0 ... 3 count, the second half into
 * sums[1], of which only columns 4 ... 7 count. Tensor cores are idle here anyway, so the unused
 * columns cost nothing.
 *
 *	lane = 4 * group + t	b: output group % 4, half group / 4, numbers 8t ... 8t + 7 of it
 *				a: rows group and group + 8, numbers 8t ... 8t + 7 of both halves
 *
 * The eight numbers of a lane feed two instructions of 16 numbers each. The instructions then see
 * K in another order than memory has it, but a and b in the same one, so the sum has the same
 * terms.
 *
 * Order of additions: instructions along K within a warp, then the two halves of warp 0, of warp 1,
 * and so on. This order depends neither on the number of rows nor on timing, N or the GPU, and
 * there are no atomics: the bits are the same in each run.
 *
 * From WIDE_FROM outputs on, GROUPS = 4: a block reads a once for 16 outputs. With 32,000 outputs
 * the reads of a would otherwise exceed those of b. share/doc/gpu/decoding.md has bytes and times.
 */
#include "kernels/cuda/cuda_product.cuh"

#define FEW_WARPS   8
#define FEW_ROWS    16 /* rows of a block */
#define FEW_OUTPUTS 4  /* outputs of a group */
#define HALF	    32 /* numbers along K of half a stretch */
#define STRETCH	    (2 * HALF)
#define WIDE_FROM   2048 /* outputs */

/* A row as a lane reads it: from its first eight on. data NULL: there is no such row. */
struct lane_row {
	const char *data;
	int cols; /* from the first eight to the end of the row */
};

static __device__ __forceinline__ struct lane_row lane_row_of(struct tensor t, int64_t row, int col,
							      int bytes)
{
	const bool exists = row < t.rows;

	return { exists ? (const char *)t.data + (row * t.stride + col) * bytes : NULL,
		 exists ? (int)t.cols - col : 0 };
}

/* Eight numbers as bf16, k after the first eight; beyond the last row or column: zeros. */
template <enum access A>
static __device__ __forceinline__ uint4 load_bf16_eight(struct lane_row r, int k)
{
	const float4 *from = (const float4 *)(r.data + (size_t)k * sizeof(float));
	float4 x, y;

	if (k >= r.cols)
		return make_uint4(0, 0, 0, 0);
	if (A == ACCESS_BF16)
		return *(const uint4 *)(r.data + (size_t)k * sizeof(uint16_t));
	x = from[0];
	y = from[1];
	return make_uint4(bf16_pair(x.x, x.y), bf16_pair(x.z, x.w), bf16_pair(y.x, y.y),
			  bf16_pair(y.z, y.w));
}

/* sums (16 rows, 8 columns) += rows `low` and `high` of a, times b: 32 numbers along K. */
static __device__ __forceinline__ void multiply_half(float sums[4], uint4 low, uint4 high, uint4 b)
{
	const uint32_t a0[4] = { low.x, high.x, low.y, high.y },
		       a1[4] = { low.z, high.z, low.w, high.w }, b0[2] = { b.x, b.y },
		       b1[2] = { b.z, b.w };

	mma_bf16(sums, a0, b0);
	mma_bf16(sums, a1, b1);
}

/* What a lane reads. */
template <int GROUPS> struct lane_sources {
	struct lane_row low, high, b[GROUPS];
};

/* One stretch of all groups of outputs, from number k on. */
template <enum access A, int GROUPS>
static __device__ __forceinline__ void
multiply_stretch(float sums[GROUPS][2][4], const struct lane_sources<GROUPS> &from, int k)
{
	uint4 b[GROUPS];

#pragma unroll
	for (int g = 0; g < GROUPS; g++)
		b[g] = load_bf16_eight<ACCESS_BF16>(from.b[g], k);
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const uint4 low = load_bf16_eight<A>(from.low, k + half * HALF),
			    high = load_bf16_eight<A>(from.high, k + half * HALF);

#pragma unroll
		for (int g = 0; g < GROUPS; g++)
			multiply_half(sums[g][half], low, high, b[g]);
	}
}

/* A: the type of a. */
template <enum access A, int GROUPS>
static __global__ void __launch_bounds__(FEW_WARPS * 32, 2) few_rows(struct product p)
{
	kernel_begin();
	enum { OUTPUTS = GROUPS * FEW_OUTPUTS };
	SHARED(float, parts, [FEW_WARPS][2][FEW_ROWS][OUTPUTS]);
	const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	const int64_t first_row = (int64_t)blockIdx.y * FEW_ROWS,
		      first_output = (int64_t)blockIdx.x * OUTPUTS;
	const int bytes = A == ACCESS_BF16 ? 2 : 4;
	struct lane_sources<GROUPS> from;
	float sums[GROUPS][2][4] = { { { 0 } } };

	from.low = lane_row_of(p.a, first_row + group, 8 * t, bytes);
	from.high = lane_row_of(p.a, first_row + group + 8, 8 * t, bytes);
#pragma unroll
	for (int g = 0; g < GROUPS; g++)
		from.b[g] = lane_row_of(p.b, first_output + g * FEW_OUTPUTS + group % FEW_OUTPUTS,
					group / FEW_OUTPUTS * HALF + 8 * t, 2);
#pragma unroll 4
	for (int k = warp * STRETCH; k < p.inner; k += FEW_WARPS * STRETCH)
		multiply_stretch<A, GROUPS>(sums, from, k);
		/* t 0, 1: columns 0 ... 3, the first half; t 2, 3: columns 4 ... 7, the second */
#pragma unroll
	for (int g = 0; g < GROUPS; g++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			parts[warp][t / 2][group + i / 2 * 8][g * FEW_OUTPUTS + t % 2 * 2 + i % 2] =
				t < 2 ? sums[g][0][i] : sums[g][1][i];
	__syncthreads();
	for (int i = threadIdx.x; i < FEW_ROWS * OUTPUTS; i += FEW_WARPS * 32) {
		const int64_t row = first_row + i / OUTPUTS, output = first_output + i % OUTPUTS;
		float sum = 0;

#pragma unroll
		for (int part = 0; part < FEW_WARPS * 2; part++)
			sum += parts[part / 2][part % 2][i / OUTPUTS][i % OUTPUTS];
		if (row >= p.out.rows || output >= p.out.cols)
			continue;
		sum += p.bias ? p.bias[output] : 0;
		tensor_store1(p.out, row, output, p.relu ? fmaxf(sum, 0) : sum);
	}
}

template <enum access A> static void launch_few_rows(struct dev *d, const struct product *p)
{
	const bool wide = p->out.cols >= WIDE_FROM;
	const int64_t outputs = wide ? 4 * FEW_OUTPUTS : FEW_OUTPUTS;
	const dim3 grid((unsigned)CEIL_DIV(p->out.cols, outputs),
			(unsigned)CEIL_DIV(p->out.rows, FEW_ROWS));

	if (wide)
		LAUNCH(d, (few_rows<A, 4>), grid, FEW_WARPS * 32, 0, *p);
	else
		LAUNCH(d, (few_rows<A, 1>), grid, FEW_WARPS * 32, 0, *p);
}

bool cuda_product_of_few_rows(struct dev *d, const struct product *p)
{
	const bool halves = p->a.dtype == DTYPE_BF16;

	if (p->out.rows > d->few_rows || !d->tensor_cores || p->b.dtype != DTYPE_BF16 ||
	    !(d->bf16 || halves) || p->how.a_transposed || !p->how.b_transposed ||
	    p->how.accumulate || access_of(p->a, p->b) == ACCESS_ANY)
		return false;
	if (halves)
		launch_few_rows<ACCESS_BF16>(d, p);
	else
		launch_few_rows<ACCESS_F32>(d, p);
	return true;
}
