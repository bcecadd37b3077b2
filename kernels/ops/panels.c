/* panels.c - select rows of packed weights; panels.h describes the layout. */
#include "kernels/ops/panels.h"

#include <assert.h>
#include <string.h>

/* Fill one panel of `to`; its outputs may come from any panels of `from`. */
static void gather_panel(struct tensor to, struct tensor from, const int32_t *ids, int64_t panel)
{
	const int64_t first = panel * PANEL_WIDTH, n = MIN(to.rows - first, PANEL_WIDTH);
	const int64_t n_units = panel_units(to);
	int32_t *out = panel_data(to, panel);
	const int32_t *in[PANEL_WIDTH];

	for (int64_t i = 0; i < n; i++) {
		assert(ids[first + i] >= 0 && ids[first + i] < from.rows);
		in[i] = panel_data(from, ids[first + i] / PANEL_WIDTH) +
			ids[first + i] % PANEL_WIDTH;
	}
	for (int64_t u = 0; u < n_units; u++, out += PANEL_WIDTH) {
		for (int64_t i = 0; i < n; i++)
			out[i] = in[i][u * PANEL_WIDTH];
		memset(out + n, 0, (size_t)(PANEL_WIDTH - n) * sizeof(*out));
	}
}

void panel_gather(struct tensor to, struct tensor from, const int32_t *ids)
{
	const int64_t padded = panel_count(to) * PANEL_WIDTH;

	assert(tensor_is_packed(to) && to.dtype == from.dtype && to.cols == from.cols);
	for (int64_t panel = 0; panel < panel_count(to); panel++)
		gather_panel(to, from, ids, panel);
	for (int64_t i = 0; to.dtype == DTYPE_PACKED_INT8 && i < padded; i++) {
		panel_scales(to)[i] = i < to.rows ? panel_scales(from)[ids[i]] : 0;
		panel_sums(to)[i] = i < to.rows ? panel_sums(from)[ids[i]] : 0;
	}
}
