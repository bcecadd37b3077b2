/*
 * cuda_embed.cu - embedding, and its gradient without atomics. Formulas: ref_point.c.
 *
 * Forward: a thread for eight columns of a token: table row * scale + encoding of the position, dropout.
 *
 * Backward: dtable[id] += the rows of dout of all tokens with this id. Atomic additions would give
 * other bits in each run, so the tokens are sorted by id first (a stable radix sort, 8 bits a pass);
 * equal ids then form runs in the order of the batch:
 *
 *	sorted ids	| 3 3 3 7 | 7 7 7 7 | 7 7 9 9 |		chunks of 32 tokens (here 4)
 *	embed_grad_runs	  3 -> table
 *			  7 -> table  7 -> parts  7 -> parts
 *						9 -> table
 *	embed_grad_rest	  table[7] += parts of chunks 1, 2		by the chunk where the run begins
 *
 * embed_grad_runs: grid (chunks, columns / 8); a thread owns eight columns and adds the runs of its
 * chunk in registers. A run that began in an earlier chunk goes to `parts`, others to the table.
 * embed_grad_rest: the chunk in which a run begins adds the parts of the following chunks, in order.
 *
 * Sort, for each 8 bits: sort_count (histogram of each block), sort_scan (one block, prefix sums),
 * sort_scatter (each warp places its stretch 32 keys at a time, which keeps the order of equal keys).
 */
#include "kernels/cuda/cuda.cuh"

#include <assert.h>
#include <math.h>

/* ---- forward ----------------------------------------------------------------------------- */

/*
 * frequency[i] = 10000^(-i / (half - 1)): the angle of column i is position * frequency[i]. In double:
 * large angles, reduced modulo 2 pi in single precision, would lose all digits.
 */
static __global__ void fill_frequencies(double *frequency, int64_t half)
{
	kernel_begin();
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < half)
		frequency[i] = exp(-log(10000.0) * (double)i / (double)max(half - 1, (int64_t)1));
}

static const double *sinusoid_frequencies(struct dev *d, int64_t cols)
{
	int64_t half = cols / 2;
	double *f = (double *)cuda_get_scratch(d, CUDA_SCRATCH_FREQUENCIES,
					       (size_t)MAX(half, (int64_t)1), sizeof(*f));

	if (f && d->frequencies_width != cols && half) {
		LAUNCH(d, fill_frequencies, (unsigned)CEIL_DIV(half, 128), 128, 0, f, half);
		d->frequencies_width = cols;
	}
	return f;
}

void cuda_embed_prepare(struct dev *d, int64_t d_model)
{
	(void)sinusoid_frequencies(d, d_model);
}

static __device__ __forceinline__ float cuda_sinusoid(int32_t position, int64_t col, int64_t half,
						      const double *frequency)
{
	const double turn = 6.283185307179586476925;
	double angle;
	float rest;

	if (col >= 2 * half)
		return 0; /* the last column if the width is odd */
	angle = position * frequency[col < half ? col : col - half];
	rest = (float)(angle - rint(angle / turn) * turn);
	/* in [-pi, pi] the error of the fast functions is at most 5e-7 */
	return col < half ? __sinf(rest) : __cosf(rest);
}

struct embed_work {
	struct tensor out, table;
	const int32_t *ids, *positions;
	const double *frequency; /* POSITION_SINUSOID */
	struct tensor encodings; /* POSITION_TABLE: a row for each position */
	float scale;
	struct drop drop;
};

/* v = the encoding of a position, eight columns. */
template <enum access A, enum position_kind KIND>
static __device__ __forceinline__ void position_encoding(float v[8], const struct embed_work &w,
							 int32_t position, int64_t col)
{
	if constexpr (KIND == POSITION_TABLE)
		tensor_load8<A>(v, w.encodings, position, col);
	else
#pragma unroll
		for (int k = 0; k < 8; k++)
			v[k] = KIND == POSITION_NONE ? 0
						     : cuda_sinusoid(position, col + k,
								     w.out.cols / 2, w.frequency);
}

template <enum access A, enum position_kind KIND>
static __global__ void embed_rows(struct embed_work w)
{
	kernel_begin();
	const struct eight at =
		eight_at((int64_t)blockIdx.x * blockDim.x + threadIdx.x, (w.out.cols + 7) / 8);
	float v[8] = { 0 }, encoding[8], m[8];
	int32_t id;

	if (at.row >= w.out.rows)
		return;
	w.drop = drop_now(w.drop);
	id = w.ids[at.row];
	if (id >= 0)
		tensor_load8<A>(v, w.table, id, at.col);
	position_encoding<A, KIND>(encoding, w, w.positions[at.row], at.col);
	dropout_factors8<A>(m, w.drop, at.row, at.col, w.out.cols);
#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] = (w.scale * v[k] + encoding[k]) * m[k];
	tensor_store8<A>(w.out, at.row, at.col, v);
}

template <enum position_kind KIND>
static void start_embed(struct dev *d, enum access access, const struct embed_work &w)
{
	LAUNCH_ACCESS_WITH(d, access, embed_rows, KIND,
			   (unsigned)CEIL_DIV(w.out.rows * CEIL_DIV(w.out.cols, 8), 128), 128, 0,
			   w);
}

extern "C" void cuda_embed(struct dev *d, struct tensor out, struct tensor table,
			   const int32_t *ids, const int32_t *positions, struct embed_how how,
			   struct dropout drop)
{
	struct embed_work w = { out,  table,	     ids,	positions,
				NULL, how.positions, how.scale, drop_of(drop) };
	const enum access access = access_of(out, table);

	if (!out.rows)
		return;
	switch (how.kind) {
	case POSITION_SINUSOID:
		w.frequency = sinusoid_frequencies(d, out.cols);
		if (w.frequency)
			start_embed<POSITION_SINUSOID>(d, access, w);
		break;
	case POSITION_TABLE:
		start_embed<POSITION_TABLE>(d, access_of(out, table, how.positions), w);
		break;
	case POSITION_NONE:
		start_embed<POSITION_NONE>(d, access, w);
		break;
	}
}

/* ---- sorting -------------------------------------------------------------------------------- */

#define SORT_THREADS 256
#define SORT_WARPS   (SORT_THREADS / 32)
#define SORT_BLOCK   2048 /* keys of a block; each warp owns a stretch of them */
#define SORT_WARP    (SORT_BLOCK / SORT_WARPS)
#define DIGITS	     256

struct sorting {
	uint32_t *key[2];  /* (n) each pass sorts from one array into the other */
	int32_t *place[2]; /* (n) row of dout of each key */
	int32_t *count;	   /* (DIGITS, blocks) */
	int64_t n, blocks;
};

/* Padding (id < 0) gets the key `nothing`, greater than all ids, so it comes last. */
static __global__ void sort_begin(uint32_t *key, int32_t *place, const int32_t *ids, int64_t n,
				  uint32_t nothing)
{
	kernel_begin();
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	key[i] = ids[i] < 0 ? nothing : (uint32_t)ids[i];
	place[i] = (int32_t)i;
}

static __device__ __forceinline__ uint32_t digit_of(uint32_t key, int shift)
{
	return key >> shift & (DIGITS - 1);
}

static __global__ void sort_count(int32_t *count, const uint32_t *key, int64_t n, int shift)
{
	kernel_begin();
	SHARED(int32_t, seen, [DIGITS]);

	seen[threadIdx.x] = 0;
	__syncthreads();
	for (int64_t i = threadIdx.x; i < SORT_BLOCK; i += SORT_THREADS) {
		int64_t at = (int64_t)blockIdx.x * SORT_BLOCK + i;

		if (at < n)
			atomicAdd(&seen[digit_of(key[at], shift)], 1);
	}
	__syncthreads();
	count[(int64_t)threadIdx.x * gridDim.x + blockIdx.x] = seen[threadIdx.x];
}

/* Exclusive prefix sums of count, in place; one block. */
static __global__ void sort_scan(int32_t *count, int64_t n)
{
	kernel_begin();
	SHARED(int32_t, warps, [SORT_WARPS]);
	const int64_t each = (n + SORT_THREADS - 1) / SORT_THREADS, first = threadIdx.x * each,
		      last = min(first + each, n);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int32_t own = 0, before;

	for (int64_t i = first; i < last; i++)
		own += count[i];
	before = own;
#pragma unroll
	for (int by = 1; by < 32; by *= 2) {
		int32_t other = __shfl_up_sync(ALL_LANES, before, by);

		before += lane >= by ? other : 0;
	}
	if (lane == 31)
		warps[warp] = before;
	__syncthreads();
	before -= own;
	for (int i = 0; i < warp; i++)
		before += warps[i];
	for (int64_t i = first; i < last; i++) {
		int32_t here = count[i];

		count[i] = before;
		before += here;
	}
}

/* start[w][digit]: from counts of each warp to the position of the first key of its stretch. */
static __device__ void sort_starts(int32_t (*start)[DIGITS], const int32_t *count)
{
	int32_t sum = count[(int64_t)threadIdx.x * gridDim.x + blockIdx.x];

	for (int w = 0; w < SORT_WARPS; w++) {
		int32_t here = start[w][threadIdx.x];

		start[w][threadIdx.x] = sum;
		sum += here;
	}
}

/* Move keys to their places; keys with the same digit keep their order. */
static __global__ void sort_scatter(uint32_t *key_to, int32_t *place_to, const uint32_t *key_from,
				    const int32_t *place_from, const int32_t *count, int64_t n,
				    int shift)
{
	kernel_begin();
	SHARED(int32_t, start, [SORT_WARPS][DIGITS]);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int64_t first = (int64_t)blockIdx.x * SORT_BLOCK + warp * SORT_WARP;

	for (int i = lane; i < DIGITS; i += 32)
		start[warp][i] = 0;
	__syncwarp();
	for (int64_t i = first + lane; i < min(first + SORT_WARP, n); i += 32)
		atomicAdd(&start[warp][digit_of(key_from[i], shift)], 1);
	__syncthreads();
	sort_starts(start, count);
	__syncthreads();
	for (int64_t at = first; at < min(first + SORT_WARP, n); at += 32) {
		int64_t i = at + lane;
		bool real = i < n;
		uint32_t key = real ? key_from[i] : 0, digit = real ? digit_of(key, shift) : DIGITS;
		unsigned same = __match_any_sync(ALL_LANES, digit);
		int before = __popc(same & ((1u << lane) - 1));
		int32_t to = real ? start[warp][digit] + before : 0;

		__syncwarp();
		if (real && before == 0)
			start[warp][digit] += __popc(same);
		__syncwarp();
		if (real) {
			key_to[to] = key;
			place_to[to] = place_from[i];
		}
	}
}

/* Sort n ids < rows. Returns the index (0, 1) of the array with the result; -1: out of memory. */
static int sort_ids(struct dev *d, struct sorting *s, const int32_t *ids, int64_t n, int64_t rows)
{
	size_t each = (size_t)CEIL_DIV(n, 64) * 64;
	char *memory;
	int from = 0;

	assert(n > 0 && rows > 0);
	s->n = n;
	s->blocks = CEIL_DIV(n, SORT_BLOCK);
	memory = (char *)cuda_get_scratch(d, CUDA_SCRATCH_SORT,
					  4 * each + (size_t)(DIGITS * s->blocks), sizeof(int32_t));
	if (!memory)
		return -1;
	for (int i = 0; i < 2; i++) {
		s->key[i] = (uint32_t *)(void *)memory + (size_t)i * each;
		s->place[i] = (int32_t *)(void *)memory + (size_t)(2 + i) * each;
	}
	s->count = (int32_t *)(void *)memory + 4 * each;
	LAUNCH(d, sort_begin, (unsigned)CEIL_DIV(n, 256), 256, 0, s->key[0], s->place[0], ids, n,
	       (uint32_t)rows);
	for (int shift = 0; rows >> shift; shift += 8, from = 1 - from) {
		LAUNCH(d, sort_count, (unsigned)s->blocks, SORT_THREADS, 0, s->count, s->key[from],
		       n, shift);
		LAUNCH(d, sort_scan, 1, SORT_THREADS, 0, s->count, DIGITS * s->blocks);
		LAUNCH(d, sort_scatter, (unsigned)s->blocks, SORT_THREADS, 0, s->key[1 - from],
		       s->place[1 - from], s->key[from], s->place[from], s->count, n, shift);
	}
	return from;
}

/* ---- backward ------------------------------------------------------------------------------- */

#define CHUNK 32 /* tokens of a chunk */

struct sorted {
	const uint32_t *key;
	const int32_t *place;
	int64_t n;
	uint32_t nothing;
};

static __device__ __forceinline__ int64_t thread_column(void)
{
	return ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * 8;
}

template <enum access A>
static __device__ __forceinline__ void add_eight(struct tensor t, int64_t row, int64_t col,
						 const float v[8])
{
	float old[8];

	tensor_load8<A>(old, t, row, col);
#pragma unroll
	for (int k = 0; k < 8; k++)
		old[k] += v[k];
	tensor_store8<A>(t, row, col, old);
}

/* One chunk of the sorted list, eight columns a thread; see the head of this file. */
template <enum access A>
static __global__ void embed_grad_runs(struct tensor dtable, float *parts, struct tensor dout,
				       struct sorted s, float scale, struct drop drop)
{
	kernel_begin();
	const int64_t first = (int64_t)blockIdx.x * CHUNK, last = min(first + CHUNK, s.n);
	const int64_t col = thread_column(), width = (dtable.cols + 7) / 8 * 8;
	const struct tensor own = { parts, gridDim.x, width, width, DTYPE_F32 };
	bool goes_on = first > 0 && s.key[first - 1] == s.key[first];
	float sum[8] = { 0 };

	if (col >= dtable.cols)
		return;
	drop = drop_now(drop);
	for (int64_t i = first; i < last; i++) {
		uint32_t key = s.key[i];
		int64_t row = s.place[i];
		float v[8], m[8];

		if (key >= s.nothing)
			break;
		tensor_load8<A>(v, dout, row, col);
		dropout_factors8<A>(m, drop, row, col, dout.cols);
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum[k] += v[k] * m[k] * scale;
		if (i + 1 < last && s.key[i + 1] == key)
			continue;
		if (goes_on)
			tensor_store8<ACCESS_F32>(own, blockIdx.x, col, sum);
		else
			add_eight<A>(dtable, key, col, sum);
		goes_on = false;
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum[k] = 0;
	}
}

/* If a run begins in this chunk and goes on, add the parts of the following chunks. */
template <enum access A>
static __global__ void embed_grad_rest(struct tensor dtable, const float *parts, struct sorted s)
{
	kernel_begin();
	const int64_t first = (int64_t)blockIdx.x * CHUNK, end = first + CHUNK,
		      col = thread_column();
	const int64_t width = (dtable.cols + 7) / 8 * 8;
	const struct tensor all = { (void *)parts, gridDim.x, width, width, DTYPE_F32 };
	uint32_t key;
	float sum[8] = { 0 };

	if (end >= s.n || col >= dtable.cols)
		return;
	key = s.key[end - 1];
	if (key >= s.nothing || s.key[end] != key)
		return;
	if (s.key[first] == key && first > 0 && s.key[first - 1] == key)
		return; /* the run began before this chunk */
	for (int64_t c = blockIdx.x + 1; c * CHUNK < s.n && s.key[c * CHUNK] == key; c++) {
		float v[8];

		tensor_load8<ACCESS_F32>(v, all, c, col);
#pragma unroll
		for (int k = 0; k < 8; k++)
			sum[k] += v[k];
	}
	add_eight<A>(dtable, key, col, sum);
}

extern "C" void cuda_embed_grad(struct dev *d, struct tensor dtable, struct tensor dout,
				const int32_t *ids, float scale, struct dropout drop)
{
	const int64_t chunks = CEIL_DIV(dout.rows, CHUNK), eights = CEIL_DIV(dtable.cols, 8);
	const int threads = (int)MIN(CEIL_DIV(eights, 32) * 32, 128);
	const dim3 grid((unsigned)chunks, (unsigned)CEIL_DIV(eights, threads));
	enum access access = access_of(dtable, dout);
	struct sorting sorting;
	struct sorted s;
	float *parts;
	int which;

	if (!dout.rows)
		return;
	which = sort_ids(d, &sorting, ids, dout.rows, dtable.rows);
	parts = (float *)cuda_get_scratch(d, CUDA_SCRATCH_SUMS, (size_t)(chunks * eights),
					  8 * sizeof(*parts));
	if (which < 0 || !parts)
		return;
	s = sorted{ sorting.key[which], sorting.place[which], dout.rows, (uint32_t)dtable.rows };
	LAUNCH_ACCESS(d, access, embed_grad_runs, grid, threads, 0, dtable, parts, dout, s, scale,
		      drop_of(drop));
	LAUNCH_ACCESS(d, access, embed_grad_rest, grid, threads, 0, dtable, (const float *)parts,
		      s);
}
