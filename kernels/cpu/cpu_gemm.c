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
 * the larger operand, packs a block into scratch of its own and computes its tiles; with many threads
 * several threads share a block (choose_gemm_parts()). One thread computes each sum, in the order of k,
 * so bits depend neither on threads nor on blocks.
 *
 * A unit is one float; with AVX-512 BF16, a pair of bf16 that are neighbours along k. Machines
 * without bf16 instructions round to bf16 while packing and then multiply floats.
 *
 * With AMX a tile is 32 x 32 sums of pairs (cpu_tiles.h): panels of a are 32 rows, each contiguous, so
 * rows that are bf16 already are read where they lie. The tile unit stores its sums to a buffer in the
 * L1 cache. From there a large result goes past the caches to memory, line by line: rows of a
 * result are often a power of two apart and would evict each other from the L1 cache.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_tiles.h"
#include "kernels/cpu/cpu_vec.h"
#include "kernels/ops/bf16.h"
#include "kernels/ops/cpu_level.h"

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
#define MAX_SPLITS    8		     /* greatest number of shares of the smaller operand */
#define SHORT_K	      256	     /* most units along k of a short pass: see col_block() */
#define PREFETCH_ROWS 32	     /* prefetch distance of packing, in rows of memory */
#define TILES_BLOCK_K 1024	/* BLOCK_K of tiles: two panels of 128 KiB fit into the L2 cache */
#define STREAM_BYTES  (2 << 20) /* larger results go past the caches: an L2 cache holds as much */

/* The two panels of a tile. */
struct panels {
	const float *a, *b; /* units: floats, or pairs of bf16 */
	int64_t n_k;	    /* units along k */
	bool by_row;	    /* layout of a: each row contiguous; else PANEL_M units for each k */
	int64_t row_bytes;  /* tiles: from one row of a to the next */
	int n_rows;	    /* tiles: rows of the result */
};

/* to = tile, or tile + from. */
struct tile_output {
	const float *from; /* NULL: nothing to add */
	void *to;
	int64_t stride, to_stride; /* of from; of to */
	bool half;		   /* to is bf16 */
};

typedef void tile_function(const struct tile_output *at, const struct panels *p);

#define UNROLLED_STEPS	 8 /* steps along k of an unrolled loop */
#define TILE_JOIN_(a, b) a##b
#define TILE_JOIN(a, b)	 TILE_JOIN_(a, b)

#define TILE_NAME tile_floats
#define TILE_TARGET
#define TILE_VEC		 vec
#define TILE_UNIT		 float
#define TILE_MULTIPLY(sum, x, y) vec_multiply_add(sum, x, y)
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
	return ops_cpu_allowed_level() >= CPU_LEVEL_BF16 && __builtin_cpu_supports("avx512bf16");
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

#if HAVE_TILES
/* at->to is a buffer of 32 x 32 floats. */
static void tile_amx(const struct tile_output *at, const struct panels *p)
{
	tiles_bf16(at->to, &(struct tiles_operands){ p->a, p->row_bytes, (const int32_t *)p->b,
						     p->n_k, p->n_rows });
}
#else
#define tile_amx tile_floats
#endif

#include "kernels/cpu/cpu_gemm_pack.h"

/* ---- the product -------------------------------------------------------------------- */

struct product {
	struct tensor out;
	struct tensor partial; /* sums between passes: out, or floats in scratch if out is bf16 */
	struct operand a, b;
	int64_t n_k;
	bool accumulate;
	bool a_by_row;
	bool tiles;   /* by the tile unit */
	bool a_as_is; /* tiles: whole panels of a are read where they lie */
	bool streams; /* tiles: the result goes past the caches */
	tile_function *tile;
	int n_rows, n_cols;	  /* of a tile: rows of a panel of a, columns of one of b */
	int64_t block_k;	  /* units of a pass */
	int64_t pitch;		  /* units from one packed row of a to the next, if a_by_row */
	int64_t a_panel, b_panel; /* floats of a packed panel */
	int64_t block_panels;	  /* panels of a block of the larger operand */
	int64_t n_splits;	  /* shares of the smaller operand: see choose_gemm_parts() */
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

/* Panel i of a is read where it lies. */
static bool panel_is_in_place(const struct product *p, int64_t i)
{
	return p->a_as_is && (i + 1) * p->n_rows <= p->out.rows;
}

static void pack_a(const struct product *p, float *to, int64_t first, int64_t n, int64_t k,
		   int64_t n_k)
{
	if (!p->a_by_row) {
		if (p->tiles)
			pack_turned(to, &p->a, first * p->n_rows, n, k, n_k, p->n_rows, p->pitch);
		else
			pack_along_a(to, p->a_panel, &p->a, first * PANEL_M, n, k, n_k);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		if (!panel_is_in_place(p, first + i))
			pack_by_row(to + i * p->a_panel, &p->a, (first + i) * p->n_rows, k, n_k,
				    p->n_rows, p->pitch, p->tiles ? TILES_STEP : 1);
}

static void pack_b(const struct product *p, float *to, int64_t first, int64_t n, int64_t k,
		   int64_t n_k)
{
	if (p->b.outer != 1)
		for (int64_t i = 0; i < n; i++)
			pack_transposed(to + i * p->b_panel, &p->b, (first + i) * p->n_cols, k, n_k,
					p->n_cols);
	else if (p->tiles)
		pack_along_tiles(to, p->b_panel, &p->b, first * p->n_cols, n, k, n_k);
	else
		pack_along_b(to, p->b_panel, &p->b, first * p->n_cols, n, k, n_k);
}

/* A part of a tile that was computed into sums: add what is there, round, store. */
static void store_part(const struct product *p, const struct pass *pass, const float *sums,
		       int64_t row, int64_t col)
{
	int64_t n_rows = MIN(p->n_rows, p->out.rows - row),
		n_cols = MIN(p->n_cols, p->out.cols - col);

	for (int64_t i = 0; i < n_rows; i++) {
		const void *from = cpu_any_row(pass->from, row + i);
		void *to = cpu_any_row(pass->to, row + i);

		for (int64_t j = 0; j < n_cols; j += VEC_LANES) {
			vec y = vec_load(sums + i * p->n_cols + j);

			if (pass->add)
				y += vec_get(from, col + j, n_cols - j, 0, cpu_is_half(pass->from));
			vec_put(to, col + j, y, n_cols - j, cpu_is_half(pass->to));
		}
	}
}

#if HAVE_PAIRS
/* All 32 columns of n_rows rows, in whole lines of the cache; nothing is added. */
PAIRS_TARGET static void store_lines(const struct product *p, struct tensor to, const float *sums,
				     int64_t n_rows)
{
	const int64_t size = cpu_is_half(to) ? 2 : 4, stride = to.stride * size;
	const bool streams = p->streams && ((uintptr_t)to.data | (uintptr_t)stride) % 64 == 0;
	char *line = to.data;

	for (int64_t i = 0; i < n_rows; i++, sums += TILES_SIDE, line += stride) {
		__m512i low = _mm512_load_si512(sums), high = _mm512_load_si512(sums + VEC_LANES);

		if (size == 2) {
			low = (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
			if (streams)
				_mm512_stream_si512((__m512i *)(void *)line, low);
			else
				_mm512_storeu_si512(line, low);
		} else if (streams) {
			_mm512_stream_si512((__m512i *)(void *)line, low);
			_mm512_stream_si512((__m512i *)(void *)(line + 64), high);
		} else {
			_mm512_storeu_si512(line, low);
			_mm512_storeu_si512(line + 64, high);
		}
	}
}
#endif

static void store_sums(const struct product *p, const struct pass *pass, const float *sums,
		       int64_t row, int64_t col)
{
#if HAVE_PAIRS
	if (p->tiles && !pass->add && col + p->n_cols <= p->out.cols) {
		const int64_t n = MIN(p->n_rows, p->out.rows - row);

		store_lines(p, tensor_columns(tensor_rows(pass->to, row, n), col, p->n_cols), sums,
			    n);
		return;
	}
#endif
	store_part(p, pass, sums, row, col);
}

/*
 * Fetch what a tile will be added to while its sums are computed: the hardware prefetcher does not
 * follow from row to row.
 */
static void prefetch_sums(const struct product *p, const struct pass *pass, int64_t row,
			  int64_t col)
{
	const int64_t n_rows = MIN(p->n_rows, p->out.rows - row);
	const struct tensor from = tensor_columns(tensor_rows(pass->from, row, n_rows), col, 1);
	const int64_t size = cpu_is_half(from) ? 2 : 4;

	for (int64_t i = 0; i < n_rows; i++)
		for (int64_t byte = 0; byte < p->n_cols * size; byte += 64)
			__builtin_prefetch(
				(const void *)((uintptr_t)from.data +
					       (uintptr_t)(i * from.stride * size + byte)),
				1);
}

/* A tile that is computed whole into a buffer, which is then stored. */
static void buffered_tile(const struct product *p, const struct panels *panels, int64_t row,
			  int64_t col, const struct pass *pass)
{
	float sums[TILES_SIDE * TILES_SIDE] __attribute__((aligned(64)));

	assert(p->n_rows * p->n_cols <= TILES_SIDE * TILES_SIDE);
	if (pass->add)
		prefetch_sums(p, pass, row, col);
	p->tile(&(struct tile_output){ .to = sums, .to_stride = p->n_cols }, panels);
	store_sums(p, pass, sums, row, col);
}

/* packed: the panel of a that begins at `row`, unless it is read where it lies. */
static void one_tile(const struct product *p, const float *packed, const float *b,
		     const struct pass *pass, int64_t row, int64_t col)
{
	struct panels panels = {
		.a = packed,
		.b = b,
		.n_k = gemm_unit_count(&p->a, pass->n_k),
		.by_row = p->a_by_row,
		.row_bytes = p->pitch * 4,
		.n_rows = (int)MIN(p->n_rows, p->out.rows - row),
	};
	struct tile_output at = {
		.from = pass->add ? cpu_row(pass->from, row) + col : NULL,
		.to = tensor_columns(tensor_rows(pass->to, row, 1), col, 1).data,
		.stride = pass->from.stride,
		.to_stride = pass->to.stride,
		.half = cpu_is_half(pass->to),
	};

	if (panel_is_in_place(p, row / p->n_rows)) {
		panels.a = (const void *)((const uint16_t *)p->a.data + row * p->a.outer + pass->k);
		panels.row_bytes = p->a.outer * 2;
	}
	if (!p->tiles && row + p->n_rows <= p->out.rows && col + p->n_cols <= p->out.cols &&
	    pass->direct)
		p->tile(&at, &panels);
	else
		buffered_tile(p, &panels, row, col, pass);
}

/* What a thread computes at a time: a block of the larger operand, times some panels of the smaller one. */
struct gemm_part {
	int64_t first, last;		 /* panels of the larger operand */
	int64_t whole_first, whole_last; /* panels of the smaller one */
};

/* A block of rows, times columns of b. */
static void row_block(const struct product *p, float *packed, const struct gemm_part *part,
		      const struct pass *pass)
{
	pack_a(p, packed, part->first, part->last - part->first, pass->k, pass->n_k);
	for (int64_t col = part->whole_first; col < part->whole_last; col++)
		for (int64_t panel = part->first; panel < part->last; panel++)
			one_tile(p, packed + (panel - part->first) * p->a_panel,
				 p->whole + col * p->b_panel, pass, panel * p->n_rows,
				 col * p->n_cols);
}

/* Rows of a, times a block of columns. */
static void col_block(const struct product *p, float *packed, const struct gemm_part *part,
		      const struct pass *pass)
{
	/*
	 * Blocks of few rows stay in the caches while they meet all panels of b. The tile unit multiplies
	 * faster than a comes from memory, and short panels of b stay in the L1 cache together.
	 */
	const int64_t step = p->tiles || pass->n_k <= SHORT_K ? 1 : BLOCK_PANELS;

	pack_b(p, packed, part->first, part->last - part->first, pass->k, pass->n_k);
	for (int64_t row = part->whole_first; row < part->whole_last; row += step)
		for (int64_t panel = part->first; panel < part->last; panel++)
			for (int64_t i = row; i < MIN(row + step, part->whole_last); i++)
				one_tile(p, p->whole + i * p->a_panel,
					 packed + (panel - part->first) * p->b_panel, pass,
					 i * p->n_rows, panel * p->n_cols);
}

/* Elements of k in a pass. */
static int64_t pass_length(const struct product *p)
{
	return p->a.pairs ? 2 * p->block_k : p->block_k;
}

/* A pass: the smaller operand is packed whole, then come all blocks of the larger one. */
struct gemm_pass {
	const struct product *product;
	struct pass pass;
	bool b_whole;
	int64_t n_whole;     /* panels of the smaller operand */
	int64_t pack_panels; /* of a part of its packing */
};

/* Packs part i of the smaller operand. */
static void pack_whole_part(const void *context, int thread, int64_t i)
{
	const struct gemm_pass *g = context;
	const struct product *p = g->product;
	const int64_t first = i * g->pack_panels, n = MIN(g->pack_panels, g->n_whole - first);

	(void)thread;
	if (g->b_whole)
		pack_b(p, p->whole + first * p->b_panel, first, n, g->pass.k, g->pass.n_k);
	else
		pack_a(p, p->whole + first * p->a_panel, first, n, g->pass.k, g->pass.n_k);
}

/* Packs a block of the larger operand, and multiplies it. */
static void multiply_block_part(const void *context, int thread, int64_t i)
{
	const struct gemm_pass *g = context;
	const struct product *p = g->product;
	const int64_t n_panels =
		g->b_whole ? CEIL_DIV(p->out.rows, p->n_rows) : CEIL_DIV(p->out.cols, p->n_cols);
	const int64_t block = i / p->n_splits, split = i % p->n_splits;
	const struct gemm_part part = {
		.first = block * p->block_panels,
		.last = MIN((block + 1) * p->block_panels, n_panels),
		.whole_first = split * g->n_whole / p->n_splits,
		.whole_last = (split + 1) * g->n_whole / p->n_splits,
	};
	float *packed =
		p->blocks + thread * p->block_panels * (g->b_whole ? p->a_panel : p->b_panel);

	if (p->tiles)
		tiles_begin();
	if (g->b_whole)
		row_block(p, packed, &part, &g->pass);
	else
		col_block(p, packed, &part, &g->pass);
	if (p->tiles)
		tiles_end();
}

static void gemm_multiply(struct dev *d, const struct product *p, bool b_whole)
{
	const int64_t step = pass_length(p), a_panels = CEIL_DIV(p->out.rows, p->n_rows),
		      b_panels = CEIL_DIV(p->out.cols, p->n_cols);
	struct gemm_pass g = { .product = p,
			       .b_whole = b_whole,
			       .n_whole = b_whole ? b_panels : a_panels };

	g.pack_panels = MAX(1, MIN(BLOCK_PANELS, CEIL_DIV(g.n_whole, d->threads)));
	assert(p->block_panels >= 1 && p->block_panels <= BLOCK_PANELS);
	for (int64_t k = 0; k == 0 || k < p->n_k; k += step) {
		g.pass = pass_at(p, k, MIN(step, p->n_k - k));
		cpu_team_run(d->team, d->threads, CEIL_DIV(g.n_whole, g.pack_panels),
			     pack_whole_part, &g);
		cpu_team_run(d->team, d->threads,
			     CEIL_DIV(b_whole ? a_panels : b_panels, p->block_panels) * p->n_splits,
			     multiply_block_part, &g);
	}
}

/* Sizes of tiles, panels and passes. */
static void choose_panels(struct product *p)
{
	if (p->tiles) {
		const int64_t n_units = MAX(1, MIN(CEIL_DIV(p->n_k, 2), TILES_BLOCK_K));

		p->n_rows = p->n_cols = TILES_SIDE;
		p->block_k = TILES_BLOCK_K;
		/* a row more than whole tiles need: rows use different cache sets */
		p->pitch = (CEIL_DIV(n_units, TILES_STEP) + 1) * TILES_STEP;
		p->a_panel = p->n_rows * p->pitch;
		p->b_panel = p->n_cols * n_units;
		return;
	}
	p->n_rows = PANEL_M;
	p->n_cols = PANEL_N;
	p->block_k = BLOCK_K;
	p->pitch = ROW_PITCH;
	p->a_panel = p->a_by_row ? PANEL_M * ROW_PITCH : PANEL_M * BLOCK_K + VEC_LANES;
	p->b_panel = PANEL_N * BLOCK_K;
}

/*
 * Cut the tiles into parts: block_panels panels of the larger operand (n_panels), times one of n_splits
 * shares of the smaller one (n_whole). The thread with most parts shall take the least time. The unit of
 * time is a tile: packing a panel takes about two, reading a panel of the smaller operand again a third.
 */
static void choose_gemm_parts(struct product *p, int64_t n_panels, int64_t n_whole, int threads)
{
	const int64_t most_splits = threads == 1 ? 1 : MIN(MAX_SPLITS, n_whole);
	double least = INFINITY;

	for (int64_t splits = 1; splits <= most_splits; splits++)
		for (int64_t panels = MIN(BLOCK_PANELS, n_panels); panels >= 1; panels--) {
			const int64_t parts = CEIL_DIV(n_panels, panels) * splits;
			const double share = (double)n_whole / (double)splits;
			const double part = (double)panels * (share + 2) + share / 3;
			const double all = (double)(n_panels * splits) * (share + 2) +
					   (double)parts * share / 3;
			const double time =
				threads == 1 ? all : part * (double)CEIL_DIV(parts, threads);

			if (time >= least)
				continue;
			least = time;
			p->block_panels = panels;
			p->n_splits = splits;
		}
}

/* Scratch memory of a product. False: out of memory, stored in d->fault. */
static bool gemm_reserve_scratch(struct dev *d, struct product *p, bool b_whole)
{
	int64_t a_panels = CEIL_DIV(p->out.rows, p->n_rows),
		b_panels = CEIL_DIV(p->out.cols, p->n_cols);

	choose_gemm_parts(p, b_whole ? a_panels : b_panels, b_whole ? b_panels : a_panels,
			  d->threads);
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
	bool tiles = d->bf16 && tiles_are_used(d), b_whole = out.rows >= out.cols;
	bool pairs = tiles || (HAVE_PAIRS && d->bf16 && machine_has_pairs());
	struct product p = {
		.out = out,
		.a = { a.data, a.dtype, out.rows, how.a_transposed ? 1 : a.stride,
		       how.a_transposed ? a.stride : 1, d->bf16, pairs },
		.b = { b.data, b.dtype, out.cols, how.b_transposed ? b.stride : 1,
		       how.b_transposed ? 1 : b.stride, d->bf16, pairs },
		.n_k = how.a_transposed ? a.rows : a.cols,
		.accumulate = how.accumulate,
		.a_by_row = !how.a_transposed,
		.tiles = tiles,
		.tile = tiles	? tile_amx
			: pairs ? tile_pairs
				: tile_floats,
	};

	if (out.rows == 0 || out.cols == 0)
		return;
	if (CPU(matmul_small)(d, out, a, b, how))
		return;
	p.a_as_is = tiles && p.a_by_row && a.dtype == DTYPE_BF16 && p.n_k % (2 * TILES_STEP) == 0;
	choose_panels(&p);
	p.streams = out.rows * out.cols * (cpu_is_half(out) ? 2 : 4) > STREAM_BYTES &&
		    p.n_k <= pass_length(&p);
	if (gemm_reserve_scratch(d, &p, b_whole))
		gemm_multiply(d, &p, b_whole);
}
