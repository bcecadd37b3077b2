/*
 * ops_list.h - every op with its cases, for tests of any backend.
 *
 * An op of kernels/ops/ops.def without a function in ops_list.c does not link; an op without a case
 * makes t_ops.c fail.
 */
#ifndef WERKBANK_TESTS_KERNELS_OPS_LIST_H
#define WERKBANK_TESTS_KERNELS_OPS_LIST_H

#include "tests/kernels/ops_run.h"

struct op_entry {
	const char *name;
	op_function *run;
};

extern const struct op_entry ops_list[];
extern const size_t ops_n;
extern const struct op_case ops_cases[];
extern const size_t ops_n_cases;

/* The function that calls an op; NULL: no op has this name. */
op_function *ops_function(const char *op);

/* Run one case, or all cases, on a backend and on the reference; report differences. */
void ops_compare(const struct ops *ops, const char *who, const struct op_case *c);
void ops_compare_all(const struct ops *ops, const char *who);

#endif
