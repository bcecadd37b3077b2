/*
 * cpu_vec.h - vectors of floats, for the vector files of the CPU backend.
 *
 * GNU vector types, as wide as the registers of the machine level: the same source becomes SSE (4
 * lanes), AVX2 (8) or AVX-512 (16). Intrinsics, inside #if, are used only where compilers do not
 * find the right instruction by themselves.
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_VEC_H
#define WERKBANK_KERNELS_CPU_CPU_VEC_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VEC_LANES 16
#elif defined(__AVX__)
#define VEC_LANES 8
#else
#define VEC_LANES 4
#endif

#define VEC_BYTES  (4 * VEC_LANES)
#define VEC_INLINE static inline __attribute__((always_inline))

/* Before a loop over an array of vectors: unrolled, the array lives in registers, not in memory. */
#if defined(__clang__)
#define VEC_UNROLL _Pragma("unroll")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif

typedef float vec __attribute__((vector_size(VEC_BYTES)));
typedef int32_t vec_int __attribute__((vector_size(VEC_BYTES)));
typedef float vec_unaligned __attribute__((vector_size(VEC_BYTES), aligned(4), may_alias));

VEC_INLINE vec vec_load(const float *p)
{
	return *(const vec_unaligned *)p;
}

/* Load VEC_LANES bf16 numbers. */
VEC_INLINE vec vec_load_halves(const uint16_t *p)
{
#if defined(__AVX512F__)
	return (vec)_mm512_slli_epi32(
		_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)), 16);
#elif defined(__AVX2__)
	return (vec)_mm256_slli_epi32(
		_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16);
#else
	vec_int x = { 0 };

	for (int i = 0; i < VEC_LANES; i++)
		x[i] = (int32_t)((uint32_t)p[i] << 16);
	return (vec)x;
#endif
}

/* Each lane rounded to bf16, in the upper 16 bits; the lower bits are 0. */
VEC_INLINE vec_int vec_round_bits(vec x)
{
	vec_int u = (vec_int)x, nan = x != x, rounded = u + 0x7FFF + (u >> 16 & 1);

	return ((nan & (u | 0x400000)) | (~nan & rounded)) & (int32_t)0xFFFF0000;
}

VEC_INLINE void vec_store_halves(uint16_t *p, vec x)
{
	vec_int bits = vec_round_bits(x);

#if defined(__AVX512F__)
	_mm256_storeu_si256((__m256i *)(void *)p,
			    _mm512_cvtepi32_epi16(_mm512_srli_epi32((__m512i)bits, 16)));
#elif defined(__AVX2__)
	__m256i low = _mm256_srli_epi32((__m256i)bits, 16);
	__m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);

	_mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(both));
#else
	for (int i = 0; i < VEC_LANES; i++)
		p[i] = (uint16_t)((uint32_t)bits[i] >> 16);
#endif
}

VEC_INLINE void vec_store(float *p, vec x)
{
	*(vec_unaligned *)p = x;
}

VEC_INLINE vec vec_set(float x)
{
	return x - (vec){ 0 }; /* broadcast; x + 0 would change -0 */
}

/*
 * sum + x y. With the registers of AVX2 all used, gcc 12 moves sums from register to register, or to
 * memory, unless the instruction that adds in place is named.
 */
VEC_INLINE vec vec_multiply_add(vec sum, vec x, vec y)
{
#if defined(__FMA__) && !defined(__AVX512F__)
	__asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
	return sum;
#else
	return sum + x * y;
#endif
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* All ones in the first n of 8 lanes. */
VEC_INLINE __m256i vec_first_lanes(int64_t n)
{
	static const int32_t lanes[16] = { -1, -1, -1, -1, -1, -1, -1, -1 };

	return _mm256_loadu_si256((const __m256i *)(const void *)(lanes + 8 - n));
}

/* The first n < 8 halves at p, the others 0. Eight single loads into a vector would go through memory. */
VEC_INLINE __m128i vec_load_first_halves(const uint16_t *p, int64_t n)
{
	uint64_t words[2] = { 0, 0 }, *last = &words[n >= 4];
	uint32_t pair;

	if (n & 4) {
		memcpy(&words[0], p, 8);
		p += 4;
	}
	if (n & 2) {
		memcpy(&pair, p, 4);
		*last = pair;
		p += 2;
	}
	if (n & 1)
		*last |= (uint64_t)*p << (n & 2 ? 32 : 0);
	return _mm_set_epi64x((int64_t)words[1], (int64_t)words[0]);
}
#endif

/* Load min(n, VEC_LANES) floats, n > 0; the remaining lanes are `other`. */
VEC_INLINE vec vec_load_part(const float *p, int64_t n, float other)
{
	vec x = vec_set(other);

	if (n >= VEC_LANES)
		return vec_load(p);
#if defined(__AVX512F__)
	x = (vec)_mm512_mask_loadu_ps((__m512)x, (__mmask16)((1u << n) - 1), p);
#elif defined(__AVX2__)
	const __m256i mask = vec_first_lanes(n);

	x = (vec)_mm256_blendv_ps((__m256)x, _mm256_maskload_ps(p, mask), (__m256)mask);
#else
	for (int64_t i = 0; i < n; i++)
		x[i] = p[i];
#endif
	return x;
}

VEC_INLINE void vec_store_part(float *p, vec x, int64_t n)
{
	if (n >= VEC_LANES) {
		vec_store(p, x);
		return;
	}
#if defined(__AVX512F__)
	_mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
#elif defined(__AVX2__)
	/* a store with a mask takes many cycles on AMD's processors */
	__m128 low = _mm256_castps256_ps128((__m256)x);

	if (n & 4) {
		_mm_storeu_ps(p, low);
		low = _mm256_extractf128_ps((__m256)x, 1);
		p += 4;
	}
	if (n & 2) {
		_mm_storel_pi((__m64 *)(void *)p, low);
		low = _mm_movehl_ps(low, low);
		p += 2;
	}
	if (n & 1)
		_mm_store_ss(p, low);
#else
	for (int64_t i = 0; i < n; i++)
		p[i] = x[i];
#endif
}

/* The same for bf16. */
VEC_INLINE vec vec_load_halves_part(const uint16_t *p, int64_t n, float other)
{
	vec x = vec_set(other);

	if (n >= VEC_LANES)
		return vec_load_halves(p);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
	const __mmask16 mask = (__mmask16)((1u << n) - 1);
	__m512i halves = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p));

	x = (vec)_mm512_mask_slli_epi32((__m512i)x, mask, halves, 16);
#elif defined(__AVX2__) && !defined(__AVX512F__)
	const __m256i words = _mm256_cvtepu16_epi32(vec_load_first_halves(p, n));

	x = (vec)_mm256_blendv_ps((__m256)x, (__m256)_mm256_slli_epi32(words, 16),
				  (__m256)vec_first_lanes(n));
#else
	vec_int bits = (vec_int)x;

	for (int64_t i = 0; i < n; i++)
		bits[i] = (int32_t)((uint32_t)p[i] << 16);
	x = (vec)bits;
#endif
	return x;
}

VEC_INLINE void vec_store_halves_part(uint16_t *p, vec x, int64_t n)
{
	if (n >= VEC_LANES) {
		vec_store_halves(p, x);
		return;
	}
#if defined(__AVX512BW__) && defined(__AVX512VL__)
	_mm512_mask_cvtepi32_storeu_epi16(p, (__mmask16)((1u << n) - 1),
					  _mm512_srli_epi32((__m512i)vec_round_bits(x), 16));
#elif defined(__AVX2__) && !defined(__AVX512F__)
	uint16_t halves[VEC_LANES];

	vec_store_halves(halves, x);
	memcpy(p, halves, (size_t)n * sizeof(*p));
#else
	vec_int bits = vec_round_bits(x);

	for (int64_t i = 0; i < n; i++)
		p[i] = (uint16_t)((uint32_t)bits[i] >> 16);
#endif
}

/*
 * Load or store up to n elements from element i on, of a row of bf16 (half) or float. half is a
 * constant at every call, so the compiler removes the branch.
 */
VEC_INLINE vec vec_get(const void *row, int64_t i, int64_t n, float other, const bool half)
{
	return half ? vec_load_halves_part((const uint16_t *)row + i, n, other)
		    : vec_load_part((const float *)row + i, n, other);
}

VEC_INLINE void vec_put(void *row, int64_t i, vec x, int64_t n, const bool half)
{
	if (half)
		vec_store_halves_part((uint16_t *)row + i, x, n);
	else
		vec_store_part((float *)row + i, x, n);
}

/* In each lane: a if yes is all ones, b if yes is 0. */
VEC_INLINE vec vec_choose(vec_int yes, vec a, vec b)
{
#if defined(__AVX2__) && !defined(__AVX512F__)
	return (vec)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)yes);
#else
	return (vec)((yes & (vec_int)a) | (~yes & (vec_int)b));
#endif
}

VEC_INLINE vec vec_max(vec a, vec b)
{
#if defined(__AVX512F__)
	return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
	return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
	return vec_choose(a > b, a, b);
#endif
}

VEC_INLINE vec vec_abs(vec x)
{
	return (vec)((vec_int)x & 0x7FFFFFFF);
}

/* Is any lane of yes all ones? Each lane is all ones or 0. */
VEC_INLINE bool vec_any(vec_int yes)
{
#if defined(__AVX512F__)
	return _mm512_test_epi32_mask((__m512i)yes, (__m512i)yes) != 0;
#elif defined(__AVX2__)
	return _mm256_movemask_ps((__m256)yes) != 0;
#else
	int32_t any = 0;

	for (int i = 0; i < VEC_LANES; i++)
		any |= yes[i];
	return any != 0;
#endif
}

/* The sum of all lanes, in a fixed order: the upper half is added to the lower half. */
VEC_INLINE float vec_sum(vec x)
{
#if defined(__AVX512F__)
	return _mm512_reduce_add_ps((__m512)x);
#elif defined(__AVX2__)
	__m128 four =
		_mm_add_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
	__m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
	float lane[VEC_LANES];

	memcpy(lane, &x, sizeof(lane));
	for (int n = VEC_LANES / 2; n > 0; n /= 2)
		for (int i = 0; i < n; i++)
			lane[i] += lane[i + n];
	return lane[0];
#endif
}

VEC_INLINE float vec_largest(vec x)
{
#if defined(__AVX512F__)
	return _mm512_reduce_max_ps((__m512)x);
#elif defined(__AVX2__)
	__m128 four =
		_mm_max_ps(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
	__m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
#else
	float lane[VEC_LANES];

	memcpy(lane, &x, sizeof(lane));
	for (int n = VEC_LANES / 2; n > 0; n /= 2)
		for (int i = 0; i < n; i++)
			lane[i] = lane[i] > lane[i + n] ? lane[i] : lane[i + n];
	return lane[0];
#endif
}

/*
 * e^x within 2 units in the last place; 0 below -87.3 (and for minus infinity), about 2.4e38 above
 * 88.3. x = n ln 2 + r with |r| <= ln 2 / 2; e^r is its Taylor series up to the 7th power, and 2^n is
 * added to the exponent bits. ln 2 is split into two constants to keep r exact.
 */
VEC_INLINE vec vec_exp(vec x)
{
	const float to_integer =
		12582912.0f; /* 1.5 * 2^23: the addition rounds, and leaves n in the low bits */
	vec_int tiny = x < -87.3f;
	vec n, r, y;

	x = vec_choose(x > 88.3f, vec_set(88.3f), x);
	x = vec_choose(tiny, vec_set(-87.3f), x);
	n = x * 1.44269504f + to_integer;
	y = n - to_integer;
	r = x - y * 0.693359375f;
	r = r + y * 2.12194440e-4f;
	y = r * (1.0f / 5040) + 1.0f / 720;
	y = y * r + 1.0f / 120;
	y = y * r + 1.0f / 24;
	y = y * r + 1.0f / 6;
	y = y * r + 0.5f;
	y = y * (r * r) + r + 1.0f;
	y = (vec)((vec_int)y + (((vec_int)n - 0x4B400000) << 23));
	return (vec)(~tiny & (vec_int)y);
}

/* Both are exact to a few units in the last place, however small they are. */
struct sigmoid {
	vec yes, no; /* 1 / (1 + e^-x), and 1 minus that */
};

VEC_INLINE struct sigmoid vec_sigmoid(vec x)
{
	vec e = vec_exp(-vec_abs(x)), large = 1 / (1 + e), small = e * large;

	return (struct sigmoid){ vec_choose(x < 0, small, large), vec_choose(x < 0, large, small) };
}

/* Transpose a square of VEC_LANES vectors in registers. */
VEC_INLINE void vec_transpose(vec x[VEC_LANES])
{
#if defined(__AVX512F__)
	__m512 t[16], u[16];

	VEC_UNROLL
	for (int i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_ps((__m512)x[i], (__m512)x[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps((__m512)x[i], (__m512)x[i + 1]);
	}
	VEC_UNROLL
	for (int i = 0; i < 16; i += 4) {
		u[i] = _mm512_castpd_ps(
			_mm512_unpacklo_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
		u[i + 1] = _mm512_castpd_ps(
			_mm512_unpackhi_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
		u[i + 2] = _mm512_castpd_ps(
			_mm512_unpacklo_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
		u[i + 3] = _mm512_castpd_ps(
			_mm512_unpackhi_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
	}
	/* u[4 g + c]: columns c, 4 + c, 8 + c, 12 + c of rows 4 g .. 4 g + 3, one in each quarter */
	VEC_UNROLL
	for (int c = 0; c < 4; c++) {
		__m512 even01 = _mm512_shuffle_f32x4(u[c], u[4 + c], 0x88),
		       odd01 = _mm512_shuffle_f32x4(u[c], u[4 + c], 0xDD);
		__m512 even23 = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0x88);
		__m512 odd23 = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0xDD);

		x[c] = (vec)_mm512_shuffle_f32x4(even01, even23, 0x88);
		x[8 + c] = (vec)_mm512_shuffle_f32x4(even01, even23, 0xDD);
		x[4 + c] = (vec)_mm512_shuffle_f32x4(odd01, odd23, 0x88);
		x[12 + c] = (vec)_mm512_shuffle_f32x4(odd01, odd23, 0xDD);
	}
#else
	float from[VEC_LANES][VEC_LANES], to[VEC_LANES][VEC_LANES];

	memcpy(from, x, sizeof(from));
	for (int i = 0; i < VEC_LANES; i++)
		for (int j = 0; j < VEC_LANES; j++)
			to[j][i] = from[i][j];
	memcpy(x, to, sizeof(to));
#endif
}

/* to[c] += sum over p of sums[p * stride + c], in the order of p. */
static inline void vec_add_parts(float *to, const float *sums, int64_t n_parts, int64_t stride,
				 int64_t n)
{
	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec total = vec_set(0);

		for (int64_t p = 0; p < n_parts; p++)
			total += vec_load_part(sums + p * stride + c, n - c, 0);
		vec_store_part(to + c, total + vec_load_part(to + c, n - c, 0), n - c);
	}
}

#endif
