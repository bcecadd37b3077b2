/*
 * panels.h - weights packed for op linear, the same on every backend.
 *
 * Weights (N outputs, K inputs) are cut into panels of 32 outputs. A unit is
 * four bytes of one output: a float, two bf16 or four int8 that are neighbours
 * along K. A panel holds for each step along K the units of its outputs, so
 * that a product reads it from one end to the other:
 *
 *	unit (n, u) is number ((n / 32) * U + u) * 32 + n % 32,   U = K / elements of a unit
 *
 * Outputs and inputs that are missing at the edges are 0. Behind the units of
 * int8 weights lie, for each of the N outputs rounded up to panels, its scale
 * (float) and then for each the sum of its integers (int32). An integer is
 * rint(w * (127 / amax)), amax being the greatest magnitude of its row, and the
 * scale is amax / 127; a row of zeros has the scale 0.
 */
#ifndef WERKBANK_KERNELS_OPS_PANELS_H
#define WERKBANK_KERNELS_OPS_PANELS_H

#include "kernels/ops/tensor.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define PANEL_WIDTH 32

/* Elements of a unit. */
static inline int64_t panel_unit(enum dtype packed)
{
	return packed == DTYPE_PACKED_INT8 ? 4 : packed == DTYPE_PACKED_BF16 ? 2 : 1;
}

/* Units along K. */
static inline int64_t panel_units(struct tensor packed)
{
	return CEIL_DIV(packed.cols, panel_unit(packed.dtype));
}

static inline int64_t panel_count(struct tensor packed)
{
	return CEIL_DIV(packed.rows, PANEL_WIDTH);
}

/* The parts of the block. */
static inline int32_t *panel_data(struct tensor packed, int64_t panel)
{
	return (int32_t *)packed.data + panel * panel_units(packed) * PANEL_WIDTH;
}

static inline float *panel_scales(struct tensor packed)
{
	return (float *)(void *)panel_data(packed, panel_count(packed));
}

static inline int32_t *panel_sums(struct tensor packed)
{
	return (int32_t *)(void *)panel_scales(packed) + panel_count(packed) * PANEL_WIDTH;
}

/* Bytes of the block that data points to; false: they cannot be counted. */
static inline bool panel_bytes(struct tensor packed, size_t *bytes)
{
	size_t row = (size_t)panel_units(packed) + (packed.dtype == DTYPE_PACKED_INT8 ? 2 : 0);

	return mem_mul(row, (size_t)panel_count(packed) * PANEL_WIDTH, bytes) &&
	       mem_mul(*bytes, sizeof(int32_t), bytes);
}

/*
 * Packed weights of some outputs of others, in this order: to.rows ids, each a row of from; to has
 * from's kind and columns, and room for panel_bytes(). Where memory is the host's.
 */
void panel_gather(struct tensor to, struct tensor from, const int32_t *ids);

#endif
