/*
 * cpu_gemm_tile.h - one tile of the matrix product of cpu_gemm.c; included there once for each type
 * of unit, with these macros defined:
 *
 *	TILE_NAME	name of the function
 *	TILE_TARGET	its attributes: instruction sets beyond the machine level
 *	TILE_VEC	type of a vector of units
 *	TILE_UNIT	type of a unit: a float, or a pair of bf16 in 32 bits
 *	TILE_MULTIPLY(sum, x, y)	sum + x y in each lane
 *	TILE_STORE_HALVES(p, x)	store x rounded to bf16
 *
 * For each k: load 2 vectors of b, broadcast PANEL_M units of a, one multiply-add for each of the
 * PANEL_M x 2 sums, which stay in registers: with AVX-512, 24 sums + 2 vectors of b of 32 registers.
 * a comes in two layouts: by row (unit (i, k) at a[i * ROW_PITCH + k]) or by k (a[k * PANEL_M + i]).
 */

TILE_TARGET static void TILE_NAME(const struct tile_output *at, const struct panels *p)
{
	const TILE_UNIT *a = (const TILE_UNIT *)p->a, *b = (const TILE_UNIT *)p->b;
	const int64_t n_k = p->n_k;
	vec sum[PANEL_M][TILE_VECS];

	VEC_UNROLL
	for (int i = 0; i < PANEL_M; i++)
		VEC_UNROLL
	for (int v = 0; v < TILE_VECS; v++)
		sum[i][v] = (vec){ 0 };
	if (p->by_row) {
		for (int64_t k = 0; k < n_k; k++, a++, b += PANEL_N) {
			TILE_VEC y[TILE_VECS];

			VEC_UNROLL
			for (int v = 0; v < TILE_VECS; v++)
				memcpy(&y[v], b + v * VEC_LANES, sizeof(y[v]));
			VEC_UNROLL
			for (int i = 0; i < PANEL_M; i++)
				VEC_UNROLL
			for (int v = 0; v < TILE_VECS; v++)
				sum[i][v] = TILE_MULTIPLY(sum[i][v],
							  a[i * ROW_PITCH] - (TILE_VEC){ 0 }, y[v]);
		}
	} else {
		for (int64_t k = 0; k < n_k; k++, a += PANEL_M, b += PANEL_N) {
			TILE_VEC y[TILE_VECS];

			VEC_UNROLL
			for (int v = 0; v < TILE_VECS; v++)
				memcpy(&y[v], b + v * VEC_LANES, sizeof(y[v]));
			VEC_UNROLL
			for (int i = 0; i < PANEL_M; i++)
				VEC_UNROLL
			for (int v = 0; v < TILE_VECS; v++)
				sum[i][v] = TILE_MULTIPLY(sum[i][v], a[i] - (TILE_VEC){ 0 }, y[v]);
		}
	}
	if (at->from)
		VEC_UNROLL
	for (int i = 0; i < PANEL_M; i++)
		VEC_UNROLL
	for (int v = 0; v < TILE_VECS; v++)
		sum[i][v] += vec_load(at->from + i * at->stride + v * VEC_LANES);
	if (at->half) {
		uint16_t *to = at->to;

		VEC_UNROLL
		for (int i = 0; i < PANEL_M; i++)
			VEC_UNROLL
		for (int v = 0; v < TILE_VECS; v++)
			TILE_STORE_HALVES(to + i * at->to_stride + v * VEC_LANES, sum[i][v]);
	} else {
		float *to = at->to;

		VEC_UNROLL
		for (int i = 0; i < PANEL_M; i++)
			VEC_UNROLL
		for (int v = 0; v < TILE_VECS; v++)
			vec_store(to + i * at->to_stride + v * VEC_LANES, sum[i][v]);
	}
}

#undef TILE_NAME
#undef TILE_TARGET
#undef TILE_VEC
#undef TILE_UNIT
#undef TILE_MULTIPLY
#undef TILE_STORE_HALVES
