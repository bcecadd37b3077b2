/*
 * panels.h - weights packed for op linear, the same on every backend.
 *
 * Weights (N outputs, K inputs) are cut into panels of 32 outputs. A unit is four bytes of one
 * output: one float, two bf16 or four int8, neighbours along K. U = K / elements of a unit, rounded
 * up. A panel stores its units in the order in which a product needs them:
 *
 *	panel 0:  (0,0) (1,0) … (31,0)  (0,1) (1,1) … (31,1)  …  (31,U-1)	(output, unit)
 *	panel 1:  (32,0) (33,0) … (63,0)  …
 *
 * So unit u of output n is number ((n / 32) * U + u) * 32 + n % 32, a SIMD register or a warp loads
 * the same unit of neighbouring outputs at once, and a product reads each panel from one end to the
 * other, once. Missing outputs and inputs at the edges are 0.
 *
 * int8: after all panels follow the scales (float) and then the sums of the integers (int32), one
 * for each output, N rounded up to whole panels. integer = rint(w * (127 / amax)), amax = greatest
 * magnitude of the row, scale = amax / 127; a row of zeros has scale 0. The sums correct products
 * by instructions that want an unsigned operand (cpu_linear.c).
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

/* Addresses in the block: units of a panel; scales; sums (int8 only). */
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

/* *bytes = size of the block that packed.data points to; false: overflow. */
static inline bool panel_bytes(struct tensor packed, size_t *bytes)
{
	size_t row = (size_t)panel_units(packed) + (packed.dtype == DTYPE_PACKED_INT8 ? 2 : 0);

	return mem_mul(row, (size_t)panel_count(packed) * PANEL_WIDTH, bytes) &&
	       mem_mul(*bytes, sizeof(int32_t), bytes);
}

/*
 * Select outputs: row i of `to` = row ids[i] of `from`, both packed with the same dtype and columns.
 * `to` has room for panel_bytes(). Host memory only.
 */
void panel_gather(struct tensor to, struct tensor from, const int32_t *ids);

#endif
