/*
 * op_cost.h - FLOPs and bytes of a call of an op: op_cost_matmul(), op_cost_embed(), …
 *
 * FLOPs: operations of matrix products; a multiplication and an addition count as two.
 * bytes: the least traffic with memory, each input read once and each output written once.
 * The functions take the arguments of the op and never dereference a pointer (the data may be in
 * device memory). profile.h divides these counts by measured times.
 */
#ifndef WERKBANK_KERNELS_OP_COST_H
#define WERKBANK_KERNELS_OP_COST_H

#include "kernels/ops/ops.h"

struct op_cost {
	const char *kind; /* static text: variant of the op, e.g. "a b^T"; or NULL */
	double flops;	  /* 0: the op contains no product */
	double bytes;	  /* 0: unknown */
};

#define OP(name, args, names) struct op_cost op_cost_##name args;
#include "kernels/ops/ops.def"
#undef OP

#endif
