/*
 * adam_factor.h - what op adam multiplies a gradient by: every backend finds the same number to the
 * last bit. For C, and for kernels on the GPU.
 */
#ifndef WERKBANK_KERNELS_OPS_ADAM_FACTOR_H
#define WERKBANK_KERNELS_OPS_ADAM_FACTOR_H

#include <math.h>

#include "kernels/ops/ops.h"

/* NaN: some sum is not finite, and nothing may change. */
RNG_INLINE float adam_factor(const struct adam_step *s)
{
	double scale = s->tokens ? s->grad_scale / *s->tokens : s->grad_scale, length;

	if (s->loss && !isfinite(*s->loss))
		return NAN;
	if (!s->squares)
		return (float)scale;
	length = sqrt(*s->squares) * scale;
	if (!isfinite(length))
		return NAN;
	if (s->clip > 0 && length > s->clip)
		scale *= s->clip / length;
	return (float)scale;
}

#endif
