/*
 * work.h - what a call of an op has to do: work_matmul(), work_embed(), …
 *
 * Floating-point operations of the products (a multiplication and an addition are
 * two), and the bytes that must be read and written at least once. From them and
 * a time follow rates: profile.h. The arguments are those of the op; what they point
 * to is not looked at.
 */
#ifndef WERKBANK_KERNELS_WORK_H
#define WERKBANK_KERNELS_WORK_H

#include "kernels/ops/ops.h"

struct work {
	const char *kind; /* static text that tells calls of one op apart, or NULL */
	double flops;	  /* 0: no product */
	double bytes;	  /* 0: unknown */
};

#define OP(name, args, names) struct work work_##name args;
#include "kernels/ops/ops.def"
#undef OP

#endif
