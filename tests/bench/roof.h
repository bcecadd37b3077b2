/*
 * roof.h - what this machine can do at most, measured on the spot: the roof of
 * Williams et al. 2009. No product and no pass over memory is faster.
 *
 * Peak rates come from loops over registers alone, with the widest vectors that the
 * machine has; memory from reading blocks that no cache holds. Of a GPU the roof is what
 * its library's product of large square matrices and an addition of them reach.
 */
#ifndef WERKBANK_TESTS_BENCH_ROOF_H
#define WERKBANK_TESTS_BENCH_ROOF_H

#include "kernels/ops/ops.h"
#include "share/base/err.h"

struct roof {
	int threads;
	double fp32;	   /* floating-point operations a second, all threads; an FMA is two */
	double bf16;	   /* the same with bf16; fp32's where there is no such unit */
	double int8;	   /* integer operations with int8 quads; 0: no such unit */
	double memory;	   /* bytes read a second */
	const char *units; /* which vector units were found */
};

/* Takes about half a second. */
int roof_measure(struct roof *r, int threads, struct err *e);

/*
 * roof_device.c: of the opened backend o, d[0] for fp32, d[1] for bf16; matrices have so many rows
 * and columns (8192 fills a large GPU). int8 stays 0.
 */
int roof_of_device(struct roof *r, const struct ops *o, struct dev *const d[2], int64_t side,
		   struct err *e);

/* Seconds that so much work takes at least: the longer of computing and reading. */
double roof_seconds(const struct roof *r, double peak, double flops, double bytes);

#endif
