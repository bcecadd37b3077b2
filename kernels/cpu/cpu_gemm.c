/*
 * cpu_gemm.c - matrix product out (M, N) = or += a (M, K) b (K, N), packed and blocked (Goto and van
 * de Geijn 2008, "Anatomy of high-performance matrix multiplication").
 *
 * K is processed in passes of BLOCK_K units. In a pass both operands are copied ("packed") into
 * panels, in the order in which the inner loop reads them; transposition and conversion happen
 * during that copy:
 *
 *			      b: panels of PANEL_N columns
 *			      +---+---+---+---+
 *			      |   |   | B |   |  BLOCK_K units
 *			      +---+---+---+---+
 *	a: panels of	+---+ +---+---+---+---+
 *	PANEL_M rows	|   | |   |   |   |   |
 *			| A | |   |   | t |   |		tile t += panel A * panel B
 *			+---+ +---+---+---+---+
 *
 * A tile, PANEL_M rows by 2 vectors (12 x 32 floats with AVX-512), stays in registers during a
 * pass (cpu_gemm_tile.h). A block of at most 8 panels stays in the L2 cache.
 *
 * Threads: all threads together pack the smaller operand whole. Then each takes blocks of panels of
 * the larger operand, packs a block into scratch of its own and computes its tiles. One thread
 * computes each sum, in the order of k, so bits depend neither on threads nor on blocks.
 *
 * A unit is one float; with AVX-512 BF16, a pair of bf16 that are neighbours along k. Machines
 * without bf16 instructions round to bf16 while packing and then multiply floats.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_vec.h"
#include "kernels/ops/bf16.h"

#if VEC_LANES == 16
#define PANEL_M 12
#elif VEC_LANES == 8
#define PANEL_M 6
#else
#define PANEL_M 4
#endif
#define TILE_VECS     2
#define PANEL_N	      (TILE_VECS * VEC_LANES)
#define BLOCK_K	      512
#define ROW_PITCH     (BLOCK_K + 16) /* floats; no power of two: rows use different cache sets */
#define BLOCK_PANELS  8		     /* greatest number of panels of a block */
#define PREFETCH_ROWS 32	     /* prefetch distance of packing, in rows of memory */

/* The two panels of a tile. */
struct panels {
	const float *a, *b; /* units: floats, or pairs of bf16 */
	int64_t n_k;	    /* units along k */
	bool by_row;	    /* layout of a: each row contiguous; else PANEL_M units for each k */
};

/* to = tile, or tile + from. */
struct tile_output {
	const float *from; /* NULL: nothing to add */
	void *to;
	int64_t stride, to_stride; /* of from; of to */
	bool half;		   /* to is bf16 */
};

typedef void tile_function(const struct tile_output *at, const struct panels *p);

#define TILE_NAME tile_floats
#define TILE_TARGET
#define TILE_VEC		 vec
#define TILE_UNIT		 float
#define TILE_MULTIPLY(sum, x, y) ((sum) + (x) * (y))
#define TILE_STORE_HALVES(p, x)	 vec_store_halves(p, x)
#include "kernels/cpu/cpu_gemm_tile.h"

#if defined(__AVX512F__)
#define HAVE_PAIRS		 1
#define PAIRS_TARGET		 __attribute__((target("avx512bf16")))
#define TILE_NAME		 tile_pairs
#define TILE_TARGET		 PAIRS_TARGET
#define TILE_VEC		 vec_int
#define TILE_UNIT		 int32_t
#define TILE_MULTIPLY(sum, x, y) (vec) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(x), (__m512bh)(y))
#define TILE_STORE_HALVES(p, x)                                                                    \
	_mm256_storeu_si256((__m256i *)(void *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(x)))
#include "kernels/cpu/cpu_gemm_tile.h"

static bool machine_has_pairs(void)
{
	return __builtin_cpu_supports("avx512bf16");
}
#else
#define HAVE_PAIRS 0
#define PAIRS_TARGET
#define tile_pairs tile_floats

static bool machine_has_pairs(void)
{
	return false;
}
#endif

/* ---- packing ---------------------------------------------------------------------- */

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
VEC_INLINE vec bf16_pair_bits(vec low, vec high)
{
	(void)high;
	return low;
}

#define bf16_join_bits bf16_pair_bits

#define gemm_round_pairs gemm_round_bf16
#endif

static void gemm_round_bf16(uint16_t *to, const float *from, int64_t n)
{
	int64_t i = 0;

	for (; i + VEC_LANES <= n; i += VEC_LANES)
		vec_store_halves(to + i, vec_load(from + i));
	for (; i < n; i++)
		to[i] = bf16_from_float(from[i]);
}

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

/* A panel with contiguous rows, ROW_PITCH apart, from row `first`. Missing rows are 0. */
static void pack_by_row(float *to, const struct operand *x, int64_t first, int64_t k, int64_t n_k)
{
	for (int64_t i = 0; i < PANEL_M; i++, to += ROW_PITCH) {
		if (first + i < x->n)
			pack_row(to, x, first + i, k, n_k);
		else
			memset(to, 0, (size_t)gemm_unit_count(x, n_k) * sizeof(*to));
	}
}

/* A panel from rows that are contiguous along k: transposed in squares of VEC_LANES units. */
static void pack_transposed(float *to, const struct operand *x, int64_t first, int64_t k,
			    int64_t n_k, int panel)
{
	int64_t n_units = gemm_unit_count(x, n_k);

	for (int64_t i = 0; i < panel; i += VEC_LANES) {
		float row[VEC_LANES][ROW_PITCH];

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
 * into the VEC_LANES floats behind the panel.
 */
VEC_INLINE void along_units(float *to, int64_t size, const struct operand *x, int64_t first,
			    int64_t n_panels, int64_t k, int64_t n_k, const int panel,
			    const bool half)
{
	for (int64_t kk = 0; kk < n_k; kk++, to += panel) {
		const void *row = place_along(x, first, k + kk, half);
		int64_t n = x->n - first;

		prefetch_operand(row, PREFETCH_ROWS, x->inner, 1, MIN(n, n_panels * panel), half);
		for (int64_t p = 0; p < n_panels; p++, n -= panel) {
			for (int64_t i = 0; i < panel; i += VEC_LANES) {
				int64_t part = n - i;
				vec y = part > 0 ? vec_get(row, p * panel + i, part, 0, half)
						 : vec_set(0);

				vec_store(to + p * size + i,
					  x->round && !half ? (vec)vec_round_bits(y) : y);
			}
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
		along_units(to, size, x, first, n_panels, k, n_k, panel, true);
	else
		along_units(to, size, x, first, n_panels, k, n_k, panel, false);
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

/* ---- the product -------------------------------------------------------------------- */

struct product {
	struct tensor out;
	struct tensor partial; /* sums between passes: out, or floats in scratch if out is bf16 */
	struct operand a, b;
	int64_t n_k;
	bool accumulate;
	bool a_by_row;
	tile_function *tile;
	int64_t a_panel, b_panel; /* floats of a packed panel */
	int64_t block_panels;	  /* panels of a block of the larger operand */
	float *whole, *blocks;	  /* packed: the smaller operand; one block for each thread */
};

/* One pass: terms [k, k + n_k) of all sums. to = terms, or from + terms if add. */
struct pass {
	int64_t k, n_k;
	struct tensor from, to;
	bool add;
	bool direct; /* tiles need no detour through edge_tile() */
};

/* Sums stay floats until the last pass, so that a bf16 result is rounded only once. */
static struct pass pass_at(const struct product *p, int64_t k, int64_t n_k)
{
	bool first = k == 0, last = k + n_k >= p->n_k;
	struct pass pass = {
		.k = k,
		.n_k = n_k,
		.from = first ? p->out : p->partial,
		.to = last ? p->out : p->partial,
		.add = p->accumulate || !first,
	};

	pass.direct = !pass.add || !cpu_is_half(pass.from);
	return pass;
}

static void pack_a(const struct product *p, float *to, int64_t first, int64_t n, int64_t k,
		   int64_t n_k)
{
	if (p->a_by_row)
		for (int64_t i = 0; i < n; i++)
			pack_by_row(to + i * p->a_panel, &p->a, (first + i) * PANEL_M, k, n_k);
	else
		pack_along_a(to, p->a_panel, &p->a, first * PANEL_M, n, k, n_k);
}

static void pack_b(const struct product *p, float *to, int64_t first, int64_t n, int64_t k,
		   int64_t n_k)
{
	if (p->b.outer == 1)
		pack_along_b(to, p->b_panel, &p->b, first * PANEL_N, n, k, n_k);
	else
		for (int64_t i = 0; i < n; i++)
			pack_transposed(to + i * p->b_panel, &p->b, (first + i) * PANEL_N, k, n_k,
					PANEL_N);
}

/* A tile at the edge, or one that is added to bf16: compute a whole tile, then copy a part. */
static void edge_tile(const struct product *p, const struct panels *panels, int64_t row,
		      int64_t col, const struct pass *pass)
{
	int64_t n_rows = MIN(PANEL_M, p->out.rows - row), n_cols = MIN(PANEL_N, p->out.cols - col);
	float sums[PANEL_M * PANEL_N];

	p->tile(&(struct tile_output){ .to = sums, .to_stride = PANEL_N }, panels);
	for (int64_t i = 0; i < n_rows; i++) {
		const void *from = cpu_any_row(pass->from, row + i);
		void *to = cpu_any_row(pass->to, row + i);

		for (int64_t j = 0; j < n_cols; j += VEC_LANES) {
			vec y = vec_load(sums + i * PANEL_N + j);

			if (pass->add)
				y += vec_get(from, col + j, n_cols - j, 0, cpu_is_half(pass->from));
			vec_put(to, col + j, y, n_cols - j, cpu_is_half(pass->to));
		}
	}
}

static void one_tile(const struct product *p, const float *a, const float *b,
		     const struct pass *pass, int64_t row, int64_t col)
{
	struct panels panels = { a, b, gemm_unit_count(&p->a, pass->n_k), p->a_by_row };

	struct tile_output at = {
		.from = pass->add ? cpu_row(pass->from, row) + col : NULL,
		.to = tensor_columns(tensor_rows(pass->to, row, 1), col, 1).data,
		.stride = pass->from.stride,
		.to_stride = pass->to.stride,
		.half = cpu_is_half(pass->to),
	};

	if (row + PANEL_M <= p->out.rows && col + PANEL_N <= p->out.cols && pass->direct)
		p->tile(&at, &panels);
	else
		edge_tile(p, &panels, row, col, pass);
}

/* Block i of rows, times all of b. */
static void row_block(const struct product *p, float *packed, int64_t i, const struct pass *pass)
{
	int64_t first = i * p->block_panels,
		last = MIN(first + p->block_panels, CEIL_DIV(p->out.rows, PANEL_M));

	pack_a(p, packed, first, last - first, pass->k, pass->n_k);
	for (int64_t col = 0; col < CEIL_DIV(p->out.cols, PANEL_N); col++)
		for (int64_t panel = first; panel < last; panel++)
			one_tile(p, packed + (panel - first) * p->a_panel,
				 p->whole + col * p->b_panel, pass, panel * PANEL_M, col * PANEL_N);
}

/* All of a, times block i of columns. */
static void col_block(const struct product *p, float *packed, int64_t i, const struct pass *pass)
{
	int64_t first = i * p->block_panels,
		last = MIN(first + p->block_panels, CEIL_DIV(p->out.cols, PANEL_N));

	pack_b(p, packed, first, last - first, pass->k, pass->n_k);
	for (int64_t panel = first; panel < last; panel++)
		for (int64_t row = 0; row < CEIL_DIV(p->out.rows, PANEL_M); row++)
			one_tile(p, p->whole + row * p->a_panel,
				 packed + (panel - first) * p->b_panel, pass, row * PANEL_M,
				 panel * PANEL_N);
}

/* Elements of k in a pass. */
static int64_t pass_length(const struct product *p)
{
	return p->a.pairs ? 2 * BLOCK_K : BLOCK_K;
}

static void gemm_multiply(struct dev *d, const struct product *p, bool b_whole)
{
	int64_t a_panels = CEIL_DIV(p->out.rows, PANEL_M),
		b_panels = CEIL_DIV(p->out.cols, PANEL_N);
	int64_t n_whole = b_whole ? b_panels : a_panels;
	int64_t n_blocks = CEIL_DIV(b_whole ? a_panels : b_panels, p->block_panels);
	int64_t step = pass_length(p);

	assert(p->block_panels >= 1 && p->block_panels <= BLOCK_PANELS);
#pragma omp parallel num_threads(d->threads)
	{
		float *packed = p->blocks + cpu_thread_number() * p->block_panels *
						    (b_whole ? p->a_panel : p->b_panel);

		for (int64_t k = 0; k == 0 || k < p->n_k; k += step) {
			const struct pass pass = pass_at(p, k, MIN(step, p->n_k - k));

#pragma omp for schedule(static)
			for (int64_t i = 0; i < n_whole; i += BLOCK_PANELS) {
				int64_t n = MIN(BLOCK_PANELS, n_whole - i);

				if (b_whole)
					pack_b(p, p->whole + i * p->b_panel, i, n, k, pass.n_k);
				else
					pack_a(p, p->whole + i * p->a_panel, i, n, k, pass.n_k);
			}
#pragma omp for schedule(dynamic)
			for (int64_t i = 0; i < n_blocks; i++) {
				if (b_whole)
					row_block(p, packed, i, &pass);
				else
					col_block(p, packed, i, &pass);
			}
		}
	}
}

/* Scratch memory of a product. False: out of memory, stored in d->fault. */
static bool gemm_reserve_scratch(struct dev *d, struct product *p, bool b_whole)
{
	int64_t a_panels = CEIL_DIV(p->out.rows, PANEL_M),
		b_panels = CEIL_DIV(p->out.cols, PANEL_N);

	p->a_panel = p->a_by_row ? PANEL_M * ROW_PITCH : PANEL_M * BLOCK_K + VEC_LANES;
	p->b_panel = PANEL_N * BLOCK_K;
	p->block_panels =
		MAX(1, MIN(BLOCK_PANELS, CEIL_DIV(b_whole ? a_panels : b_panels, 2 * d->threads)));
	p->whole = cpu_scratch(d, CPU_SCRATCH_A, (size_t)(b_whole ? b_panels : a_panels),
			       (size_t)(b_whole ? p->b_panel : p->a_panel) * sizeof(float));
	p->blocks = cpu_scratch(d, CPU_SCRATCH_B, (size_t)(d->threads * p->block_panels),
				(size_t)(b_whole ? p->a_panel : p->b_panel) * sizeof(float));
	p->partial = p->out;
	if (cpu_is_half(p->out) && p->n_k > pass_length(p))
		p->partial = tensor_f32(cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)p->out.rows,
						    (size_t)p->out.cols * sizeof(float)),
					p->out.rows, p->out.cols);
	return p->whole && p->blocks && p->partial.data;
}

void CPU(matmul)(struct dev *d, struct tensor out, struct tensor a, struct tensor b,
		 struct matmul_how how)
{
	bool pairs = HAVE_PAIRS && d->bf16 && machine_has_pairs(), b_whole = out.rows >= out.cols;
	struct product p = {
		.out = out,
		.a = { a.data, a.dtype, out.rows, how.a_transposed ? 1 : a.stride,
		       how.a_transposed ? a.stride : 1, d->bf16, pairs },
		.b = { b.data, b.dtype, out.cols, how.b_transposed ? b.stride : 1,
		       how.b_transposed ? 1 : b.stride, d->bf16, pairs },
		.n_k = how.a_transposed ? a.rows : a.cols,
		.accumulate = how.accumulate,
		.a_by_row = !how.a_transposed,
		.tile = pairs ? tile_pairs : tile_floats,
	};

	if (out.rows == 0 || out.cols == 0)
		return;
	if (CPU(matmul_small)(d, out, a, b, how))
		return;
	if (d->onednn && cpu_onednn_matmul(d, out, a, b, how, gemm_round_bf16))
		return;
	if (gemm_reserve_scratch(d, &p, b_whole))
		gemm_multiply(d, &p, b_whole);
}
