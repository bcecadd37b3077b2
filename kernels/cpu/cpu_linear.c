/*
 * cpu_linear.c - products with packed weights (decoding): pack, linear, linear_top_k; definition:
 * ref_linear.c, layout: panels.h.
 *
 *	out (M, N) = a (M, K) packed (N, K)^T + bias, then max(0, out) if relu
 *
 * 1. Each row of a is converted once to units of the weights' type (float, bf16 pairs, 4 x int8), with
 *    a scale for int8.
 * 2. Tasks go to the team's threads (cpu_team.h). A task is some panels of 32 outputs times a block of
 *    rows that fits into the L2 cache. In it a tile of up to TILE_ROWS rows x 2 vectors of outputs is
 *    summed over all of K in registers (cpu_linear_tile.h); the units of a panel are read as whole
 *    vectors, the unit of a is broadcast. Weights are read from memory once, which is what a decoding
 *    step costs: few rows, all weights.
 * 3. Bias, ReLU and the scales of int8 are applied before the tile is stored.
 *
 * With AMX a tile is up to 32 rows x 32 outputs, and the tile unit multiplies bf16 and int8
 * (cpu_tiles.h): a panel is what it wants as its second operand.
 *
 * Each sum runs over k in order on one thread, so bits depend neither on the number of threads nor on
 * the number of rows: a sentence is translated alike in any batch.
 *
 * linear_top_k never stores all logits: see the section near the end. Weights that are not packed go
 * to op matmul.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>
#include <float.h>

#include "kernels/cpu/cpu_tiles.h"
#include "kernels/cpu/cpu_top.h"
#include "kernels/cpu/cpu_vec.h"
#include "kernels/ops/bf16.h"
#include "kernels/ops/panels.h"
#include "kernels/ref/ref.h"

#if VEC_LANES == 16
#define TILE_ROWS 12
#else
#define TILE_ROWS 4
#endif
#define PACK_UNITS    16	  /* units along K that packing transposes at a time */
#define BLOCK_BYTES   (256 << 10) /* of a block of a's rows, to stay in the L2 cache */
#define TASK_PANELS   16	  /* greatest number of panels of a task */
#define MIN_HELPER_NS 20000	  /* shorter products run on one thread */
#define PREPARE_ROWS  16	  /* rows of a part in linear_prepare() */

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

/* A tile; the pointers are to its first row and column. */
struct tile {
	const int32_t *a, *b;	/* units */
	int64_t pitch, n_units; /* units from one row of a to the next; units along K */
	int64_t ahead;		/* prefetch distance in b, in units */
	float *out;
	int64_t stride, n_cols; /* columns up to the edge of out; a tile stores its width at most */
	int n_rows;
	bool relu;
	const float *bias;		  /* or NULL */
	const float *a_scales, *b_scales; /* int8: scales of rows and of outputs */
	const int32_t *b_sums;		  /* int8: sums of the integers of outputs */
};

typedef void tile_function(const struct tile *t);

/* What a vector of sums needs to become outputs. */
struct output_columns {
	int64_t first, n; /* first column in the tile; columns up to the edge of out */
	vec bias, scale;
	vec_int shift;
};

/* Columns from `first` on. False: there are none. integers and shift: see cpu_linear_tile.h. */
VEC_INLINE bool load_columns(struct output_columns *c, const struct tile *t, int64_t first,
			     const bool integers, const int shift)
{
	c->first = first;
	c->n = t->n_cols - first;
	if (c->n <= 0)
		return false;
	c->bias = t->bias ? vec_load_part(t->bias + first, c->n, 0) : vec_set(0);
	c->scale = integers ? vec_load(t->b_scales + first) : vec_set(0);
	memset(&c->shift, 0, sizeof(c->shift));
	if (integers && shift) {
		memcpy(&c->shift, t->b_sums + first, sizeof(c->shift));
		c->shift *= shift;
	}
	return true;
}

/* Scale the sums of integers, add the bias, ReLU, store. */
VEC_INLINE void store_output(const struct tile *t, const struct output_columns *c, int row, vec x,
			     const bool integers)
{
	if (integers)
		x = __builtin_convertvector((vec_int)x - c->shift, vec) *
		    (t->a_scales[row] * c->scale);
	x += c->bias;
	if (t->relu)
		x = vec_max(x, vec_set(0));
	vec_store_part(t->out + row * t->stride + c->first, x, c->n);
}

/* ---- one tile function for each type of unit ------------------------------------- */

#define TILE_NAME tile_floats
#define TILE_TARGET
#define TILE_UNIT		 float
#define TILE_VEC		 vec
#define TILE_SUM		 vec
#define TILE_MULTIPLY(sum, x, y) ((sum) + (x) * (y))
#define TILE_INTEGERS		 0
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"

/* Pairs of bf16 as floats: bf16 is the upper half of a float, so a shift or a mask converts it. */
VEC_INLINE vec multiply_pairs(vec sum, vec_int x, vec_int y)
{
	sum += (vec)(x << 16) * (vec)(y << 16);
	return sum + (vec)(x & (int32_t)0xFFFF0000) * (vec)(y & (int32_t)0xFFFF0000);
}

#define TILE_NAME tile_pairs
#define TILE_TARGET
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec
#define TILE_MULTIPLY(sum, x, y) multiply_pairs(sum, x, y)
#define TILE_INTEGERS		 0
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"

/*
 * Dot product of 4 x int8 in each lane. The instruction multiplies unsigned by signed bytes, so |x|
 * is multiplied by y with the sign of x. Its 16-bit sums of two products do not overflow, because
 * values are in -127 .. 127: 2 * 127 * 127 < 2^15.
 */
VEC_INLINE vec_int multiply_bytes(vec_int sum, vec_int x, vec_int y)
{
#if defined(__AVX512F__)
	__m512i a = (__m512i)x, b = (__m512i)y;
	__m512i with_sign =
		_mm512_mask_sub_epi8(b, _mm512_movepi8_mask(a), _mm512_setzero_si512(), b);
	__m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(a), with_sign);

	return sum + (vec_int)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
	__m256i a = (__m256i)x, with_sign = _mm256_sign_epi8((__m256i)y, a);
	__m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), with_sign);

	return sum + (vec_int)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#else
	return sum + (x << 24 >> 24) * (y << 24 >> 24) + (x << 16 >> 24) * (y << 16 >> 24) +
	       (x << 8 >> 24) * (y << 8 >> 24) + (x >> 24) * (y >> 24);
#endif
}

#define TILE_NAME tile_bytes
#define TILE_TARGET
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec_int
#define TILE_MULTIPLY(sum, x, y) multiply_bytes(sum, x, y)
#define TILE_INTEGERS		 1
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"

#if defined(__AVX512F__)
#define TILE_NAME		 tile_pairs_native
#define TILE_TARGET		 __attribute__((target("avx512bf16")))
#define TILE_UNIT		 int32_t
#define TILE_VEC		 vec_int
#define TILE_SUM		 vec
#define TILE_MULTIPLY(sum, x, y) (vec) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(x), (__m512bh)(y))
#define TILE_INTEGERS		 0
#define TILE_SHIFT		 0
#include "kernels/cpu/cpu_linear_tile.h"

/*
 * VNNI multiplies unsigned by signed bytes. The bytes of a are stored + 128 (sign bit flipped), and
 * 128 * sum(b) is subtracted from the result: TILE_SHIFT.
 */
#define TILE_NAME   tile_bytes_native
#define TILE_TARGET __attribute__((target("avx512vnni")))
#define TILE_UNIT   int32_t
#define TILE_VEC    vec_int
#define TILE_SUM    vec_int
#define TILE_MULTIPLY(sum, x, y)                                                                   \
	(vec_int) _mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(x), (__m512i)(y))
#define TILE_INTEGERS 1
#define TILE_SHIFT    128
#include "kernels/cpu/cpu_linear_tile.h"

static tile_function *native_tile(enum dtype kind)
{
	if (kind == DTYPE_PACKED_BF16 && __builtin_cpu_supports("avx512bf16"))
		return tile_pairs_native;
	if (kind == DTYPE_PACKED_INT8 && __builtin_cpu_supports("avx512vnni"))
		return tile_bytes_native;
	return NULL;
}
#else
static tile_function *native_tile(enum dtype kind)
{
	(void)kind;
	return NULL;
}
#endif

#if HAVE_TILES
/* Store sums (32, 32), floats or integers. */
VEC_INLINE void store_outputs(const struct tile *t, const float *sums, const bool integers)
{
	for (int64_t first = 0; first < TILES_SIDE; first += VEC_LANES) {
		struct output_columns c;

		if (!load_columns(&c, t, first, integers, 0))
			break;
		for (int i = 0; i < t->n_rows; i++)
			store_output(t, &c, i, vec_load(sums + i * TILES_SIDE + first), integers);
	}
}

static struct tiles_operands tile_operands(const struct tile *t)
{
	return (struct tiles_operands){ t->a, t->pitch * 4, t->b, t->n_units, t->n_rows };
}

static void tile_amx_pairs(const struct tile *t)
{
	float sums[TILES_SIDE * TILES_SIDE] __attribute__((aligned(64)));
	const struct tiles_operands operands = tile_operands(t);

	tiles_bf16(sums, &operands);
	store_outputs(t, sums, false);
}

static void tile_amx_bytes(const struct tile *t)
{
	float sums[TILES_SIDE * TILES_SIDE] __attribute__((aligned(64)));
	const struct tiles_operands operands = tile_operands(t);

	tiles_int8((int32_t *)(void *)sums, &operands);
	store_outputs(t, sums, true);
}
#else
#define tile_amx_pairs NULL
#define tile_amx_bytes NULL
#endif

/* ---- conversion of rows to units ------------------------------------------------------ */

static float vector_max_abs(const float *x, int64_t n)
{
	vec amax = vec_set(0);

	for (int64_t k = 0; k < n; k += VEC_LANES) {
		vec y = vec_load_part(x + k, n - k, 0);

		amax = vec_max((vec)((vec_int)y & 0x7FFFFFFF), amax);
	}
	return vec_largest(amax);
}

/* to = integers -127 .. 127, XOR flip (-128 flips the sign bit, for VNNI; else 0). */
static void to_bytes(int8_t *to, const float *from, int64_t n, float amax, int flip)
{
	float factor = amax > 0 ? 127 / amax : 0;
	int64_t k = 0;

#if defined(__AVX512F__)
	for (; k + VEC_LANES <= n; k += VEC_LANES) {
		__m512i q = _mm512_cvtps_epi32((__m512)(vec_load(from + k) * factor));
		__m128i bytes = _mm_xor_si128(_mm512_cvtepi32_epi8(q), _mm_set1_epi8((char)flip));

		_mm_storeu_si128((__m128i *)(void *)(to + k), bytes);
	}
#endif
	for (; k < n; k++)
		to[k] = (int8_t)((int)fminf(fmaxf(rintf(from[k] * factor), -127), 127) ^ flip);
}

static void to_halves(uint16_t *to, const float *from, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		to[k] = bf16_from_float(from[k]);
}

/* to = a row of n floats as units; the last unit is filled with 0. */
static void to_units(int32_t *to, const float *from, int64_t n, enum dtype kind, float amax,
		     int flip)
{
	if (kind == DTYPE_PACKED_INT8) {
		to[(n - 1) / 4] = 0;
		to_bytes((int8_t *)to, from, n, amax, flip);
	} else if (kind == DTYPE_PACKED_BF16) {
		to[(n - 1) / 2] = 0;
		to_halves((uint16_t *)(void *)to, from, n);
	} else {
		memcpy(to, from, (size_t)n * sizeof(*from));
	}
}

/* Pack one panel: 32 outputs, 0 beyond the last. row: scratch for its units, row by row. */
static void pack_panel(struct tensor packed, struct tensor b, int64_t panel, int32_t *row)
{
	int64_t n_units = panel_units(packed), first = panel * PANEL_WIDTH;
	int32_t *to = panel_data(packed, panel);

	for (int64_t i = 0; i < PANEL_WIDTH; i++) {
		const float *from = cpu_row(b, first + i);
		float amax = 0;

		if (first + i >= packed.rows) {
			memset(row + i * n_units, 0, (size_t)n_units * sizeof(*row));
		} else {
			if (packed.dtype == DTYPE_PACKED_INT8)
				amax = vector_max_abs(from, b.cols);
			to_units(row + i * n_units, from, b.cols, packed.dtype, amax, 0);
		}
		if (packed.dtype == DTYPE_PACKED_INT8) {
			const int8_t *q = (const int8_t *)(row + i * n_units);
			int32_t sum = 0;

			for (int64_t k = 0; k < 4 * n_units; k++)
				sum += q[k];
			panel_scales(packed)[first + i] = amax / 127;
			panel_sums(packed)[first + i] = sum;
		}
	}
	for (int64_t u = 0; u < n_units; u += PACK_UNITS)
		for (int64_t i = 0; i < PANEL_WIDTH; i++)
			for (int64_t v = u; v < MIN(u + PACK_UNITS, n_units); v++)
				to[v * PANEL_WIDTH + i] = row[i * n_units + v];
}

struct pack_job {
	struct tensor packed, b;
	int32_t *scratch; /* (threads, size) */
	int64_t size;
};

static void pack_part(const void *context, int thread, int64_t panel)
{
	const struct pack_job *p = context;

	pack_panel(p->packed, p->b, panel, p->scratch + thread * p->size);
}

void CPU(pack)(struct dev *d, struct tensor packed, struct tensor b)
{
	int64_t size = panel_units(packed) * PANEL_WIDTH;
	int32_t *scratch;

	assert(packed.rows == b.rows && packed.cols == b.cols);
	if (b.dtype != DTYPE_F32 || b.cols == 0) {
		ref_pack(NULL, packed, b);
		return;
	}
	scratch = cpu_scratch(d, CPU_SCRATCH_THREADS, (size_t)d->team_threads,
			      (size_t)size * sizeof(*scratch));
	if (!scratch)
		return;
	cpu_team_run(d->team, d->team_threads, panel_count(packed), pack_part,
		     &(struct pack_job){ packed, b, scratch, size });
}

/* ---- the product ------------------------------------------------------------------------ */

struct linear {
	struct tensor out, a, packed;
	const float *bias;
	bool relu;
	tile_function *tile;
	bool uses_tiles;	  /* the tile unit */
	int tile_rows, tile_cols; /* of one call of tile() */
	int flip;
	int64_t n_units, pitch;
	int32_t *units; /* (M, pitch) rows of a as units; tiles: units up to pitch, and rows up to a
			   multiple of 16, are 0 */
	float *scales;	/* (M) int8: scales of the rows of a */
	int64_t block_rows, n_blocks, task_panels, n_tasks;
};

static void prepare_row(const struct linear *l, int64_t row)
{
	const float *from = cpu_row(l->a, row);
	float amax = l->packed.dtype == DTYPE_PACKED_INT8 ? vector_max_abs(from, l->a.cols) : 0;

	l->scales[row] = amax / 127;
	to_units(l->units + row * l->pitch, from, l->a.cols, l->packed.dtype, amax, l->flip);
	if (l->uses_tiles)
		memset(l->units + row * l->pitch + l->n_units, 0,
		       (size_t)(l->pitch - l->n_units) * sizeof(*l->units));
}

static void prepare_rows(const void *context, int thread, int64_t part)
{
	const struct linear *l = context;
	int64_t end = MIN((part + 1) * PREPARE_ROWS, l->a.rows);

	(void)thread;
	for (int64_t row = part * PREPARE_ROWS; row < end; row++)
		prepare_row(l, row);
}

/* Rows [first, last) times one panel, into columns [to, to + 32) of out. */
static void linear_panel(const struct linear *l, int64_t panel, int64_t to, int64_t first,
			 int64_t last)
{
	for (int64_t row = first; row < last; row += l->tile_rows) {
		struct tile t = {
			.a = l->units + row * l->pitch,
			.a_scales = l->scales + row,
			.pitch = l->pitch,
			.n_units = l->n_units,
			.stride = l->out.stride,
			.n_rows = (int)MIN(l->tile_rows, last - row),
			.relu = l->relu,
		};

		/* while the first rows are computed, prefetch the next panel */
		t.ahead = row == first ? l->n_units * PANEL_WIDTH : 0;
		for (int64_t i = 0; i < PANEL_WIDTH; i += l->tile_cols) {
			int64_t col = panel * PANEL_WIDTH + i;

			t.n_cols = l->out.cols - to - i;
			if (t.n_cols <= 0)
				break;
			t.b = panel_data(l->packed, panel) + i;
			t.out = cpu_row(l->out, row) + to + i;
			t.bias = l->bias ? l->bias + col : NULL;
			t.b_scales = panel_scales(l->packed) + col;
			t.b_sums = panel_sums(l->packed) + col;
			l->tile(&t);
		}
	}
}

static void linear_task(const void *context, int thread, int64_t task)
{
	const struct linear *l = context;
	int64_t first = task % l->n_blocks * l->block_rows,
		last = MIN(first + l->block_rows, l->out.rows);
	int64_t panel = task / l->n_blocks * l->task_panels;
	int64_t end = MIN(panel + l->task_panels, panel_count(l->packed));

	(void)thread;
	if (l->uses_tiles)
		tiles_begin();
	for (; panel < end; panel++)
		linear_panel(l, panel, panel * PANEL_WIDTH, first, last);
	if (l->uses_tiles)
		tiles_end();
}

static void choose_tile(struct linear *l, const struct dev *d)
{
	enum dtype kind = l->packed.dtype;

	l->tile_rows = TILE_ROWS;
	l->tile_cols = 2 * VEC_LANES;
	l->uses_tiles = kind != DTYPE_PACKED_F32 && tiles_are_used(d);
	if (l->uses_tiles) {
		l->tile_rows = l->tile_cols = TILES_SIDE;
		l->tile = kind == DTYPE_PACKED_INT8 ? tile_amx_bytes : tile_amx_pairs;
		return;
	}
	l->tile = native_tile(kind);
	l->flip = l->tile && kind == DTYPE_PACKED_INT8 ? -128 : 0;
	if (!l->tile)
		l->tile = kind == DTYPE_PACKED_INT8   ? tile_bytes
			  : kind == DTYPE_PACKED_BF16 ? tile_pairs
						      : tile_floats;
}

/* Choose the tile function, convert the rows of a. False: out of memory, stored in d->fault. */
static bool linear_prepare(struct dev *d, struct linear *l)
{
	const int64_t elements = l->a.rows * l->a.cols, n_rows = CEIL_DIV(l->a.rows, 16) * 16;

	choose_tile(l, d);
	l->n_units = panel_units(l->packed);
	/* no multiple of 4 KiB, so that rows use different cache sets */
	l->pitch = CEIL_DIV(l->n_units, 16) * 16 + 16;
	l->block_rows = MAX(2, BLOCK_BYTES / (l->pitch * 4 * l->tile_rows)) * l->tile_rows;
	l->units =
		cpu_scratch(d, CPU_SCRATCH_A, (size_t)n_rows, (size_t)l->pitch * sizeof(*l->units));
	l->scales = cpu_scratch(d, CPU_SCRATCH_B, (size_t)l->a.rows, sizeof(*l->scales));
	if (!l->units || !l->scales)
		return false;
	if (l->uses_tiles)
		memset(l->units + l->a.rows * l->pitch, 0,
		       (size_t)((n_rows - l->a.rows) * l->pitch) * sizeof(*l->units));
	cpu_team_run(d->team, cpu_team_threads(d, elements / 4), CEIL_DIV(l->a.rows, PREPARE_ROWS),
		     prepare_rows, l);
	return true;
}

/*
 * Threads for a product. An awake helper joins within 1 us, a sleeping one needs 50 us, and small
 * products do not keep it awake. Estimate in ns: memory delivers 10 units (40 bytes) of weights, and
 * a core multiplies 100 units, per ns.
 */
static int product_threads(const struct dev *d, struct tensor packed, int64_t rows)
{
	int64_t n_units = packed.rows * panel_units(packed);

	return n_units / 10 + n_units * rows / 100 < MIN_HELPER_NS ? 1 : d->team_threads;
}

/* Weights that are not packed: op matmul, then bias and ReLU. */
static void linear_as_stored(struct dev *d, const struct linear *l)
{
	static const struct dropout none;

	CPU(matmul)(d, l->out, l->a, l->packed, (struct matmul_how){ .b_transposed = true });
	if (l->bias && l->relu) {
		CPU(relu_dropout)(d, l->out, l->bias, none);
		return;
	}
	for (int64_t m = 0; m < l->out.rows && (l->bias || l->relu); m++)
		for (int64_t n = 0; n < l->out.cols; n++) {
			float x = ref_get(l->out, m, n) + (l->bias ? l->bias[n] : 0);

			ref_set(l->out, m, n, l->relu ? fmaxf(x, 0) : x);
		}
}

void CPU(linear)(struct dev *d, struct tensor out, struct tensor a, struct tensor packed,
		 const float *bias, bool relu)
{
	struct linear l = { .out = out, .a = a, .packed = packed, .bias = bias, .relu = relu };
	int64_t panels = panel_count(packed);

	if (out.rows == 0 || out.cols == 0)
		return;
	if (!tensor_is_packed(packed)) {
		linear_as_stored(d, &l);
		return;
	}
	if ((out.dtype | a.dtype) != DTYPE_F32 || a.cols == 0) {
		ref_linear(NULL, out, a, packed, bias, relu);
		return;
	}
	if (!linear_prepare(d, &l))
		return;
	l.n_blocks = CEIL_DIV(out.rows, l.block_rows);
	l.task_panels = MAX(1, MIN(TASK_PANELS, panels * l.n_blocks / (4 * d->team_threads)));
	l.n_tasks = CEIL_DIV(panels, l.task_panels) * l.n_blocks;
	cpu_team_run(d->team, product_threads(d, packed, out.rows), l.n_tasks, linear_task, &l);
}

/* ---- top k of a product -------------------------------------------------------------------- */

/*
 * Logits (rows, V) are computed chunk by chunk; a chunk stays in the cache while its greatest values
 * and its sum of exponentials are taken, and is then overwritten:
 *
 *	columns of V:	| chunk | chunk | chunk | chunk | chunk | …
 *			|<--------- slice ------------->|		one softmax_part for each slice
 *			|<---------------- part ------------------- …	one top-k list for each part
 *
 * A part (one task of the team) is one slice, or the whole row if there is one thread. Sums are kept
 * for each slice and lists are merged in the order of columns, so parts do not change the result.
 * floors: per thread and row, the k-th best value of any finished part. Values below it need not be
 * listed; this skips work and never changes the result.
 */
#define CHUNK_PANELS 8
#define CHUNK	     (CHUNK_PANELS * PANEL_WIDTH)
#define SLICE	     (4 * CHUNK)
#define CHUNK_ROWS   (MAX(8 * TILE_ROWS, TILES_SIDE)) /* greatest number of rows of a chunk */

/* For each lane: the largest x seen, and the sum of e^(x - largest). */
struct softmax_part {
	float largest[VEC_LANES], sum[VEC_LANES];
};

struct top_k_job {
	struct linear l;
	int64_t n_real;
	int32_t k, n_threads;
	int64_t n_parts;
	float *chunks;		    /* (threads, block_rows, CHUNK) */
	struct softmax_part *parts; /* (slices, rows) */
	float *values;		    /* (parts, rows, k) in falling order */
	int32_t *ids;		    /* (parts, rows, k) */
	int32_t *n;		    /* (parts, rows) entries of each list */
	float *floors;		    /* (threads, rows) at least k values are as large */
};

/* Add n numbers to the sum; returns the largest number of each lane so far. */
static vec add_to_part(struct softmax_part *part, const float *x, int64_t n)
{
	vec old = vec_load(part->largest), largest = old, sum;

	for (int64_t i = 0; i < n; i += VEC_LANES)
		largest = vec_max(vec_load_part(x + i, n - i, -INFINITY), largest);
	sum = vec_load(part->sum) * vec_exp(old - largest);
	for (int64_t i = 0; i < n; i += VEC_LANES)
		sum += vec_exp(vec_load_part(x + i, n - i, -INFINITY) - largest);
	vec_store(part->largest, largest);
	vec_store(part->sum, sum);
	return largest;
}

/*
 * Insert into a list those of n numbers (columns first, first + 1, … of a row) that are not below
 * floor. NaN is not below it, so a list always fills up to k.
 */
static void list_best(const struct top_k_job *b, int64_t list, const float *x, int64_t n,
		      int64_t first, float floor)
{
	float *values = b->values + list * b->k;
	int32_t *ids = b->ids + list * b->k, n_listed = b->n[list];

	for (int64_t i = 0; i < n; i += VEC_LANES) {
		int64_t end = MIN(i + VEC_LANES, n);

		if (!vec_any(~(vec_load_part(x + i, n - i, -INFINITY) < floor)))
			continue;
		for (int64_t j = i; j < end; j++)
			if (n_listed < b->k ? !(x[j] < floor) : x[j] > values[b->k - 1])
				n_listed = cpu_top_insert(values, ids, n_listed, b->k, x[j],
							  (int32_t)(first + j));
		if (n_listed == b->k)
			floor = MAX(floor, values[b->k - 1]);
	}
	b->n[list] = n_listed;
}

/* The part being computed, and the thread that computes it. */
struct top_k_list {
	int thread;
	int64_t part;
};

static void top_k_chunk(const struct top_k_job *b, struct top_k_list to, int64_t col, int64_t row,
			int64_t n_rows)
{
	struct linear l = b->l;
	int64_t n = MIN(CHUNK, b->n_real - col), first = col / PANEL_WIDTH;
	float *chunk = b->chunks + to.thread * l.block_rows * CHUNK;

	l.out = tensor_f32(chunk, n_rows, CHUNK);
	l.units += row * l.pitch;
	l.scales += row;
	for (int64_t p = first; p < MIN(first + CHUNK_PANELS, panel_count(l.packed)); p++)
		linear_panel(&l, p, (p - first) * PANEL_WIDTH, 0, n_rows);
	for (int64_t i = 0; i < n_rows; i++, chunk += CHUNK) {
		int64_t list = to.part * l.a.rows + row + i;
		float *floor = &b->floors[to.thread * l.a.rows + row + i];
		vec largest = add_to_part(&b->parts[col / SLICE * l.a.rows + row + i], chunk, n);

		if (!vec_any(~(largest < *floor)))
			continue;
		list_best(b, list, chunk, n, col, *floor);
		if (b->n[list] == b->k)
			*floor = MAX(*floor, b->values[(list + 1) * b->k - 1]);
	}
}

static void top_k_part(const void *context, int thread, int64_t part)
{
	const struct top_k_job *b = context;
	const struct top_k_list to = { thread, part };
	int64_t slices = CEIL_DIV(b->n_real, SLICE), rows = b->l.a.rows;
	int64_t first = part * slices / b->n_parts * SLICE;
	int64_t last = MIN((part + 1) * slices / b->n_parts * SLICE, b->n_real);

	if (b->l.uses_tiles)
		tiles_begin();
	for (int64_t col = first; col < last; col += CHUNK)
		for (int64_t row = 0; row < rows; row += b->l.block_rows)
			top_k_chunk(b, to, col, row, MIN(b->l.block_rows, rows - row));
	if (b->l.uses_tiles)
		tiles_end();
}

/* log sum exp of a row, from the sums of its slices. */
static float log_sum_of(const struct top_k_job *b, int64_t row)
{
	int64_t n_slices = CEIL_DIV(b->n_real, SLICE), rows = b->l.a.rows;
	vec all = vec_set(-FLT_MAX), sum = vec_set(0);
	float largest;

	for (int64_t s = 0; s < n_slices; s++)
		all = vec_max(vec_load(b->parts[s * rows + row].largest), all);
	largest = vec_largest(all);
	for (int64_t s = 0; s < n_slices; s++) {
		const struct softmax_part *part = &b->parts[s * rows + row];

		sum += vec_load(part->sum) * vec_exp(vec_load(part->largest) - largest);
	}
	return largest + logf(vec_sum(sum));
}

/* Merge the lists of all parts of a row, and subtract log sum exp. */
static void join_lists(const struct top_k_job *b, float *values, int32_t *ids, int64_t row)
{
	float log_sum = log_sum_of(b, row);
	int32_t n = 0;

	for (int64_t part = 0; part < b->n_parts; part++) {
		int64_t list = part * b->l.a.rows + row;

		for (int32_t i = 0; i < b->n[list]; i++)
			n = cpu_top_merge(values, ids, n, b->k, b->values[list * b->k + i],
					  b->ids[list * b->k + i]);
	}
	for (int32_t i = 0; i < b->k; i++)
		values[i] -= log_sum;
}

/* One scratch block for all arrays of the job. False: out of memory, stored in d->fault. */
static bool reserve_best(struct dev *d, struct top_k_job *b)
{
	int64_t n_rows = b->l.a.rows, n_blocks = CEIL_DIV(n_rows, MIN(b->l.block_rows, CHUNK_ROWS));
	size_t threads = (size_t)b->n_threads, rows = (size_t)n_rows;
	size_t lists = (size_t)b->n_parts * rows, chunk;
	size_t parts = (size_t)CEIL_DIV(b->n_real, SLICE) * rows;
	float *at;

	b->l.block_rows = CEIL_DIV(CEIL_DIV(n_rows, n_blocks), b->l.tile_rows) * b->l.tile_rows;
	chunk = (size_t)b->l.block_rows * CHUNK;
	at = cpu_scratch(d, CPU_SCRATCH_THREADS,
			 threads * chunk + parts * 2 * VEC_LANES + lists * (size_t)(2 * b->k + 1) +
				 threads * rows,
			 sizeof(*at));
	if (!at)
		return false;
	b->chunks = at;
	b->parts = (struct softmax_part *)(void *)(at + threads * chunk);
	b->values = at + threads * chunk + parts * 2 * VEC_LANES;
	b->ids = (int32_t *)(void *)(b->values + lists * (size_t)b->k);
	b->n = b->ids + lists * (size_t)b->k;
	b->floors = (float *)(void *)(b->n + lists);
	memset(b->n, 0, lists * sizeof(*b->n));
	for (size_t i = 0; i < threads * rows; i++)
		b->floors[i] = -INFINITY;
	for (size_t i = 0; i < parts; i++)
		for (int j = 0; j < VEC_LANES; j++) {
			b->parts[i].largest[j] = -FLT_MAX;
			b->parts[i].sum[j] = 0;
		}
	return true;
}

void CPU(linear_top_k)(struct dev *d, float *values, int32_t *ids, struct tensor a,
		       struct tensor packed, int64_t n_real, int32_t k)
{
	struct top_k_job b = { .l = { .a = a, .packed = packed }, .n_real = n_real, .k = k };

	assert(k > 0 && k <= n_real && n_real <= packed.rows);
	if (a.rows == 0)
		return;
	if (a.dtype != DTYPE_F32 || a.cols == 0) {
		ref_linear_top_k(NULL, values, ids, a, packed, n_real, k);
		return;
	}
	b.n_threads = product_threads(d, packed, a.rows);
	b.n_parts = b.n_threads == 1 ? 1 : CEIL_DIV(n_real, SLICE);
	if (!linear_prepare(d, &b.l) || !reserve_best(d, &b))
		return;
	cpu_team_run(d->team, b.n_threads, b.n_parts, top_k_part, &b);
	for (int64_t row = 0; row < a.rows; row++)
		join_lists(&b, values + row * k, ids + row * k, row);
}
