/*
 * train_variants.h - ways to compute a training step on a GPU, for benchmarks to compare.
 *
 * They are no options of a user: the best way on real GPUs becomes the only one.
 */
#ifndef WERKBANK_TESTS_BENCH_TRAIN_VARIANTS_H
#define WERKBANK_TESTS_BENCH_TRAIN_VARIANTS_H

#include <stdbool.h>

#include "kernels/ops/ops.h"

struct train_variant {
	const char *name;
	struct gpu_ways ways; /* struct dev_options */
	bool has_no_relu_dropout;
};

/* All variants; the first one is the way that training uses. */
const struct train_variant *train_variants(int *n);
/* NULL: no variant has this name. */
const struct train_variant *train_variant_find(const char *name);

#endif
