/*
 * bench_ops_options.h - calls of the ops that only other architectures than the default one use: gates,
 * activations, RMS norm, post-norm, rotary positions, SSRU. For op_times.h.
 */
#ifndef WERKBANK_TESTS_BENCH_BENCH_OPS_OPTIONS_H
#define WERKBANK_TESTS_BENCH_BENCH_OPS_OPTIONS_H

#include "kernels/ops/ops.h"

struct option_sizes {
	int64_t tokens, d_model, d_ff, heads;
	int64_t sentence; /* tokens of a sentence, of ssru */
	int64_t rows;	  /* of a decoding step */
	int threads;
	bool bf16; /* type of activations */
};

/* Call each op once, on an opened device of o with random numbers. ERR_NOMEM, or what o->open() returns. */
int bench_ops_call_options(const struct ops *o, const struct option_sizes *s, struct err *e);

#endif
