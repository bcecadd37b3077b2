/*
 * ref.h - the reference backend: the definition of every op, in plain C: ref_matmul(), …
 *
 * Written to be read, not to be fast: one thread, sums in double. Elements are read and written
 * through ref_get() and ref_set(), which convert from and to bf16. For use inside kernels/, and by
 * tests/kernels/t_ops_grad.c: that test compiles the same files with float defined as double and
 * compares each gradient with finite differences. So the code must not depend on sizeof(float).
 *
 * Only ref_matmul() and ref_linear() use d; the other functions accept NULL.
 */
#ifndef WERKBANK_KERNELS_REF_REF_H
#define WERKBANK_KERNELS_REF_REF_H

#include <math.h>

#include "kernels/ops/bf16.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/ops.h"

#ifndef REF
#define REF(name) ref_##name
#endif

#define OP(name, args, names) void REF(name) args;
#include "kernels/ops/ops.def"
#undef OP

/* The opened reference backend. */
struct ref_dev {
	bool bf16;
};

static inline float ref_get(struct tensor t, int64_t row, int64_t col)
{
	int64_t i = row * t.stride + col;

	return t.dtype == DTYPE_BF16 ? bf16_to_float(((const uint16_t *)t.data)[i])
				     : ((const float *)t.data)[i];
}

static inline void ref_set(struct tensor t, int64_t row, int64_t col, double x)
{
	int64_t i = row * t.stride + col;

	if (t.dtype == DTYPE_BF16)
		((uint16_t *)t.data)[i] = bf16_from_float((float)x);
	else
		((float *)t.data)[i] = (float)x;
}

/*
 * The k greatest log-probabilities of one row, as defined by op top_k. element(row, col) returns the
 * logit of a column.
 */
typedef float ref_element(const void *row, int64_t col);
void REF(best_of_row)(float *values, int32_t *ids, ref_element *element, const void *row,
		      int64_t n_real, int32_t k);

static inline void ref_increase(struct tensor t, int64_t row, int64_t col, double x)
{
	ref_set(t, row, col, ref_get(t, row, col) + x);
}

/* The factor of element i: 0, or the scale of kept elements. */
static inline double ref_dropout(struct dropout drop, uint64_t i)
{
	if (drop.rate <= 0)
		return 1;
	if (!dropout_is_kept(dropout_key(drop.key, drop.rng_step), i, dropout_threshold(drop.rate)))
		return 0;
	return dropout_scale(drop.rate);
}

/* The same for element (row, col) of a tensor: elements are numbered row by row, without stride. */
static inline double ref_dropout_at(struct dropout drop, struct tensor t, int64_t row, int64_t col)
{
	return ref_dropout(drop, (uint64_t)(row * t.cols + col));
}

#endif
