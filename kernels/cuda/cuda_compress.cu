/*
 * cuda_compress.cu - compressed gradients on the GPU, bit for bit the formats of train/comm/compress.h.
 *
 *	2bit	each number becomes one of -high, -low, low, high; 1bit: -low or low
 *	low, high: means of |x| below and above WIRE_SPLIT * mean, of each WIRE_BLOCK (512) numbers
 *	int8	each number becomes a multiple of the block's scale, from -127 to 127
 *	error feedback: v = x + residual is encoded, and residual = v - decoded is kept for the next step
 *
 * Division of work: grid (blocks of 512 numbers, pieces), 128 threads a block, four neighbouring
 * numbers to a thread, in registers. Shared memory holds
 *	y	the 512 numbers, for the sums below the levels;
 *	lanes	16 partial sums: the means must round like compress.c, so 16 threads add 32 numbers each
 *		in the order of that file, and thread 0 adds the 16 sums;
 *	codes	one byte for each number, then packed: bits of byte j come from numbers j, j + q, j + 2 q …
 *		(q = bytes), which lets compress.c work on whole vectors.
 *
 * encode_pieces: all pieces for other ranks. decode_pieces: all pieces from other ranks. sum_pieces:
 * the own piece plus the decoded pieces of all others, in the order of ranks, and encoded again.
 */
#include "kernels/cuda/cuda_queue.cuh"

#include <assert.h>

#define FOUR	     4
#define WIRE_THREADS (WIRE_BLOCK / FOUR)
#define CODE_PADDING 8 /* zero codes after the last number: the last byte may need up to 7 */

/* Numbers in a byte. */
template <enum wire_format W> static __device__ __forceinline__ int wire_codes_per_byte()
{
	return W == WIRE_2BIT ? 4 : W == WIRE_1BIT ? 8 : 1;
}

/* Bytes of a whole block. */
template <enum wire_format W> static __device__ __forceinline__ int64_t block_bytes()
{
	return W == WIRE_FP32	? WIRE_BLOCK * (int64_t)sizeof(float)
	       : W == WIRE_BF16 ? WIRE_BLOCK * (int64_t)sizeof(uint16_t)
				: WIRE_LEVEL_BYTES + WIRE_BLOCK / wire_codes_per_byte<W>();
}

/* The numbers of a block of threads. */
struct place {
	float *x, *error_feedback;
	unsigned char *bytes; /* encoded */
	int m, i;	      /* numbers; the first of the four of this thread */
};

/* false: the piece has no such block. base: the encoded piece 0. */
template <enum wire_format W>
static __device__ bool wire_locate_block(struct place *at, const struct wire_pieces &p, int piece,
					 const unsigned char *base, int64_t stride)
{
	const int64_t from = piece * p.piece_len, in_piece = (int64_t)blockIdx.x * WIRE_BLOCK,
		      n = min(p.piece_len, p.n - from);

	if (in_piece >= n)
		return false;
	at->x = p.x + from + in_piece;
	at->error_feedback = p.error_feedback ? p.error_feedback + from + in_piece : NULL;
	at->bytes = (unsigned char *)base + piece * stride + blockIdx.x * block_bytes<W>();
	at->m = (int)min((int64_t)WIRE_BLOCK, n - in_piece);
	at->i = (int)threadIdx.x * FOUR;
	return true;
}

/* Row y of the grid works on piece y, leaving out own_piece. */
static __device__ __forceinline__ int other_piece(const struct wire_pieces &p)
{
	const int y = (int)blockIdx.y;

	return p.own_piece >= 0 && y >= p.own_piece ? y + 1 : y;
}

/* ---- four numbers ------------------------------------------------------------------------ */

static __device__ __forceinline__ void wire_load4(float v[FOUR], const float *x, int i, int m)
{
	if (i + FOUR <= m) {
		const float4 all = *(const float4 *)(x + i);

		v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
		return;
	}
	for (int k = 0; k < FOUR; k++)
		v[k] = i + k < m ? x[i + k] : 0;
}

static __device__ __forceinline__ void wire_store4(float *x, int i, int m, const float v[FOUR])
{
	if (i + FOUR <= m) {
		*(float4 *)(x + i) = make_float4(v[0], v[1], v[2], v[3]);
		return;
	}
	for (int k = 0; k < FOUR; k++)
		if (i + k < m)
			x[i + k] = v[k];
}

/* One of the two levels before an encoded block. */
static __device__ __forceinline__ float level_of(const unsigned char *in, bool high)
{
	return bf16_low(((const uint16_t *)in)[high]);
}

template <enum wire_format W>
static __device__ __forceinline__ float wire_code_value(int code, float low, float high)
{
	const float level = W == WIRE_2BIT && code & 1 ? high : low;

	if (W == WIRE_INT8)
		return (float)(signed char)code * low;
	return code >> (W == WIRE_2BIT) & 1 ? -level : level;
}

template <enum wire_format W>
static __device__ __forceinline__ void wire_decode4(float v[FOUR], const unsigned char *in, int i,
						    int m)
{
	constexpr int per = W == WIRE_2BIT   ? 4
			    : W == WIRE_1BIT ? 8
					     : 1,
		      bits = 8 / per, whole = WIRE_BLOCK / per;
	const float low = level_of(in, false), high = level_of(in, true);
	const int bytes = CEIL_DIV(m, per);

	in += WIRE_LEVEL_BYTES;
	if (m == WIRE_BLOCK) {
		const uint32_t codes = *(const uint32_t *)(in + i % whole) >> i / whole * bits;

		for (int k = 0; k < FOUR; k++)
			v[k] = wire_code_value<W>((int)(codes >> 8 * k), low, high);
		return;
	}
	for (int k = 0; k < FOUR; k++)
		v[k] = i + k < m ? wire_code_value<W>(in[(i + k) % bytes] >> (i + k) / bytes * bits,
						      low, high)
				 : 0;
}

template <>
__device__ __forceinline__ void wire_decode4<WIRE_FP32>(float v[FOUR], const unsigned char *in,
							int i, int m)
{
	wire_load4(v, (const float *)in, i, m);
}

template <>
__device__ __forceinline__ void wire_decode4<WIRE_BF16>(float v[FOUR], const unsigned char *in,
							int i, int m)
{
	const uint16_t *h = (const uint16_t *)in;

	if (i + FOUR <= m) {
		const uint2 all = *(const uint2 *)(h + i);

		v[0] = bf16_low(all.x), v[1] = bf16_high(all.x);
		v[2] = bf16_low(all.y), v[3] = bf16_high(all.y);
		return;
	}
	for (int k = 0; k < FOUR; k++)
		v[k] = i + k < m ? bf16_low(h[i + k]) : 0;
}

/* ---- levels ------------------------------------------------------------------------------- */

/* int8: low is the scale, and split its inverse. */
struct levels {
	float low, high, split;
};

struct lanes {
	float sum[WIRE_LANES], count[WIRE_LANES];
	struct levels levels;
};

/* Sum and count of |y| >= split; valid in thread 0 only. All threads of the block call it. */
static __device__ float wire_sum_above(struct lanes *lanes, const float *y, int m, float split,
				       float *count)
{
	const int whole = m / WIRE_LANES * WIRE_LANES, t = (int)threadIdx.x;
	float sum = 0, n = 0;

	if (t < WIRE_LANES) {
		for (int i = t; i < whole; i += WIRE_LANES) {
			const float a = fabsf(y[i]);

			sum += a >= split ? a : 0;
			n += a >= split ? 1 : 0;
		}
		lanes->sum[t] = sum;
		lanes->count[t] = n;
	}
	__syncthreads();
	sum = n = 0;
	for (int k = 0; t == 0 && k < WIRE_LANES; k++) {
		sum += lanes->sum[k];
		n += lanes->count[k];
	}
	for (int i = whole; t == 0 && i < m; i++) {
		const float a = fabsf(y[i]);

		sum += a >= split ? a : 0;
		n += a >= split ? 1 : 0;
	}
	*count = n;
	return sum;
}

static __device__ __forceinline__ float wire_round_level(float x)
{
	return bf16_low(bf16_round_bits(x));
}

/* The scale of int8. All threads of the block call it, after a barrier that makes y visible. */
static __device__ struct levels wire_choose_scale(struct lanes *lanes, const float *y, int m)
{
	const int t = (int)threadIdx.x;
	float most = 0;

	for (int i = t; t < WIRE_LANES && i < m; i += WIRE_LANES)
		most = fmaxf(most, isfinite(y[i]) ? fabsf(y[i]) : INFINITY);
	if (t < WIRE_LANES)
		lanes->sum[t] = most;
	__syncthreads();
	if (t == 0) {
		for (int k = 1; k < WIRE_LANES; k++)
			most = fmaxf(most, lanes->sum[k]);
		const float scale = wire_round_level(most / WIRE_INT8_MOST), inverse = 1 / scale;
		const bool has_scale = isfinite(inverse);

		lanes->levels.low = !isfinite(scale * WIRE_INT8_MOST) ? __uint_as_float(0x7FC00000u)
				    : has_scale			      ? scale
								      : 0;
		lanes->levels.high = isfinite(lanes->levels.low) ? 0 : lanes->levels.low;
		lanes->levels.split = has_scale ? inverse : 0;
	}
	__syncthreads();
	return lanes->levels;
}

/* All threads of the block call it, after a barrier that makes y visible. */
template <enum wire_format W>
static __device__ struct levels wire_choose_levels(struct lanes *lanes, const float *y, int m)
{
	struct levels l = { 0, 0, 0 };
	float n, above, high, sum = wire_sum_above(lanes, y, m, 0, &n);

	l.low = sum / (float)m;
	if (W == WIRE_2BIT) {
		l.split = WIRE_SPLIT * l.low;
		if (threadIdx.x == 0)
			lanes->levels.split = l.split;
		__syncthreads();
		l.split = lanes->levels.split;
		high = wire_sum_above(lanes, y, m, l.split, &above);
		l.low = (float)m > above ? fmaxf(sum - high, 0) / ((float)m - above) : 0;
		l.high = above > 0 ? high / above : 0;
	}
	if (threadIdx.x == 0) {
		const bool finite = isfinite(sum) && n == (float)m;

		lanes->levels.low = finite ? wire_round_level(l.low) : __uint_as_float(0x7FC00000u);
		lanes->levels.high =
			finite ? wire_round_level(l.high) : __uint_as_float(0x7FC00000u);
		lanes->levels.split = finite ? l.split : 0;
	}
	__syncthreads();
	return lanes->levels;
}

/* ---- encoding of a block ------------------------------------------------------------------- */

/* The code of v, which becomes the decoded value. */
template <enum wire_format W>
static __device__ __forceinline__ int wire_choose_code(float *v, const struct levels &l)
{
	const bool far = W == WIRE_2BIT && fabsf(*v) >= l.split, negative = *v < 0;
	int code = W == WIRE_2BIT ? far | negative << 1 : negative;

	if (W == WIRE_INT8) {
		const float near = *v * l.split,
			    above = near >= -WIRE_INT8_MOST ? near
							    : -WIRE_INT8_MOST; /* also of a NaN */

		code = (int)rintf(above > WIRE_INT8_MOST ? WIRE_INT8_MOST : above);
	}
	*v = wire_code_value<W>(code, l.low, l.high);
	return code;
}

/* Encode v, the numbers of this thread; v becomes the decoded value. */
template <enum wire_format W>
static __device__ void write_block(const struct place &at, float v[FOUR])
{
	SHARED(float, y, [WIRE_BLOCK]);
	SHARED(unsigned char, codes, [WIRE_BLOCK + CODE_PADDING]);
	SHARED(struct lanes, lanes, [1]);
	const int bytes = (at.m + wire_codes_per_byte<W>() - 1) / wire_codes_per_byte<W>(),
		  bits = 8 / wire_codes_per_byte<W>();
	float error_feedback[FOUR], lost[FOUR];
	struct levels l;

	if (at.error_feedback) {
		wire_load4(error_feedback, at.error_feedback, at.i, at.m);
		for (int k = 0; k < FOUR; k++)
			v[k] += error_feedback[k];
	}
	for (int k = 0; k < FOUR; k++)
		y[at.i + k] = v[k];
	__syncthreads();
	l = W == WIRE_INT8 ? wire_choose_scale(lanes, y, at.m)
			   : wire_choose_levels<W>(lanes, y, at.m);
	for (int k = 0; k < FOUR; k++) {
		const float was = v[k];
		const int code = wire_choose_code<W>(&v[k], l);

		lost[k] = was - v[k];
		codes[at.i + k] = (unsigned char)(at.i + k < at.m ? code : 0);
	}
	if (threadIdx.x < CODE_PADDING)
		codes[WIRE_BLOCK + threadIdx.x] = 0;
	__syncthreads();
	for (int j = (int)threadIdx.x; j < bytes; j += WIRE_THREADS) {
		int byte = 0;

		for (int k = 0; k < wire_codes_per_byte<W>(); k++)
			byte |= codes[k * bytes + j] << k * bits;
		at.bytes[WIRE_LEVEL_BYTES + j] = (unsigned char)byte;
	}
	if (threadIdx.x == 0) {
		((uint16_t *)at.bytes)[0] = (uint16_t)bf16_round_bits(l.low);
		((uint16_t *)at.bytes)[1] = (uint16_t)bf16_round_bits(l.high);
	}
	if (at.error_feedback && isfinite(l.low))
		wire_store4(at.error_feedback, at.i, at.m, lost);
}

template <> __device__ void write_block<WIRE_BF16>(const struct place &at, float v[FOUR])
{
	uint16_t *h = (uint16_t *)at.bytes;
	uint32_t bits[FOUR];

	for (int k = 0; k < FOUR; k++) {
		bits[k] = bf16_round_bits(v[k]);
		v[k] = bf16_low(bits[k]);
	}
	if (at.i + FOUR <= at.m) {
		*(uint2 *)(h + at.i) = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
		return;
	}
	for (int k = 0; k < FOUR; k++)
		if (at.i + k < at.m)
			h[at.i + k] = (uint16_t)bits[k];
}

template <> __device__ void write_block<WIRE_FP32>(const struct place &at, float v[FOUR])
{
	wire_store4((float *)at.bytes, at.i, at.m, v);
}

/* ---- kernels -------------------------------------------------------------------------------- */

template <enum wire_format W>
static __global__ void __launch_bounds__(WIRE_THREADS)
	encode_pieces(unsigned char *out, struct wire_pieces p)
{
	kernel_begin();
	struct place at;
	float v[FOUR];

	if (!wire_locate_block<W>(&at, p, other_piece(p), out, p.stride))
		return;
	wire_load4(v, at.x, at.i, at.m);
	write_block<W>(at, v);
}

template <enum wire_format W>
static __global__ void __launch_bounds__(WIRE_THREADS)
	decode_pieces(struct wire_pieces p, const unsigned char *in)
{
	kernel_begin();
	struct place at;
	float v[FOUR];

	if (!wire_locate_block<W>(&at, p, other_piece(p), in, p.stride))
		return;
	wire_decode4<W>(v, at.bytes, at.i, at.m);
	wire_store4(at.x, at.i, at.m, v);
}

template <enum wire_format W>
static __global__ void __launch_bounds__(WIRE_THREADS)
	sum_pieces(unsigned char *sum, struct wire_pieces p, const unsigned char *in)
{
	kernel_begin();
	struct place at;
	float v[FOUR], term[FOUR];

	if (!wire_locate_block<W>(&at, p, p.own_piece, sum, 0))
		return;
	for (int j = 0; j < p.ranks; j++) {
		if (j == p.own_piece)
			wire_load4(term, at.x, at.i, at.m);
		else
			wire_decode4<W>(term, in + j * p.stride + blockIdx.x * block_bytes<W>(),
					at.i, at.m);
		for (int k = 0; k < FOUR; k++)
			v[k] = j ? v[k] + term[k] : term[k];
	}
	if (sum)
		write_block<W>(at, v);
	wire_store4(at.x, at.i, at.m, v);
}

/* ---- host functions --------------------------------------------------------------------------- */

/* Launch the instance for format w; grid: blocks of WIRE_BLOCK numbers x rows. */
#define LAUNCH_WIRE(q, w, kernel, p, rows, ...)                                                    \
	do {                                                                                       \
		const dim3 grid((unsigned)CEIL_DIV(MIN((p)->piece_len, (p)->n), WIRE_BLOCK),       \
				(unsigned)(rows));                                                 \
                                                                                                   \
		if (grid.x == 0 || grid.y == 0)                                                    \
			break;                                                                     \
		switch (w) {                                                                       \
		case WIRE_FP32:                                                                    \
			QUEUE_LAUNCH(q, kernel<WIRE_FP32>, grid, WIRE_THREADS, __VA_ARGS__);       \
			break;                                                                     \
		case WIRE_BF16:                                                                    \
			QUEUE_LAUNCH(q, kernel<WIRE_BF16>, grid, WIRE_THREADS, __VA_ARGS__);       \
			break;                                                                     \
		case WIRE_2BIT:                                                                    \
			QUEUE_LAUNCH(q, kernel<WIRE_2BIT>, grid, WIRE_THREADS, __VA_ARGS__);       \
			break;                                                                     \
		case WIRE_1BIT:                                                                    \
			QUEUE_LAUNCH(q, kernel<WIRE_1BIT>, grid, WIRE_THREADS, __VA_ARGS__);       \
			break;                                                                     \
		case WIRE_INT8:                                                                    \
			QUEUE_LAUNCH(q, kernel<WIRE_INT8>, grid, WIRE_THREADS, __VA_ARGS__);       \
			break;                                                                     \
		}                                                                                  \
	} while (0)

static int wire_other_ranks(const struct wire_pieces *p)
{
	assert(p->own_piece < p->ranks && p->piece_len % WIRE_BLOCK == 0 && p->stride % 4 == 0);
	return p->own_piece >= 0 ? p->ranks - 1 : p->ranks;
}

void cuda_wire_encode(struct cuda_queue *q, enum wire_format w, void *out,
		      const struct wire_pieces *p)
{
	LAUNCH_WIRE(q, w, encode_pieces, p, wire_other_ranks(p), (unsigned char *)out, *p);
}

void cuda_wire_decode(struct cuda_queue *q, enum wire_format w, const struct wire_pieces *p,
		      const void *in)
{
	LAUNCH_WIRE(q, w, decode_pieces, p, wire_other_ranks(p), *p, (const unsigned char *)in);
}

void cuda_wire_sum(struct cuda_queue *q, enum wire_format w, void *sum, const struct wire_pieces *p,
		   const void *in)
{
	LAUNCH_WIRE(q, w, sum_pieces, p, 1, (unsigned char *)sum, *p, (const unsigned char *)in);
}
