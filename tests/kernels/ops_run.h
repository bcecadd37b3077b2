/*
 * ops_run.h - runs one op with buffers that notice what should not happen.
 *
 * A case is a function that asks for its operands one after the other and
 * calls the op. The buffers are filled by seed and number, so two runs of a
 * case on two backends begin with the same; what lies between the rows and
 * around each buffer is not-a-number and must be the same afterwards, and so
 * must be the inputs. Outputs begin as not-a-number.
 */
#ifndef WERKBANK_TESTS_KERNELS_OPS_RUN_H
#define WERKBANK_TESTS_KERNELS_OPS_RUN_H

#include <stdbool.h>

#include "kernels/ops/ops.h"

enum role { INPUT, OUTPUT, CHANGED }; /* CHANGED: filled, and written by the op */

enum case_flags {
	WIDE = 1 << 0,	  /* rows lie further apart than they are long */
	BF16 = 1 << 1,	  /* tensors are bf16 */
	ROUNDED = 1 << 2, /* the backend is opened with bf16 products */
	A_TRANSPOSED = 1 << 3,
	B_TRANSPOSED = 1 << 4,
	ACCUMULATE = 1 << 5,
	NO_BIAS = 1 << 6, /* what may be NULL is */
	IN_PLACE = 1 << 7,
	CAUSAL = 1 << 8,
	CROSS = 1 << 9,	      /* keys of another length than queries */
	HALF_CACHE = 1 << 11, /* what is kept is bf16, the rest is not; of training: what
				 * products read and make, beside a residual stream of floats */
	ALIGNED = 1 << 12,    /* everything begins at a multiple of 64 bytes */
	MOMENT = 1 << 13,     /* step and sub of dropout's key lie in memory */
	GAPS = 1 << 14,	      /* sentences without queries or keys; targets that are none */
	COARSE = 1 << 10,     /* only nine different numbers, so that many are equal */
};

struct run;

/* One line of the list; what a, b, c mean is up to the op's function in t_ops.c. */
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
		size_t bytes, guard;	       /* of all; of either guard */
		unsigned char *before, *after; /* host copies, owned */
		unsigned char *device;	       /* owned by the backend */
	} buffer[RUN_BUFFERS];
};

/* Operands, on the backend's side, for the function of a case. */
struct tensor run_tensor(struct run *r, enum role role, int64_t rows, int64_t cols);
struct tensor run_halves(struct run *r, enum role role, int64_t rows, int64_t cols);
float *run_floats(struct run *r, enum role role, int64_t n);
double *run_doubles(struct run *r, const double *values, int64_t n); /* begins with them */
int32_t *run_ints(struct run *r, const int32_t *values, int64_t n);  /* values NULL: an output */
struct dropout run_dropout(struct run *r);			     /* once a case */
uint32_t run_random(const struct run *r, uint64_t i, uint32_t below);

/* Run a case and keep what came out; false when the backend failed (reported). */
bool run_case(struct run *r, const struct ops *ops, int threads, const struct op_case *c,
	      op_function *f);
void run_free(struct run *r);

/* Nothing but outputs changed. Reports what did. */
bool run_check_untouched(const struct run *r, const char *who);
/* The outputs agree within the tolerance of their type. */
bool run_check_near(const struct run *want, const struct run *got, const char *who);
/* All buffers agree in every bit. */
bool run_check_same(const struct run *want, const struct run *got, const char *who);

#endif
