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

#define TILE_STEP     TILE_JOIN(TILE_NAME, _step)
#define TILE_STEPS    TILE_JOIN(TILE_NAME, _steps)
#define TILE_PREFETCH TILE_JOIN(TILE_NAME, _prefetch)

/* One k: sum += a (PANEL_M units, `pitch` apart) x b (PANEL_N units). */
TILE_TARGET static inline __attribute__((always_inline)) void
TILE_STEP(vec sum[PANEL_M][TILE_VECS], const TILE_UNIT *a, const int64_t pitch, const TILE_UNIT *b)
{
	TILE_VEC y[TILE_VECS];

	VEC_UNROLL
	for (int v = 0; v < TILE_VECS; v++)
		memcpy(&y[v], b + v * VEC_LANES, sizeof(y[v]));
	VEC_UNROLL
	for (int i = 0; i < PANEL_M; i++)
		VEC_UNROLL
	for (int v = 0; v < TILE_VECS; v++)
		sum[i][v] = TILE_MULTIPLY(sum[i][v], a[i * pitch] - (TILE_VEC){ 0 }, y[v]);
}

/*
 * n_k steps; a advances by `step` units in each. The loop is unrolled: where two threads share a core,
 * they share the issue of instructions, and every instruction besides the multiply-adds takes time.
 */
TILE_TARGET static inline __attribute__((always_inline)) void
TILE_STEPS(vec sum[PANEL_M][TILE_VECS], const TILE_UNIT *a, const int64_t step, const int64_t pitch,
	   const TILE_UNIT *b, int64_t n_k)
{
	for (; n_k >= UNROLLED_STEPS;
	     n_k -= UNROLLED_STEPS, a += UNROLLED_STEPS * step, b += UNROLLED_STEPS * PANEL_N)
		VEC_UNROLL
	for (int u = 0; u < UNROLLED_STEPS; u++)
		TILE_STEP(sum, a + u * step, pitch, b + u * PANEL_N);
	for (; n_k > 0; n_k--, a += step, b += PANEL_N)
		TILE_STEP(sum, a, pitch, b);
}

/* Fetch the lines of the result while the sums grow: the hardware prefetcher does not follow from row to row. */
static inline void TILE_PREFETCH(const struct tile_output *at)
{
	const int64_t size = at->half ? 2 : 4;

	for (int64_t i = 0; i < PANEL_M; i++)
		for (int64_t byte = 0; byte < PANEL_N * size; byte += 64)
			__builtin_prefetch((const char *)at->to + i * at->to_stride * size + byte,
					   1);
}

TILE_TARGET static void TILE_NAME(const struct tile_output *at, const struct panels *p)
{
	const TILE_UNIT *a = (const TILE_UNIT *)p->a, *b = (const TILE_UNIT *)p->b;
	vec sum[PANEL_M][TILE_VECS];

	TILE_PREFETCH(at);
	VEC_UNROLL
	for (int i = 0; i < PANEL_M; i++)
		VEC_UNROLL
	for (int v = 0; v < TILE_VECS; v++)
		sum[i][v] = (vec){ 0 };
	if (p->by_row)
		TILE_STEPS(sum, a, 1, ROW_PITCH, b, p->n_k);
	else
		TILE_STEPS(sum, a, PANEL_M, 1, b, p->n_k);
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

#undef TILE_STEPS
#undef TILE_PREFETCH
#undef TILE_STEP
#undef TILE_NAME
#undef TILE_TARGET
#undef TILE_VEC
#undef TILE_UNIT
#undef TILE_MULTIPLY
#undef TILE_STORE_HALVES
