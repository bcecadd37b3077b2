/*
 * roof.h - the roofline of this machine (Williams et al. 2009), measured: peak FLOP/s and memory
 * bandwidth, upper bounds of every product and every pass over memory.
 *
 * CPU: peak rates come from loops with the instructions that products use: the widest vector
 * instructions on registers, or tiles (AMX) with operands in the L1 cache. Bandwidth comes from
 * reading blocks larger than any cache. GPU: the rates of the library's product of large square
 * matrices, and of their addition.
 */
#ifndef WERKBANK_TESTS_BENCH_ROOF_H
#define WERKBANK_TESTS_BENCH_ROOF_H

#include "kernels/ops/ops.h"
#include "share/base/err.h"

struct roof {
	int threads;
	double fp32;	   /* floating-point operations a second, all threads; an FMA is two */
	double bf16;	   /* the same with bf16; equal to fp32 without bf16 instructions */
	double int8;	   /* integer operations a second with int8; 0: no such instructions */
	double memory;	   /* bytes read a second */
	const char *units; /* names of the vector units found */
};

/* Takes about half a second. */
int roof_measure(struct roof *r, int threads, struct err *e);

/*
 * roof_device.c: the roof of the opened backend o; d[0]: fp32, d[1]: bf16. Matrices are side x side
 * (8192 fills a large GPU). int8 stays 0.
 */
int roof_of_device(struct roof *r, const struct ops *o, struct dev *const d[2], int64_t side,
		   struct err *e);

/* Lower bound of the seconds for this work: the longer of computing and memory traffic. */
double roof_seconds(const struct roof *r, double peak, double flops, double bytes);

#endif
