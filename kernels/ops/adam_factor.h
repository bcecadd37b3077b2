/*
 * adam_factor.h - the factor of the gradient in op adam: grad_scale / tokens, and clipping. One
 * source for C and CUDA, so that all backends compute the same bits.
 */
#ifndef WERKBANK_KERNELS_OPS_ADAM_FACTOR_H
#define WERKBANK_KERNELS_OPS_ADAM_FACTOR_H

#include <math.h>

#include "kernels/ops/ops.h"

/* NaN: the loss or the gradient norm is not finite; the caller skips the step. */
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
