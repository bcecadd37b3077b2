/*
 * tensor.h - a view of a matrix, the argument of most ops.
 *
 * Element (r, c) lies at data[r * stride + c]. A tensor does not own its memory.
 * Letters for shapes, used in all of kernels/ and train/model/:
 *
 *	T  tokens of a packed batch, source or target (without padding)
 *	N  sentences of a batch        R  rows of a decoding step (sentences x beam)
 *	D  d_model    F  d_ff    H  heads    V  vocabulary    L  layers
 */
#ifndef WERKBANK_KERNELS_OPS_TENSOR_H
#define WERKBANK_KERNELS_OPS_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * DTYPE_PACKED_*: weights in the layout of op linear, kernels/ops/panels.h. data is then one block
 * of panel_bytes() bytes, and stride is unused.
 */
enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_PACKED_F32, DTYPE_PACKED_BF16, DTYPE_PACKED_INT8 };

struct tensor {
	void *data; /* borrowed; in device memory */
	int64_t rows, cols;
	int64_t stride; /* elements from one row to the next, >= cols */
	enum dtype dtype;
};

static inline struct tensor tensor_f32(float *data, int64_t rows, int64_t cols)
{
	struct tensor t = { data, rows, cols, cols, DTYPE_F32 };

	return t;
}

static inline bool tensor_is_packed(struct tensor t)
{
	return t.dtype >= DTYPE_PACKED_F32;
}

static inline size_t dtype_bytes(enum dtype dtype)
{
	return dtype == DTYPE_BF16 ? 2 : 4;
}

/* Columns [first, first + cols) of t. */
static inline struct tensor tensor_columns(struct tensor t, int64_t first, int64_t cols)
{
	t.data = (char *)t.data + (size_t)first * dtype_bytes(t.dtype);
	t.cols = cols;
	return t;
}

/* Rows [first, first + rows) of t. */
static inline struct tensor tensor_rows(struct tensor t, int64_t first, int64_t rows)
{
	t.data = (char *)t.data + (size_t)(first * t.stride) * dtype_bytes(t.dtype);
	t.rows = rows;
	return t;
}

#endif
