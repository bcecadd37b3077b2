/*
 * dropout.h - which elements dropout keeps: the definition for every backend.
 *
 * Element i of a stream uses 16 of the 128 bits at position i / 8, so one
 * Philox block serves eight neighbours. Kept elements are scaled by
 * dropout_scale(), the reciprocal of the share that is really kept.
 */
#ifndef WERKBANK_KERNELS_OPS_DROPOUT_H
#define WERKBANK_KERNELS_OPS_DROPOUT_H

#include <stddef.h>

#include "share/base/rng.h"

/* An element is dropped when its 16 bits are below this. */
RNG_INLINE uint32_t dropout_threshold(float rate)
{
	return (uint32_t)(rate * 65536.0f + 0.5f);
}

RNG_INLINE float dropout_scale(float rate)
{
	return 65536.0f / (65536.0f - (float)dropout_threshold(rate));
}

/* The key at the moment; see struct dropout. */
RNG_INLINE struct rng_key dropout_key(struct rng_key key, const uint32_t *rng_step)
{
	if (rng_step != NULL) {
		key.step = rng_step[0];
		key.sub = rng_step[1];
	}
	return key;
}

RNG_INLINE int dropout_is_kept(struct rng_key key, uint64_t i, uint32_t threshold)
{
	struct rng_block b = rng_block_at(key, i >> 3);

	return ((b.v[(i & 7) >> 1] >> ((i & 1) * 16)) & 0xFFFF) >= threshold;
}

#endif
