/*
 * cpu_gemm_pack.h - packing for cpu_gemm.c, included only there: rows or columns of an operand are
 * copied into panels, in the order in which a tile reads them, and rounded to bf16 where asked.
 *
 * How an operand lies in memory decides which function reads it at full width:
 *
 *	panel wanted		contiguous along k		contiguous along i
 *	rows, units along k	pack_by_row()			pack_turned() (pairs only)
 *	units of all i for a k	pack_transposed()		pack_along()
 */
/*
 * One operand: i counts rows of a, or columns of b. Element (i, k) is data[i * outer + k * inner];
 * outer or inner is 1.
 */
struct operand {
	const void *data;
	enum dtype dtype;
	int64_t n, outer, inner; /* n: number of i */
	bool round;		 /* to bf16 */
	bool pairs;		 /* units are pairs of bf16 */
};

/* Units of n_k elements. */
static int64_t gemm_unit_count(const struct operand *x, int64_t n_k)
{
	return x->pairs ? (n_k + 1) / 2 : n_k;
}

#if HAVE_PAIRS
/* Pairs from two vectors that hold bf16 values as floats; their lower halves are 0. */
VEC_INLINE vec bf16_join_bits(vec low, vec high)
{
	return (vec)_mm512_or_si512(_mm512_srli_epi32((__m512i)low, 16), (__m512i)high);
}

/* Pairs from two vectors of floats, rounded; `low` gives the lower halves. */
PAIRS_TARGET static inline vec bf16_pair_bits(vec low, vec high)
{
	const __m512i order =
		_mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
				 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);

	return (vec)_mm512_permutexvar_epi16(
		order, (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low));
}

PAIRS_TARGET static void gemm_round_pairs(uint16_t *to, const float *from, int64_t n)
{
	int64_t i = 0;

	for (; i + 2 * VEC_LANES <= n; i += 2 * VEC_LANES)
		_mm512_storeu_si512(
			to + i, (__m512i)_mm512_cvtne2ps_pbh((__m512)vec_load(from + i + VEC_LANES),
							     (__m512)vec_load(from + i)));
	for (; i < n; i++)
		to[i] = bf16_from_float(from[i]);
}
#else
VEC_INLINE vec bf16_join_bits(vec low, vec high)
{
	return (vec)(((vec_int)low >> 16 & 0xFFFF) | (vec_int)high);
}

VEC_INLINE vec bf16_pair_bits(vec low, vec high)
{
	return bf16_join_bits((vec)vec_round_bits(low), (vec)vec_round_bits(high));
}

static void gemm_round_pairs(uint16_t *to, const float *from, int64_t n)
{
	int64_t i = 0;

	for (; i + VEC_LANES <= n; i += VEC_LANES)
		vec_store_halves(to + i, vec_load(from + i));
	for (; i < n; i++)
		to[i] = bf16_from_float(from[i]);
}
#endif

/* to = n contiguous elements as units; the second half of an odd last pair is 0. */
static void pack_floats(float *to, const struct operand *x, const float *from, int64_t n)
{
	if (x->pairs) {
		uint16_t *half = (uint16_t *)to;

		gemm_round_pairs(half, from, n);
		if (n & 1)
			half[n] = 0;
	} else if (x->round) {
		for (int64_t k = 0; k < n; k += VEC_LANES)
			vec_store_part(to + k,
				       (vec)vec_round_bits(vec_load_part(from + k, n - k, 0)),
				       n - k);
	} else {
		memcpy(to, from, (size_t)n * sizeof(*to));
	}
}

static void pack_halves(float *to, const struct operand *x, const uint16_t *from, int64_t n)
{
	if (x->pairs) {
		uint16_t *half = (uint16_t *)to;

		memcpy(half, from, (size_t)n * sizeof(*half));
		if (n & 1)
			half[n] = 0;
	} else {
		for (int64_t k = 0; k < n; k += VEC_LANES)
			vec_store_part(to + k, vec_load_halves_part(from + k, n - k, 0), n - k);
	}
}

/* Elements [k, k + n) of row i as units; inner is 1. */
static void pack_row(float *to, const struct operand *x, int64_t i, int64_t k, int64_t n)
{
	int64_t at = i * x->outer + k;

	assert(x->inner == 1 && i < x->n);
	if (x->dtype == DTYPE_BF16)
		pack_halves(to, x, (const uint16_t *)x->data + at, n);
	else
		pack_floats(to, x, (const float *)x->data + at, n);
}

/*
 * A panel of n_rows contiguous rows, `pitch` units apart, from row `first`. Missing rows are 0, and so
 * are the units after the last one up to a multiple of `step`.
 */
static void pack_by_row(float *to, const struct operand *x, int64_t first, int64_t k, int64_t n_k,
			int n_rows, int64_t pitch, int step)
{
	const int64_t n_units = gemm_unit_count(x, n_k), end = CEIL_DIV(n_units, step) * step;

	for (int64_t i = 0; i < n_rows; i++, to += pitch) {
		int64_t n = 0;

		if (first + i < x->n) {
			pack_row(to, x, first + i, k, n_k);
			n = n_units;
		}
		memset(to + n, 0, (size_t)(end - n) * sizeof(*to));
	}
}

#define TURN_UNITS 512		     /* units of a row that pack_transposed() takes at a time */
#define TURN_PITCH (TURN_UNITS + 16) /* no power of two: rows use different cache sets */

/* At most TURN_UNITS units of pack_transposed(). */
static void transpose_units(float *to, const struct operand *x, int64_t first, int64_t k,
			    int64_t n_k, int panel)
{
	int64_t n_units = gemm_unit_count(x, n_k);

	assert(n_units <= TURN_UNITS);
	for (int64_t i = 0; i < panel; i += VEC_LANES) {
		float row[VEC_LANES][TURN_PITCH];

		for (int64_t j = 0; j < VEC_LANES; j++) {
			if (first + i + j < x->n && i + j < panel)
				pack_row(row[j], x, first + i + j, k, n_k);
			else
				memset(row[j], 0, (size_t)n_units * sizeof(**row));
		}
		for (int64_t u = 0; u < n_units; u += VEC_LANES) {
			vec square[VEC_LANES];

			VEC_UNROLL
			for (int j = 0; j < VEC_LANES; j++)
				square[j] = vec_load_part(row[j] + u, n_units - u, 0);
			vec_transpose(square);
			VEC_UNROLL
			for (int j = 0; j < VEC_LANES; j++)
				if (u + j < n_units)
					vec_store_part(to + (u + j) * panel + i, square[j],
						       panel - i);
		}
	}
}

/* A panel from rows that are contiguous along k: transposed in squares of VEC_LANES units. */
static void pack_transposed(float *to, const struct operand *x, int64_t first, int64_t k,
			    int64_t n_k, int panel)
{
	const int64_t step = x->pairs ? 2 * TURN_UNITS : TURN_UNITS;

	for (int64_t at = 0; at < n_k; at += step, to += TURN_UNITS * panel)
		transpose_units(to, x, first, k + at, MIN(step, n_k - at), panel);
}

/*
 * Prefetch n elements of `rows` rows, `ahead` rows from here; the hardware prefetcher does not follow
 * such large strides. The address may lie beyond the data (a prefetch never faults), so it is
 * computed as an integer.
 */
VEC_INLINE void prefetch_operand(const void *row, int64_t ahead, int64_t stride, int64_t rows,
				 int64_t n, const bool half)
{
	const int64_t size = half ? 2 : 4;

	for (int64_t r = ahead; r < ahead + rows; r++)
		for (int64_t i = 0; i < n; i += 64 / size)
			__builtin_prefetch((const void *)((uintptr_t)row +
							  (uintptr_t)((r * stride + i) * size)));
}

/* Address of element (i, k); outer is 1. */
VEC_INLINE const void *place_along(const struct operand *x, int64_t i, int64_t k, const bool half)
{
	return (const char *)x->data + (i + k * x->inner) * (half ? 2 : 4);
}

/*
 * n_panels panels, `size` floats apart, from data that are contiguous along i. Whole vectors are
 * stored; a store beyond the rows of the panel is overwritten by the next k, and the last one goes
 * into the VEC_LANES floats after the panel.
 */
VEC_INLINE void along_units(float *to, int64_t size, const struct operand *x, int64_t first,
			    int64_t n_panels, int64_t k, int64_t n_k, const int panel,
			    const bool half, const bool round)
{
	const int width = CEIL_DIV(panel, VEC_LANES) * VEC_LANES;
	const int64_t n = MIN(x->n - first, n_panels * panel),
		      n_full = MIN(n_panels, (x->n - first + panel - width) / panel);

	for (int64_t kk = 0; kk < n_k; kk++, to += panel) {
		const void *row = place_along(x, first, k + kk, half);

		prefetch_operand(row, PREFETCH_ROWS, x->inner, 1, n, half);
		for (int64_t p = 0; p < n_panels; p++)
			VEC_UNROLL
		for (int i = 0; i < width; i += VEC_LANES) {
			const int64_t at = p * panel + i, part = p < n_full ? VEC_LANES : n - at;
			const vec y = part > 0 ? vec_get(row, at, part, 0, half) : vec_set(0);

			vec_store(to + p * size + i, round ? (vec)vec_round_bits(y) : y);
		}
	}
}

/* The same for pairs: two k at a time. */
PAIRS_TARGET static inline __attribute__((always_inline)) void
along_pairs(float *to, int64_t size, const struct operand *x, int64_t first, int64_t n_panels,
	    int64_t k, int64_t n_k, const int panel, const bool half)
{
	for (int64_t kk = 0; kk < n_k; kk += 2, to += panel) {
		const bool two = kk + 1 < n_k;
		const void *row = place_along(x, first, k + kk, half),
			   *next = two ? place_along(x, first, k + kk + 1, half) : row;
		int64_t n = x->n - first;

		prefetch_operand(row, PREFETCH_ROWS, x->inner, 2, MIN(n, n_panels * panel), half);
		for (int64_t p = 0; p < n_panels; p++, n -= panel) {
			VEC_UNROLL
			for (int i = 0; i < panel; i += VEC_LANES) {
				int64_t part = n - i, at = p * panel + i;
				vec low = vec_set(0), high = vec_set(0);

				if (part > 0) {
					low = vec_get(row, at, part, 0, half);
					high = two ? vec_get(next, at, part, 0, half) : high;
				}
				vec_store(to + p * size + i, half ? bf16_join_bits(low, high)
								  : bf16_pair_bits(low, high));
			}
		}
	}
}

PAIRS_TARGET static inline __attribute__((always_inline)) void
pack_along(float *to, int64_t size, const struct operand *x, int64_t first, int64_t n_panels,
	   int64_t k, int64_t n_k, const int panel)
{
	if (x->pairs && x->dtype == DTYPE_BF16)
		along_pairs(to, size, x, first, n_panels, k, n_k, panel, true);
	else if (x->pairs)
		along_pairs(to, size, x, first, n_panels, k, n_k, panel, false);
	else if (x->dtype == DTYPE_BF16)
		along_units(to, size, x, first, n_panels, k, n_k, panel, true, false);
	else if (x->round)
		along_units(to, size, x, first, n_panels, k, n_k, panel, false, true);
	else
		along_units(to, size, x, first, n_panels, k, n_k, panel, false, false);
}

PAIRS_TARGET static void pack_along_a(float *to, int64_t size, const struct operand *x,
				      int64_t first, int64_t n_panels, int64_t k, int64_t n_k)
{
	pack_along(to, size, x, first, n_panels, k, n_k, PANEL_M);
}

PAIRS_TARGET static void pack_along_b(float *to, int64_t size, const struct operand *x,
				      int64_t first, int64_t n_panels, int64_t k, int64_t n_k)
{
	pack_along(to, size, x, first, n_panels, k, n_k, PANEL_N);
}

PAIRS_TARGET static void pack_along_tiles(float *to, int64_t size, const struct operand *x,
					  int64_t first, int64_t n_panels, int64_t k, int64_t n_k)
{
	pack_along(to, size, x, first, n_panels, k, n_k, TILES_SIDE);
}

/* Pairs of row k and row k + 1 (0 if there is none), at i: VEC_LANES units, n of them real. */
PAIRS_TARGET static inline __attribute__((always_inline)) vec
pairs_across(const struct operand *x, int64_t i, int64_t n, int64_t k, const bool two,
	     const bool half)
{
	const vec low = vec_get(place_along(x, i, k, half), 0, n, 0, half);
	const vec high = two ? vec_get(place_along(x, i, k + 1, half), 0, n, 0, half) : vec_set(0);

	return half ? bf16_join_bits(low, high) : bf16_pair_bits(low, high);
}

/*
 * n_panels panels of n_rows contiguous rows of pairs, from data that are contiguous along i:
 * transposed in squares of VEC_LANES units. Missing rows, and the units after the last one up to a
 * multiple of TILES_STEP, are 0. The panels are filled together, because neighbours along i share
 * lines of the cache.
 */
PAIRS_TARGET static inline __attribute__((always_inline)) void
turn_pairs(float *to, const struct operand *x, int64_t first, int64_t n_panels, int64_t k,
	   int64_t n_k, int n_rows, int64_t pitch, const bool half)
{
	const int64_t end = CEIL_DIV(n_k, 2 * TILES_STEP) * TILES_STEP;

	for (int64_t u = 0; u < end; u += VEC_LANES) {
		prefetch_operand(place_along(x, first, k + 2 * u, half), 2 * VEC_LANES, x->inner,
				 2 * VEC_LANES, MIN(x->n - first, n_panels * n_rows), half);
		for (int64_t i = 0; i < n_panels * n_rows; i += VEC_LANES) {
			const int64_t n = x->n - first - i;
			vec square[VEC_LANES];

			VEC_UNROLL
			for (int j = 0; j < VEC_LANES; j++) {
				const int64_t kk = 2 * (u + j);

				square[j] = n > 0 && kk < n_k
						    ? pairs_across(x, first + i, n, k + kk,
								   kk + 1 < n_k, half)
						    : vec_set(0);
			}
			vec_transpose(square);
			VEC_UNROLL
			for (int j = 0; j < VEC_LANES; j++)
				vec_store(to + (i + j) * pitch + u, square[j]);
		}
	}
}

PAIRS_TARGET static void pack_turned(float *to, const struct operand *x, int64_t first,
				     int64_t n_panels, int64_t k, int64_t n_k, int n_rows,
				     int64_t pitch)
{
	if (x->dtype == DTYPE_BF16)
		turn_pairs(to, x, first, n_panels, k, n_k, n_rows, pitch, true);
	else
		turn_pairs(to, x, first, n_panels, k, n_k, n_rows, pitch, false);
}
