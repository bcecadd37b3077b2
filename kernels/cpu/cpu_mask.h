/*
 * cpu_mask.h - the factors of dropout (0 or the scale), several Philox blocks at a time, one in each
 * lane of a vector. kernels/ops/dropout.h is the definition. For the vector files.
 *
 *	struct mask m;
 *	mask_init(&m, drop);
 *	const float *factor = mask_row(&m, first element, n);	n <= MASK_CHUNK
 *
 * Without dropout all factors are 1.
 */
#ifndef WERKBANK_KERNELS_CPU_CPU_MASK_H
#define WERKBANK_KERNELS_CPU_CPU_MASK_H

#include <assert.h>
#include <stdbool.h>

#include "kernels/cpu/cpu_vec.h"
#include "kernels/ops/dropout.h"
#include "share/base/util.h"

#define MASK_CHUNK 1024
#define MASK_LANES VEC_LANES /* Philox blocks at a time, of 8 elements each */

struct mask {
	struct rng_key key;
	uint32_t threshold;
	float scale;
	bool ones;
	float factor[MASK_CHUNK + 8 + 8 * MASK_LANES];
};

typedef uint32_t vec_word __attribute__((vector_size(VEC_BYTES)));
typedef uint32_t vec_word_unaligned __attribute__((vector_size(VEC_BYTES), aligned(4), may_alias));

static inline void mask_init(struct mask *m, struct dropout drop)
{
	m->key = dropout_key(drop.key, drop.rate > 0 ? drop.rng_step : NULL);
	m->ones = drop.rate <= 0;
	m->threshold = dropout_threshold(drop.rate);
	m->scale = dropout_scale(drop.rate);
	for (int i = 0; m->ones && i < MASK_CHUNK; i++)
		m->factor[i] = 1;
}

/* In each lane: *high, *low = upper and lower 32 bits of a * b. */
VEC_INLINE void mask_multiply(vec_word *high, vec_word *low, vec_word a, uint32_t b)
{
#if defined(__AVX512F__)
	__m512i x = (__m512i)a, y = _mm512_set1_epi32((int)b);
	__m512i even = _mm512_mul_epu32(x, y), odd = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), y);

	*high = (vec_word)_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
#elif defined(__AVX2__)
	__m256i x = (__m256i)a, y = _mm256_set1_epi32((int)b);
	__m256i even = _mm256_mul_epu32(x, y), odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), y);

	*high = (vec_word)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
#else
	for (int i = 0; i < VEC_LANES; i++)
		(*high)[i] = (uint32_t)((uint64_t)a[i] * b >> 32);
#endif
	*low = a * b;
}

/*
 * Store w[word][lane] in the order of memory: four words of block 0, then of block 1, … The blocks
 * are assigned to lanes by mask_lane(), so that unpack instructions suffice: they never cross the
 * 128-bit quarters of a register.
 */
VEC_INLINE void mask_store_words(uint32_t *to, const vec_word w[4])
{
#if defined(__AVX512F__)
	__m512i a = _mm512_unpacklo_epi32((__m512i)w[0], (__m512i)w[1]);
	__m512i b = _mm512_unpackhi_epi32((__m512i)w[0], (__m512i)w[1]);
	__m512i c = _mm512_unpacklo_epi32((__m512i)w[2], (__m512i)w[3]);
	__m512i d = _mm512_unpackhi_epi32((__m512i)w[2], (__m512i)w[3]);

	*(vec_word_unaligned *)to = (vec_word)_mm512_unpacklo_epi64(a, c);
	*(vec_word_unaligned *)(to + 16) = (vec_word)_mm512_unpackhi_epi64(a, c);
	*(vec_word_unaligned *)(to + 32) = (vec_word)_mm512_unpacklo_epi64(b, d);
	*(vec_word_unaligned *)(to + 48) = (vec_word)_mm512_unpackhi_epi64(b, d);
#elif defined(__AVX2__)
	__m256i a = _mm256_unpacklo_epi32((__m256i)w[0], (__m256i)w[1]);
	__m256i b = _mm256_unpackhi_epi32((__m256i)w[0], (__m256i)w[1]);
	__m256i c = _mm256_unpacklo_epi32((__m256i)w[2], (__m256i)w[3]);
	__m256i d = _mm256_unpackhi_epi32((__m256i)w[2], (__m256i)w[3]);

	*(vec_word_unaligned *)to = (vec_word)_mm256_unpacklo_epi64(a, c);
	*(vec_word_unaligned *)(to + 8) = (vec_word)_mm256_unpackhi_epi64(a, c);
	*(vec_word_unaligned *)(to + 16) = (vec_word)_mm256_unpacklo_epi64(b, d);
	*(vec_word_unaligned *)(to + 24) = (vec_word)_mm256_unpackhi_epi64(b, d);
#else
	for (int block = 0; block < MASK_LANES; block++)
		for (int i = 0; i < 4; i++)
			to[block * 4 + i] = w[i][block];
#endif
}

/* The block that lane i computes. */
VEC_INLINE int mask_lane(int i)
{
#if defined(__AVX2__)
	return (i & 3) * (MASK_LANES / 4) + i / 4;
#else
	return i;
#endif
}

/* to (8 * MASK_LANES) = the factors of the blocks at these positions; Philox 4x32-10, see rng.h. */
VEC_INLINE void mask_blocks(const struct mask *m, float *to, const uint64_t position[MASK_LANES])
{
	uint32_t k0 = m->key.seed_low ^ (m->key.purpose * 0x9E3779B1u);
	uint32_t k1 = m->key.seed_high ^ (m->key.sub * 0x85EBCA77u);
	vec_word c[4] = { { 0 } }, high0, low0, high2, low2;
	uint32_t words[4 * MASK_LANES];
	float scale = m->scale;

	for (int i = 0; i < MASK_LANES; i++) {
		uint64_t p = position[mask_lane(i)];

		c[0][i] = (uint32_t)p;
		c[1][i] = (uint32_t)(p >> 32);
	}
	c[2] += m->key.step;
	c[3] += m->key.purpose ^ (m->key.sub << 16);
	for (int round = 0; round < 10; round++) {
		mask_multiply(&high0, &low0, c[0], 0xD2511F53u);
		mask_multiply(&high2, &low2, c[2], 0xCD9E8D57u);
		c[0] = high2 ^ c[1] ^ k0;
		c[2] = high0 ^ c[3] ^ k1;
		c[1] = low2;
		c[3] = low0;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	mask_store_words(words, c);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint16_t halves[8 * MASK_LANES];

	memcpy(halves, words, sizeof(halves));
	for (int i = 0; i < 8 * MASK_LANES; i++)
		to[i] = halves[i] >= m->threshold ? scale : 0;
#else
	for (int i = 0; i < 8 * MASK_LANES; i++)
		to[i] = (words[i >> 1] >> ((i & 1) * 16) & 0xFFFF) >= m->threshold ? scale : 0;
#endif
}

/* The factors of elements [first, first + n), n <= MASK_CHUNK; valid until the next call. */
static inline const float *mask_row(struct mask *m, uint64_t first, int64_t n)
{
	uint64_t block = first >> 3, last = (first + (uint64_t)n + 7) >> 3;

	assert(n <= MASK_CHUNK);
	if (m->ones)
		return m->factor;
	for (float *to = m->factor; block < last; block += MASK_LANES, to += 8 * MASK_LANES) {
		uint64_t position[MASK_LANES];

		for (int i = 0; i < MASK_LANES; i++)
			position[i] = block + (uint64_t)i;
		mask_blocks(m, to, position);
	}
	return m->factor + (first & 7);
}

/*
 * A matrix of factors: to[i * stride + j] = factor of element first + i * step + j, for j < n.
 * first and step are multiples of 8; stride >= n rounded up to 8. Short rows share a vector.
 */
static inline void mask_table(const struct mask *m, float *to, int64_t stride, uint64_t first,
			      uint64_t step, int64_t n_rows, int64_t n)
{
	int64_t per_row = CEIL_DIV(n, 8), n_blocks = n_rows * per_row;

	assert(first % 8 == 0 && step % 8 == 0 && stride >= per_row * 8);
	for (int64_t b = 0; b < n_blocks; b += MASK_LANES) {
		int64_t row = b / per_row, block = b % per_row,
			count = MIN(MASK_LANES, n_blocks - b);
		uint64_t position[MASK_LANES] = { 0 };
		float factor[8 * MASK_LANES], *place[MASK_LANES];

		for (int64_t i = 0; i < count; i++) {
			position[i] = (first + (uint64_t)row * step) / 8 + (uint64_t)block;
			place[i] = to + row * stride + block * 8;
			if (++block == per_row) {
				block = 0;
				row++;
			}
		}
		mask_blocks(m, factor, position);
		for (int64_t i = 0; i < count; i++)
			memcpy(place[i], factor + 8 * i, 8 * sizeof(float));
	}
}

#endif
