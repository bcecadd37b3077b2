/*
 * bf16.h - bfloat16: the upper half of a float, with 8 bits of exponent and 7 of mantissa.
 * Rounding is to nearest, ties to even, as in hardware.
 */
#ifndef WERKBANK_KERNELS_OPS_BF16_H
#define WERKBANK_KERNELS_OPS_BF16_H

#include <stdint.h>
#include <string.h>

static inline float bf16_to_float(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

static inline uint16_t bf16_from_float(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	if ((u & 0x7FFFFFFF) > 0x7F800000)
		return (uint16_t)(u >> 16 |
				  0x40); /* NaN: set a mantissa bit, or it may become Inf */
	return (uint16_t)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}

#endif
