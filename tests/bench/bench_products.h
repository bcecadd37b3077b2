/* bench_products.h - times of the products of a decoding step on a GPU; see bench_products.c */
#ifndef WERKBANK_TESTS_BENCH_BENCH_PRODUCTS_H
#define WERKBANK_TESTS_BENCH_BENCH_PRODUCTS_H

#include <stdbool.h>

#include "train/model/model.h"

/*
 * Prints a line for each shape and number of rows, and the best value of dev_options.few_rows. json:
 * lines of JSON. ERR_UNAVAILABLE: the backend does not record graphs, so it is no GPU.
 */
int bench_products(const struct model_shape *shape, const struct ops *ops, bool json,
		   struct err *e);

#endif
