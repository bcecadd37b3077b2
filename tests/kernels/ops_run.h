/*
 * ops_run.h - run one op in guarded buffers, and compare two runs.
 *
 * A case is a function that creates its operands (run_tensor(), …) and calls the op. Buffers are filled
 * from a seed and their number, so runs of a case on two backends start with the same data. Gaps between
 * rows, and guards around each buffer, are NaN and must not change; neither must inputs. Outputs start
 * as NaN.
 */
#ifndef WERKBANK_TESTS_KERNELS_OPS_RUN_H
#define WERKBANK_TESTS_KERNELS_OPS_RUN_H

#include <stdbool.h>

#include "kernels/ops/ops.h"

enum role { INPUT, OUTPUT, CHANGED }; /* CHANGED: filled, and written by the op */

enum case_flags {
	WIDE = 1 << 0,	  /* stride > cols */
	BF16 = 1 << 1,	  /* tensors are bf16 */
	ROUNDED = 1 << 2, /* the backend is opened with bf16 products */
	A_TRANSPOSED = 1 << 3,
	B_TRANSPOSED = 1 << 4,
	ACCUMULATE = 1 << 5,
	NO_BIAS = 1 << 6, /* arguments that may be NULL are NULL */
	IN_PLACE = 1 << 7,
	CAUSAL = 1 << 8,
	CROSS = 1 << 9,	      /* keys of another length than queries */
	HALF_CACHE = 1 << 11, /* decoding: bf16 cache, float otherwise; training: inputs and outputs
				 * of products are bf16, the residual stream is float */
	ALIGNED = 1 << 12,    /* all buffers are 64-byte aligned */
	RNG_STEP = 1 << 13,   /* dropout.rng_step is set */
	GAPS = 1 << 14,	      /* sentences without queries or keys; padding targets */
	DEPENDENT = 1 << 15,  /* gpu_ways.dependent_launch */
	HAS_BIAS = 1 << 16,   /* arguments that are NULL in the usual case are not */
	RMS = 1 << 17,	      /* norm_how.kind is NORM_RMS; shifts are NULL */
	NO_NORM = 1 << 18,    /* it is NORM_NONE; scales, shifts, means are NULL */
	BACK = 1 << 19,	      /* rotate: back */
	COARSE = 1 << 10,     /* only nine different numbers, so that many are equal: ties */
};

struct run;

/* One line of ops_cases.def; the function of the op in ops_list.c defines the meaning of the numbers. */
struct op_case {
	const char *op;
	int64_t rows, cols, third, fourth;
	float dropout;
	int flags;
};

typedef void op_function(struct run *r, const struct op_case *c);

#define RUN_BUFFERS 20

struct run {
	const struct ops *ops;
	struct dev *dev;
	const struct op_case *op_case;
	int n;
	struct run_buffer {
		enum role role;
		char type; /* 'f' float, 'h' bf16, 'i' int32, 'd' double */
		int64_t rows, cols, stride;
		size_t bytes, guard;	       /* of the buffer with guards; of each guard */
		unsigned char *before, *after; /* host copies, owned */
		unsigned char *device;	       /* owned by the backend */
	} buffer[RUN_BUFFERS];
};

/* Create operands in device memory, for the function of a case. */
struct tensor run_tensor(struct run *r, enum role role, int64_t rows, int64_t cols);
struct tensor run_halves(struct run *r, enum role role, int64_t rows, int64_t cols);
float *run_floats(struct run *r, enum role role, int64_t n);
double *run_doubles(struct run *r, const double *values, int64_t n); /* initial values */
int32_t *run_ints(struct run *r, const int32_t *values, int64_t n);  /* values NULL: an output */
struct dropout run_dropout(struct run *r);			     /* at most once in a case */
uint32_t run_random(const struct run *r, uint64_t i, uint32_t below);

/* Run a case, and copy the results to the host; false: the backend failed (reported). */
bool run_case(struct run *r, const struct ops *ops, int threads, const struct op_case *c,
	      op_function *f);
void run_free(struct run *r);

/* Only outputs have changed; reports other changes. */
bool run_check_untouched(const struct run *r, const char *who);
/* Outputs agree within the tolerance of their type. */
bool run_check_near(const struct run *want, const struct run *got, const char *who);
/* All buffers agree bit by bit. */
bool run_check_same(const struct run *want, const struct run *got, const char *who);

#endif
