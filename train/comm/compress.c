/*
 * compress.c - the number formats in which gradients are sent; see compress.h
 *
 * 2bit, 1bit and int8, block by block: y = x + error feedback; choose the levels (int8: the scale) from
 * y; replace each y by its level; keep the difference as the next error feedback. Why a level is a mean:
 * of all numbers, the mean of the |y| in a class has the least squared distance from them. Signs are kept,
 * so the decoded block never points away from y.
 *
 * The receiver must decode the same bits as the sender subtracts from its error feedback. So levels and
 * scales are rounded to bf16 before they are used, and sums have a fixed order: LANES partial sums, whatever
 * the width of the machine's vectors. A code of int8 times its scale has 15 bits, so the product is exact,
 * also where a compiler fuses it with the next addition. kernels/cuda/cuda_compress.cu computes the same bits.
 *
 * Codes are packed q apart, not next to each other: byte j holds the numbers j, j + q, j + 2q, …, so
 * packing and unpacking are loops over whole vectors without shuffles.
 */
#include "train/comm/compress.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "share/base/util.h"

#define LEVEL_BYTES WIRE_LEVEL_BYTES
#define LANES	    WIRE_LANES /* partial sums, so that a compiler can use vectors */

/* The compiler turns these loops into vector code, but only at -O3. */
#if defined(__GNUC__) && !defined(__clang__)
#define VECTORS __attribute__((optimize("O3", "no-trapping-math", "no-math-errno")))
#else
#define VECTORS
#endif

const char *compress_name(enum wire_format w)
{
	static const char *const names[] = { "fp32", "bf16", "2bit", "1bit", "int8" };

	_Static_assert(ARRAY_LEN(names) == WIRE_FORMATS, "each format has a name");
	assert((size_t)w < ARRAY_LEN(names));
	return names[w];
}

bool compress_feeds_back(enum wire_format w)
{
	return w >= WIRE_2BIT;
}

/* Numbers in a byte of codes; w feeds back. */
static size_t codes_per_byte(enum wire_format w)
{
	return w == WIRE_2BIT ? 4 : w == WIRE_1BIT ? 8 : 1;
}

size_t compress_bytes(enum wire_format w, size_t n)
{
	const size_t whole = n / COMPRESS_BLOCK, rest = n % COMPRESS_BLOCK;

	if (w == WIRE_FP32)
		return n * sizeof(float);
	if (w == WIRE_BF16)
		return n * sizeof(uint16_t);
	return whole * (LEVEL_BYTES + COMPRESS_BLOCK / codes_per_byte(w)) +
	       (rest ? LEVEL_BYTES + (rest + codes_per_byte(w) - 1) / codes_per_byte(w) : 0);
}

double compress_ratio(enum wire_format w)
{
	return (double)compress_bytes(w, COMPRESS_BLOCK) / (COMPRESS_BLOCK * sizeof(float));
}

/* ---- bf16 -------------------------------------------------------------- */

static inline uint16_t compress_to_bf16(float x)
{
	uint32_t u, quiet;

	memcpy(&u, &x, sizeof(u));
	quiet = (u & 0x7FFFFFFFu) > 0x7F800000u ? 0x00400000u : 0;
	/* setting the quiet bit keeps a NaN a NaN: rounding could make it infinite */
	return (uint16_t)((quiet ? u | quiet : u + 0x7FFFu + ((u >> 16) & 1)) >> 16);
}

static inline float compress_from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

VECTORS static void encode_bf16(unsigned char *restrict out, const float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t h = compress_to_bf16(x[i]);

		memcpy(out + 2 * i, &h, sizeof(h));
	}
}

/* x = or += the decoded numbers */
VECTORS static void decode_bf16(float *restrict x, const unsigned char *restrict in, size_t n,
				bool add)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t h;

		memcpy(&h, in + 2 * i, sizeof(h));
		x[i] = add ? x[i] + compress_from_bf16(h) : compress_from_bf16(h);
	}
}

/* ---- blocks of levels -------------------------------------------------- */

/* int8: low is the scale, and split its inverse. */
struct levels {
	float low, high, split;
};

static const struct levels NO_LEVELS = { NAN, NAN, 0 };

static void put_levels(unsigned char *out, struct levels l)
{
	uint16_t h[2] = { compress_to_bf16(l.low), compress_to_bf16(l.high) };

	memcpy(out, h, sizeof(h));
}

static struct levels get_levels(const unsigned char *in)
{
	uint16_t h[2];

	memcpy(h, in, sizeof(h));
	return (struct levels){ compress_from_bf16(h[0]), compress_from_bf16(h[1]), 0 };
}

/* Sum of the |y| that are at least split; *count of them. NaNs are neither summed nor counted. */
VECTORS static float sum_above_split(const float *y, size_t m, float split, float *count)
{
	float sums[LANES] = { 0 }, counts[LANES] = { 0 }, sum = 0;
	size_t i = 0;

	for (; i + LANES <= m; i += LANES)
		for (size_t k = 0; k < LANES; k++) {
			float a = fabsf(y[i + k]);

			sums[k] += a >= split ? a : 0;
			counts[k] += a >= split ? 1 : 0;
		}
	*count = 0;
	for (size_t k = 0; k < LANES; k++) {
		sum += sums[k];
		*count += counts[k];
	}
	for (; i < m; i++) {
		float a = fabsf(y[i]);

		sum += a >= split ? a : 0;
		*count += a >= split ? 1 : 0;
	}
	return sum;
}

/* Of int8: the largest |y| gets the largest code. A block of numbers that are too small gets scale 0. */
VECTORS static struct levels compress_choose_scale(const float *y, size_t m)
{
	float lanes[LANES] = { 0 }, most = 0;
	struct levels l = { 0 };
	bool is_finite;
	size_t i = 0;

	for (; i + LANES <= m; i += LANES)
		for (size_t k = 0; k < LANES; k++) {
			float a = fabsf(y[i + k]);

			a = a <= FLT_MAX ? a : INFINITY; /* a NaN, too */
			lanes[k] = a > lanes[k] ? a : lanes[k];
		}
	for (; i < m; i++)
		most = fmaxf(most, isfinite(y[i]) ? fabsf(y[i]) : INFINITY);
	for (size_t k = 0; k < LANES; k++)
		most = fmaxf(most, lanes[k]);
	l.low = compress_from_bf16(compress_to_bf16(most / WIRE_INT8_MOST));
	is_finite = isfinite(l.low * WIRE_INT8_MOST);
	l.split = 1 / l.low;
	if (!isfinite(l.split))
		l.low = l.split = 0;
	return is_finite ? l : NO_LEVELS;
}

/* The levels of a block, rounded to bf16 as get_levels() will read them. */
static struct levels compress_choose_levels(enum wire_format w, const float *y, size_t m)
{
	float n, above, sum = sum_above_split(y, m, 0, &n), high;
	struct levels l = { sum / (float)m, 0, 0 };

	if (w == WIRE_2BIT) {
		l.split = COMPRESS_SPLIT * l.low;
		high = sum_above_split(y, m, l.split, &above);
		l.low = (float)m > above ? fmaxf(sum - high, 0) / ((float)m - above) : 0;
		l.high = above > 0 ? high / above : 0;
	}
	l.low = compress_from_bf16(compress_to_bf16(l.low));
	l.high = compress_from_bf16(compress_to_bf16(l.high));
	return isfinite(sum) && n == (float)m ? l : NO_LEVELS;
}

/* codes[i]: 1 at or above the split, 2 negative; lost[i] = y[i] - its decoded value */
VECTORS static void choose_codes_2bit(unsigned char *restrict codes, float *restrict lost,
				      const float *restrict y, struct levels l, size_t m)
{
	for (size_t i = 0; i < m; i++) {
		float a = fabsf(y[i]);
		int far = a >= l.split, negative = y[i] < 0;
		float level = far ? l.high : l.low;

		codes[i] = (unsigned char)(far | negative << 1);
		lost[i] = y[i] - (negative ? -level : level);
	}
}

VECTORS static void choose_codes_1bit(unsigned char *restrict codes, float *restrict lost,
				      const float *restrict y, struct levels l, size_t m)
{
	for (size_t i = 0; i < m; i++) {
		int negative = y[i] < 0;

		codes[i] = (unsigned char)negative;
		lost[i] = y[i] - (negative ? -l.low : l.low);
	}
}

/* codes[i]: -127 .. 127, in two's complement */
VECTORS static void choose_codes_int8(unsigned char *restrict codes, float *restrict lost,
				      const float *restrict y, struct levels l, size_t m)
{
	for (size_t i = 0; i < m; i++) {
		float v = y[i] * l.split;
		float above = v >= -WIRE_INT8_MOST ? v : -WIRE_INT8_MOST; /* also of a NaN */
		int code = (int)lrintf(above > WIRE_INT8_MOST ? WIRE_INT8_MOST : above);

		codes[i] = (unsigned char)code;
		lost[i] = y[i] - (float)code * l.low;
	}
}

/* out (q) = codes (q * 8 / bits) of `bits` bits each; see compress.h for their order. */
VECTORS static void compress_pack_codes(unsigned char *restrict out,
					const unsigned char *restrict codes, size_t q, size_t bits)
{
	memset(out, 0, q);
	for (size_t k = 0; k * bits < 8; k++)
		for (size_t j = 0; j < q; j++)
			out[j] |= (unsigned char)(codes[k * q + j] << (k * bits));
}

static void compress_encode_block(enum wire_format w, unsigned char *out, const float *x,
				  float *error_feedback, size_t m)
{
	const size_t q = (m + codes_per_byte(w) - 1) / codes_per_byte(w);
	unsigned char codes[COMPRESS_BLOCK + 8];
	float y[COMPRESS_BLOCK] = { 0 }, lost[COMPRESS_BLOCK];
	struct levels l;

	assert(m >= 1 && m <= COMPRESS_BLOCK);
	for (size_t i = 0; i < m; i++)
		y[i] = error_feedback ? x[i] + error_feedback[i] : x[i];
	l = w == WIRE_INT8 ? compress_choose_scale(y, m) : compress_choose_levels(w, y, m);
	if (w == WIRE_INT8)
		choose_codes_int8(codes, lost, y, l, m);
	else if (w == WIRE_2BIT)
		choose_codes_2bit(codes, lost, y, l, m);
	else
		choose_codes_1bit(codes, lost, y, l, m);
	memset(codes + m, 0, q * codes_per_byte(w) - m);
	put_levels(out, l);
	compress_pack_codes(out + LEVEL_BYTES, codes, q, 8 / codes_per_byte(w));
	if (error_feedback && isfinite(l.low))
		memcpy(error_feedback, lost, m * sizeof(*lost));
}

VECTORS static void decode_2bit(float *restrict x, const unsigned char *restrict in,
				struct levels l, size_t m, size_t q, bool add)
{
	for (size_t k = 0; k * q < m; k++) {
		const size_t n = MIN(q, m - k * q);

		for (size_t j = 0; j < n; j++) {
			int code = in[j] >> (2 * k);
			float level = code & 1 ? l.high : l.low, v = code & 2 ? -level : level;

			x[k * q + j] = add ? x[k * q + j] + v : v;
		}
	}
}

VECTORS static void decode_1bit(float *restrict x, const unsigned char *restrict in,
				struct levels l, size_t m, size_t q, bool add)
{
	for (size_t k = 0; k * q < m; k++) {
		const size_t n = MIN(q, m - k * q);

		for (size_t j = 0; j < n; j++) {
			float v = in[j] >> k & 1 ? -l.low : l.low;

			x[k * q + j] = add ? x[k * q + j] + v : v;
		}
	}
}

VECTORS static void decode_int8(float *restrict x, const unsigned char *restrict in,
				struct levels l, size_t m, bool add)
{
	for (size_t i = 0; i < m; i++) {
		float v = (float)(signed char)in[i] * l.low;

		x[i] = add ? x[i] + v : v;
	}
}

static void decode_blocks(enum wire_format w, float *x, const unsigned char *in, size_t n, bool add)
{
	for (size_t at = 0; at < n; at += COMPRESS_BLOCK) {
		const size_t m = MIN((size_t)COMPRESS_BLOCK, n - at);
		const size_t q = (m + codes_per_byte(w) - 1) / codes_per_byte(w);

		if (w == WIRE_INT8)
			decode_int8(x + at, in + LEVEL_BYTES, get_levels(in), m, add);
		else if (w == WIRE_2BIT)
			decode_2bit(x + at, in + LEVEL_BYTES, get_levels(in), m, q, add);
		else
			decode_1bit(x + at, in + LEVEL_BYTES, get_levels(in), m, q, add);
		in += LEVEL_BYTES + q;
	}
}

/* ---- all formats -------------------------------------------------------- */

void compress_encode(enum wire_format w, void *out, const float *x, float *error_feedback, size_t n)
{
	unsigned char *to = out;

	if (w == WIRE_FP32) {
		memcpy(out, x, n * sizeof(*x));
		return;
	}
	if (w == WIRE_BF16) {
		encode_bf16(out, x, n);
		return;
	}
	for (size_t at = 0; at < n; at += COMPRESS_BLOCK) {
		const size_t m = MIN((size_t)COMPRESS_BLOCK, n - at);

		compress_encode_block(w, to, x + at, error_feedback ? error_feedback + at : NULL,
				      m);
		to += compress_bytes(w, m);
	}
}

void compress_decode(enum wire_format w, float *x, const void *in, size_t n)
{
	if (w == WIRE_FP32)
		memcpy(x, in, n * sizeof(*x));
	else if (w == WIRE_BF16)
		decode_bf16(x, in, n, false);
	else
		decode_blocks(w, x, in, n, false);
}

VECTORS static void add_fp32(float *restrict x, const float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
}

void compress_add(enum wire_format w, float *x, const void *in, size_t n)
{
	if (w == WIRE_FP32)
		add_fp32(x, in, n);
	else if (w == WIRE_BF16)
		decode_bf16(x, in, n, true);
	else
		decode_blocks(w, x, in, n, true);
}
