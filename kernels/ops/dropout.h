/*
 * dropout.h - which elements dropout keeps: the definition for every backend.
 *
 * Random numbers come from Philox (share/base/rng.h), a function of key and position: no state, so
 * any thread can compute any element and the backward pass repeats the mask of the forward pass.
 * Element i uses 16 of the 128 bits of block i / 8; one Philox block serves eight neighbours. Kept
 * elements are multiplied by dropout_scale(), the reciprocal of the exact probability to be kept
 * (the rate is rounded to multiples of 1/65536).
 */
#ifndef WERKBANK_KERNELS_OPS_DROPOUT_H
#define WERKBANK_KERNELS_OPS_DROPOUT_H

#include <stddef.h>

#include "share/base/rng.h"

/* An element is dropped if its 16 bits are below this threshold. */
RNG_INLINE uint32_t dropout_threshold(float rate)
{
	return (uint32_t)(rate * 65536.0f + 0.5f);
}

RNG_INLINE float dropout_scale(float rate)
{
	return 65536.0f / (65536.0f - (float)dropout_threshold(rate));
}

/* The key with the step that is current when the op runs; see struct dropout. */
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
