/*
 * rng.h - a counter-based random number generator.
 *
 * A value is a function of (seed, purpose, step, position) only. It does not depend on
 * earlier calls, on the number of ranks or on the number of threads. So a resumed run
 * equals the uninterrupted one, and backward recomputes a dropout mask instead of storing
 * it. Philox4x32 with 10 rounds (Salmon et al. 2011,
 * "Parallel random numbers: as easy as 1, 2, 3"). Inline, because the CPU and
 * the GPU kernels share this code.
 */
#ifndef WERKBANK_SHARE_BASE_RNG_H
#define WERKBANK_SHARE_BASE_RNG_H

#include <stdint.h>

#ifdef __CUDACC__
#define RNG_INLINE static __host__ __device__ __forceinline__
#else
#define RNG_INLINE static inline
#endif

enum rng_purpose {
	RNG_INIT = 1,
	RNG_SHUFFLE,
	RNG_DROPOUT,
	RNG_SAMPLE,
	RNG_DEMO,
	RNG_TEST,
	RNG_FETCH,
	RNG_PIECES,
	RNG_BOOTSTRAP,
	RNG_DECODE,
	RNG_LAYERS
};

/* Names one stream of random numbers; plain data. */
struct rng_key {
	uint32_t seed_low, seed_high; /* the run's seed */
	uint32_t purpose;	      /* enum rng_purpose, and a site number above bit 8 */
	uint32_t step;		      /* optimizer step, or epoch, or sentence */
	uint32_t sub;		      /* micro-batch within the step */
};

struct rng_block {
	uint32_t v[4];
};

/* The four 32-bit words at one position of a stream. */
RNG_INLINE struct rng_block rng_block_at(struct rng_key k, uint64_t position)
{
	struct rng_block c;
	uint32_t k0 = k.seed_low ^ (k.purpose * 0x9E3779B1u),
		 k1 = k.seed_high ^ (k.sub * 0x85EBCA77u);
	int i;

	c.v[0] = (uint32_t)position;
	c.v[1] = (uint32_t)(position >> 32);
	c.v[2] = k.step;
	c.v[3] = k.purpose ^ (k.sub << 16);
	for (i = 0; i < 10; i++) {
		uint64_t p0 = (uint64_t)0xD2511F53u * c.v[0];
		uint64_t p1 = (uint64_t)0xCD9E8D57u * c.v[2];
		uint32_t y0 = (uint32_t)(p1 >> 32) ^ c.v[1] ^ k0;
		uint32_t y2 = (uint32_t)(p0 >> 32) ^ c.v[3] ^ k1;

		c.v[1] = (uint32_t)p1;
		c.v[3] = (uint32_t)p0;
		c.v[0] = y0;
		c.v[2] = y2;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return c;
}

/* The 32-bit word number i of a stream. */
RNG_INLINE uint32_t rng_u32(struct rng_key k, uint64_t i)
{
	return rng_block_at(k, i >> 2).v[i & 3];
}

/* Uniform in [0, 1), with 24 bits. */
RNG_INLINE float rng_unit(struct rng_key k, uint64_t i)
{
	return (float)(rng_u32(k, i) >> 8) * (1.0f / 16777216.0f);
}

RNG_INLINE struct rng_key rng_key_make(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t sub)
{
	struct rng_key k;

	k.seed_low = (uint32_t)seed;
	k.seed_high = (uint32_t)(seed >> 32);
	k.purpose = purpose;
	k.step = step;
	k.sub = sub;
	return k;
}

#endif
