/*
 * op_times.h - the time of each op, at exactly the shapes and types that a training step or a
 * decoding calls.
 *
 *	struct op_times *t = op_times_new(ops_find(…), &how, e);
 *	struct model *m = model_new(…, op_times_ops(t), …);	as any backend
 *	… a first step: it warms up
 *	op_times_start(t);
 *	… a second step
 *	const struct op_time *list = op_times_list(t, &n);
 *	model_free(m); op_times_free(t);
 *
 * There is no list of shapes: the table forwards every call, and after the first call of an op with
 * new shapes it repeats that call, with the same arguments, and takes the time. Ops that add to
 * their output do so again, so the results of the step are useless afterwards. CUDA graphs are off,
 * but batches are padded as for graphs. Only one op_times may exist at a time.
 */
#ifndef WERKBANK_TESTS_BENCH_OP_TIMES_H
#define WERKBANK_TESTS_BENCH_OP_TIMES_H

#include "kernels/ops/ops.h"

#define OP_TIMES_MAX 100 /* repeats */

struct op_times_how {
	int repeats;	     /* 1 to OP_TIMES_MAX; each ends with one wait for the device */
	int64_t calls;	     /* of a repeat */
	bool processor_time; /* of this thread, which other work on the machine disturbs least */
	const char *const *words; /* borrowed: time only ops whose text contains one of them */
	int n_words;		  /* 0: time all */
};

struct op_time {
	const char *op, *kind; /* static; kind: op_cost.h, or NULL */
	char shapes[240];      /* of all tensors, e.g. "1024x512 bf16, 1024x2048 f32" */
	int64_t calls;	       /* since op_times_start(), repeats not counted */
	double best, median;   /* seconds of a call; 0: not timed */
	double flops, bytes;   /* of a call, op_cost.h */
};

/* Borrows ops. NULL: ERR_NOMEM. */
struct op_times *op_times_new(const struct ops *ops, const struct op_times_how *how, struct err *e);
void op_times_free(struct op_times *t);
/* The table to use, owned by t. */
const struct ops *op_times_ops(const struct op_times *t);
/* Forget all entries, and take times from now on. */
void op_times_start(struct op_times *t);
/* *n entries in the order of their first calls; owned by t. */
const struct op_time *op_times_list(const struct op_times *t, size_t *n);

#endif
