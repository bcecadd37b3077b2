/*
 * cpu_linear_kinds.h - the tile functions of cpu_linear.c, one for each type of unit and instruction
 * set, and the choice among them. Included only there.
 *
 *	units		any machine	AVX2		AVX-VNNI	AVX-512 BF16, VNNI	AMX
 *	float		tile_floats
 *	pair of bf16	tile_pairs					tile_pairs_native	tile_amx_pairs
 *	4 x int8	tile_bytes	tile_words	tile_bytes_native	tile_bytes_native	tile_amx_bytes
 *
 * All sums of integers are exact, so every kind of int8 gives the same bits.
 */
#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

/*
 * Rows of a tile. Its sums, 2 vectors a row, stay in registers with 2 vectors of b and one of a: 32
 * registers with AVX-512, 16 otherwise. SLOW_ROWS: of functions that need registers for the steps of
 * a multiplication.
 */
#if VEC_LANES == 16
#define TILE_ROWS 12
#define SLOW_ROWS 12
#elif VEC_LANES == 8
#define TILE_ROWS 6
#define SLOW_ROWS 4
#else
#define TILE_ROWS 4
#define SLOW_ROWS 4
#endif

typedef void tile_function(const struct tile *t);

/* What a vector of sums needs to become outputs. */
struct output_columns {
	int64_t first, n; /* first column in the tile; columns up to the edge of out */
	vec bias, scale;
	vec_int shift;
};

/* Columns from `first` on. False: there are none. integers and shift: see cpu_linear_tile.h. */
VEC_INLINE bool load_columns(struct output_columns *c, const struct tile *t, int64_t first,
			     const bool integers, const int shift)
{
	c->first = first;
	c->n = t->n_cols - first;
	if (c->n <= 0)
		return false;
	c->bias = t->bias ? vec_load_part(t->bias + first, c->n, 0) : vec_set(0);
	c->scale = integers ? vec_load(t->b_scales + first) : vec_set(0);
	memset(&c->shift, 0, sizeof(c->shift));
	if (integers && shift) {
		memcpy(&c->shift, t->b_sums + first, sizeof(c->shift));
		c->shift *= shift;
	}
	return true;
}

/* Scale the sums of integers, add the bias, ReLU, store. */
VEC_INLINE void store_output(const struct tile *t, const struct output_columns *c, int row, vec x,
			     const bool integers)
{
	if (integers)
		x = __builtin_convertvector((vec_int)x - c->shift, vec) *
		    (t->a_scales[row] * c->scale);
	x += c->bias;
	if (t->relu)
		x = vec_max(x, vec_set(0));
	vec_store_part(t->out + row * t->stride + c->first, x, c->n);
}

/* ---- one tile function for each type of unit ------------------------------------- */

#define TILE_NAME tile_floats
#define TILE_TARGET
#define TILE_UNIT		 float
#define TILE_VEC		 vec
#define TILE_SUM		 vec
#define TILE_MULTIPLY(sum, x, y) ((sum) + (x) * (y))
#define TILE_INTEGERS		 0
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"

/* Pairs of bf16 as floats: bf16 is the upper half of a float, so a shift or a mask converts it. */
VEC_INLINE vec multiply_pairs(vec sum, vec_int x, vec_int y)
{
	sum += (vec)(x << 16) * (vec)(y << 16);
	return sum + (vec)(x & (int32_t)0xFFFF0000) * (vec)(y & (int32_t)0xFFFF0000);
}

#define TILE_NAME tile_pairs
#define TILE_TARGET
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec
#define TILE_MULTIPLY(sum, x, y) multiply_pairs(sum, x, y)
#define TILE_INTEGERS		 0
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"

#if !defined(__AVX2__) || defined(__AVX512F__)
/*
 * Dot product of 4 x int8 in each lane. The instruction multiplies unsigned by signed bytes, so |x|
 * is multiplied by y with the sign of x. Its 16-bit sums of two products do not overflow, because
 * values are in -127 .. 127: 2 * 127 * 127 < 2^15.
 */
VEC_INLINE vec_int multiply_bytes(vec_int sum, vec_int x, vec_int y)
{
#if defined(__AVX512F__)
	__m512i a = (__m512i)x, b = (__m512i)y;
	__m512i with_sign =
		_mm512_mask_sub_epi8(b, _mm512_movepi8_mask(a), _mm512_setzero_si512(), b);
	__m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(a), with_sign);

	return sum + (vec_int)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
	return sum + (x << 24 >> 24) * (y << 24 >> 24) + (x << 16 >> 24) * (y << 16 >> 24) +
	       (x << 8 >> 24) * (y << 8 >> 24) + (x >> 24) * (y >> 24);
#endif
}

#define TILE_NAME tile_bytes
#define TILE_TARGET
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec_int
#define TILE_MULTIPLY(sum, x, y) multiply_bytes(sum, x, y)
#define TILE_INTEGERS		 1
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"
#define TILE_OF_BYTES tile_bytes
#define BYTES_ROWS    SLOW_ROWS
#define BYTES_SPREAD  1
#else
/*
 * AVX2 alone: bytes are multiplied as 16-bit words, of a stored so, of b widened here. That takes two
 * instructions for 16 products; byte products, whose first operand is unsigned, take four for 32, of
 * which three (not two) run on the few ports of multiplications. A vector has the sums of four columns, two for
 * each: of the first and of the last two elements of a unit. Eight columns of all rows fill the registers.
 */
VEC_INLINE void tile_words_rows(const struct tile *t, const int half, const int rows)
{
	const int64_t *a = (const int64_t *)(const void *)t->a, pitch = t->pitch / 2;
	const int32_t *b = t->b + half * VEC_LANES;
	struct output_columns c;
	__m256i sum[TILE_ROWS][2];

	if (!load_columns(&c, t, half * VEC_LANES, true, 0))
		return;
	VEC_UNROLL
	for (int i = 0; i < rows; i++)
		sum[i][0] = sum[i][1] = _mm256_setzero_si256();
	for (int64_t u = 0; u < t->n_units; u++, b += PANEL_WIDTH) {
		const __m128i *columns = (const __m128i *)(const void *)b;
		__m256i y0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns));
		__m256i y1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(columns + 1));

		if (rows > 4)
			__builtin_prefetch(b + t->ahead);
		VEC_UNROLL
		for (int i = 0; i < rows; i++) {
			__m256i x = _mm256_set1_epi64x(a[i * pitch + u]);

			sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(x, y0));
			sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(x, y1));
			/* one row after the other, else gcc keeps six of x and spills sums */
			__asm__ volatile("" : "+x"(sum[i][0]), "+x"(sum[i][1]) : : "memory");
		}
	}
	VEC_UNROLL
	for (int i = 0; i < rows; i++) {
		/* columns 0 1 4 5 2 3 6 7 */
		__m256i both = _mm256_hadd_epi32(sum[i][0], sum[i][1]);

		store_output(t, &c, i, (vec)_mm256_permute4x64_epi64(both, 0xD8), true);
	}
}

static void tile_words(const struct tile *t)
{
	for (int half = 0; half < 2; half++)
		switch (t->n_rows) {
		case 1:
			tile_words_rows(t, half, 1);
			break;
		case 2:
			tile_words_rows(t, half, 2);
			break;
		case 3:
			tile_words_rows(t, half, 3);
			break;
		case 4:
			tile_words_rows(t, half, 4);
			break;
		case 5:
			tile_words_rows(t, half, 5);
			break;
		case 6:
			tile_words_rows(t, half, 6);
			break;
		}
}
#define TILE_OF_BYTES tile_words
#define BYTES_ROWS    TILE_ROWS
#define BYTES_SPREAD  2
#endif

#if defined(__AVX512F__)
#define TILE_NAME		 tile_pairs_native
#define TILE_TARGET		 __attribute__((target("avx512bf16")))
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec
#define TILE_MULTIPLY(sum, x, y) (vec) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(x), (__m512bh)(y))
#define TILE_INTEGERS		 0
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"
#else
#define tile_pairs_native tile_pairs
#endif

/*
 * VNNI multiplies unsigned by signed bytes. The bytes of a are stored + 128 (sign bit flipped), and
 * 128 * sum(b) is subtracted from the result: TILE_SHIFT. Processors without AVX-512 can have the
 * instruction for 32 bytes: AVX-VNNI.
 */
#if defined(__AVX512F__)
#define VNNI_TARGET "avx512vnni"
#define VNNI_MULTIPLY(sum, x, y)                                                                   \
	(vec_int) _mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(x), (__m512i)(y))
#elif defined(__AVX2__) && CPU_COMPILES_AVX_VNNI
#define VNNI_TARGET "avxvnni"
#define VNNI_MULTIPLY(sum, x, y)                                                                   \
	(vec_int) _mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(x), (__m256i)(y))
#endif

#ifdef VNNI_TARGET
#define TILE_NAME		 tile_bytes_native
#define TILE_TARGET		 __attribute__((target(VNNI_TARGET)))
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec_int
#define TILE_MULTIPLY(sum, x, y) VNNI_MULTIPLY(sum, x, y)
#define TILE_INTEGERS		 1
#define TILE_SHIFT		 128
#include "kernels/cpu/cpu_linear_tile.h"
#else
#define tile_bytes_native TILE_OF_BYTES
#endif

#if HAVE_TILES
/* Store sums (32, 32), floats or integers. */
VEC_INLINE void store_outputs(const struct tile *t, const float *sums, const bool integers)
{
	for (int64_t first = 0; first < TILES_SIDE; first += VEC_LANES) {
		struct output_columns c;

		if (!load_columns(&c, t, first, integers, 0))
			break;
		for (int i = 0; i < t->n_rows; i++)
			store_output(t, &c, i, vec_load(sums + i * TILES_SIDE + first), integers);
	}
}

static struct tiles_operands tile_operands(const struct tile *t)
{
	return (struct tiles_operands){ t->a, t->pitch * 4, t->b, t->n_units, t->n_rows };
}

static void tile_amx_pairs(const struct tile *t)
{
	float sums[TILES_SIDE * TILES_SIDE] __attribute__((aligned(64)));
	const struct tiles_operands operands = tile_operands(t);

	tiles_bf16(sums, &operands);
	store_outputs(t, sums, false);
}

static void tile_amx_bytes(const struct tile *t)
{
	float sums[TILES_SIDE * TILES_SIDE] __attribute__((aligned(64)));
	const struct tiles_operands operands = tile_operands(t);

	tiles_int8((int32_t *)(void *)sums, &operands);
	store_outputs(t, sums, true);
}
#else
#define tile_amx_pairs NULL
#define tile_amx_bytes NULL
#endif

/* ---- the choice ------------------------------------------------------------------------ */

struct tile_kind {
	tile_function *multiply;
	int rows, cols;	 /* of one call, at most */
	bool uses_tiles; /* the tile unit */
	int flip;	 /* int8: bytes of a are stored XOR flip */
	int spread;	 /* int32 for each unit of a; 2: four int8 as 16-bit words */
};

static bool has_native_pairs(void)
{
#if defined(__AVX512F__)
	return ops_cpu_allowed_level() >= CPU_LEVEL_BF16 && __builtin_cpu_supports("avx512bf16");
#else
	return false;
#endif
}

static bool has_native_bytes(const struct dev *d)
{
#if defined(__AVX512F__)
	(void)d;
	return __builtin_cpu_supports("avx512vnni");
#elif defined(VNNI_TARGET)
	return d->avx_vnni;
#else
	(void)d;
	return false;
#endif
}

static struct tile_kind choose_tile(const struct dev *d, enum dtype units)
{
	const bool bytes = units == DTYPE_PACKED_INT8;

	if (units != DTYPE_PACKED_F32 && tiles_are_used(d))
		return (struct tile_kind){
			bytes ? tile_amx_bytes : tile_amx_pairs, TILES_SIDE, TILES_SIDE, true, 0, 1
		};
	if (units == DTYPE_PACKED_F32)
		return (struct tile_kind){ tile_floats, TILE_ROWS, 2 * VEC_LANES, false, 0, 1 };
	if (bytes && has_native_bytes(d))
		return (struct tile_kind){
			tile_bytes_native, TILE_ROWS, 2 * VEC_LANES, false, -128, 1
		};
	if (bytes)
		return (struct tile_kind){ TILE_OF_BYTES, BYTES_ROWS, 2 * VEC_LANES,
					   false,	  0,	      BYTES_SPREAD };
	if (has_native_pairs())
		return (struct tile_kind){
			tile_pairs_native, TILE_ROWS, 2 * VEC_LANES, false, 0, 1
		};
	return (struct tile_kind){ tile_pairs, SLOW_ROWS, 2 * VEC_LANES, false, 0, 1 };
}
