/*
 * cpu_linear.c - see cpu.h, panels.h: products with weights that were packed before.
 *
 * The rows of a are brought into units once; then each task takes some panels
 * and multiplies all rows (or a block of them that stays in cache) by each,
 * TILE_ROWS rows and two vectors of outputs at a time, in registers.
 */
#include "kernels/cpu.h"

#include "kernels/bf16.h"
#include "kernels/cpu_vec.h"
#include "kernels/panels.h"
#include "kernels/ref.h"

#if VEC_LANES == 16
#define TILE_ROWS 12
#else
#define TILE_ROWS 4
#endif
#define PACK_UNITS 16		/* units along K that packing brings over at a time */
#define BLOCK_BYTES (256 << 10)	/* of a's rows: they stay in the second cache */
#define TASK_PANELS 16		/* at most */

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

/* What a tile is made from; the pointers are to its corner. */
struct tile {
	const int32_t *a, *b;	/* units */
	int64_t pitch, n_units;	/* from one row of a to the next; along K */
	float *out;
	int64_t stride, n_cols;	/* n_cols: of them at most two vectors are made */
	int n_rows;
	bool relu;
	const float *bias;	/* or NULL */
	const float *a_scales, *b_scales;	/* of integers */
	const int32_t *b_sums;
};

typedef void tile_function(const struct tile *t);

/* ---- the kinds of units --------------------------------------------------------- */

#define TILE_NAME tile_floats
#define TILE_TARGET
#define TILE_UNIT float
#define TILE_VEC vec
#define TILE_SUM vec
#define TILE_MULTIPLY(sum, x, y) ((sum) + (x) * (y))
#define TILE_INTEGERS 0
#define TILE_SHIFT 0
#include "kernels/cpu_linear_tile.h"

/* Pairs of bf16: each half is the upper half of a float. */
VEC_INLINE vec multiply_pairs(vec sum, vec_int x, vec_int y)
{
	sum += (vec)(x << 16) * (vec)(y << 16);
	return sum + (vec)(x & (int32_t)0xFFFF0000) * (vec)(y & (int32_t)0xFFFF0000);
}

#define TILE_NAME tile_pairs
#define TILE_TARGET
#define TILE_UNIT int32_t
#define TILE_VEC vec_int
#define TILE_SUM vec
#define TILE_MULTIPLY(sum, x, y) multiply_pairs(sum, x, y)
#define TILE_INTEGERS 0
#define TILE_SHIFT 0
#include "kernels/cpu_linear_tile.h"

/*
 * Four products of bytes -127 … 127. Multiplying unsigned by signed bytes, two products fit into
 * 16 bits when none is -128: |x| times y with the sign of x.
 */
VEC_INLINE vec_int multiply_bytes(vec_int sum, vec_int x, vec_int y)
{
#if defined(__AVX512F__)
	__m512i a = (__m512i)x, b = (__m512i)y;
	__m512i turned = _mm512_mask_sub_epi8(b, _mm512_movepi8_mask(a), _mm512_setzero_si512(), b);
	__m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(a), turned);

	return sum + (vec_int)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
	__m256i a = (__m256i)x, turned = _mm256_sign_epi8((__m256i)y, a);
	__m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), turned);

	return sum + (vec_int)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#else
	return sum + (x << 24 >> 24) * (y << 24 >> 24) + (x << 16 >> 24) * (y << 16 >> 24) +
	       (x << 8 >> 24) * (y << 8 >> 24) + (x >> 24) * (y >> 24);
#endif
}

#define TILE_NAME tile_bytes
#define TILE_TARGET
#define TILE_UNIT int32_t
#define TILE_VEC vec_int
#define TILE_SUM vec_int
#define TILE_MULTIPLY(sum, x, y) multiply_bytes(sum, x, y)
#define TILE_INTEGERS 1
#define TILE_SHIFT 0
#include "kernels/cpu_linear_tile.h"

#if defined(__AVX512F__)
#define TILE_NAME tile_pairs_native
#define TILE_TARGET __attribute__((target("avx512bf16")))
#define TILE_UNIT int32_t
#define TILE_VEC vec_int
#define TILE_SUM vec
#define TILE_MULTIPLY(sum, x, y) (vec)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(x), (__m512bh)(y))
#define TILE_INTEGERS 0
#define TILE_SHIFT 0
#include "kernels/cpu_linear_tile.h"

/* The instruction wants a unsigned: its bytes are 128 more than they should be. */
#define TILE_NAME tile_bytes_native
#define TILE_TARGET __attribute__((target("avx512vnni")))
#define TILE_UNIT int32_t
#define TILE_VEC vec_int
#define TILE_SUM vec_int
#define TILE_MULTIPLY(sum, x, y) \
	(vec_int)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(x), (__m512i)(y))
#define TILE_INTEGERS 1
#define TILE_SHIFT 128
#include "kernels/cpu_linear_tile.h"

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

/* ---- rows to units ------------------------------------------------------------------ */

static float greatest(const float *x, int64_t n)
{
	vec amax = vec_set(0);

	for (int64_t k = 0; k < n; k += VEC_LANES) {
		vec y = vec_load_part(x + k, n - k, 0);

		amax = vec_max((vec)((vec_int)y & 0x7FFFFFFF), amax);
	}
	return vec_largest(amax);
}

/* n floats to integers of up to 127, with the sign bit turned over where flip says so. */
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

/* A row as units; the last one is filled up. */
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

/* Outputs [first, first + 32) of b, missing ones 0. row: room for a panel's units, row after row. */
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
				amax = greatest(from, b.cols);
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

void CPU(pack)(struct dev *d, struct tensor packed, struct tensor b)
{
	int64_t size = panel_units(packed) * PANEL_WIDTH;
	int32_t *room;

	if (b.dtype != DTYPE_F32 || b.cols == 0) {
		ref_pack(NULL, packed, b);
		return;
	}
	room = cpu_scratch(d, CPU_SCRATCH_THREADS, (size_t)d->threads,
			   (size_t)size * sizeof(*room));
	if (!room)
		return;
#pragma omp parallel for num_threads(d->threads) schedule(static)
	for (int64_t panel = 0; panel < panel_count(packed); panel++)
		pack_panel(packed, b, panel, room + cpu_thread_number() * size);
}

/* ---- the product ------------------------------------------------------------------------ */

struct linear {
	struct tensor out, a, packed;
	const float *bias;
	bool relu;
	tile_function *tile;
	int flip;
	int64_t n_units, pitch;
	int32_t *units;		/* a's rows, pitch apart */
	float *scales;		/* of a's rows */
	int64_t block_rows, n_blocks, task_panels, n_tasks;
};

static void prepare_row(const struct linear *l, int64_t row)
{
	const float *from = cpu_row(l->a, row);
	float amax = l->packed.dtype == DTYPE_PACKED_INT8 ? greatest(from, l->a.cols) : 0;

	l->scales[row] = amax / 127;
	to_units(l->units + row * l->pitch, from, l->a.cols, l->packed.dtype, amax, l->flip);
}

/* Rows [first, last) by one panel. */
static void one_panel(const struct linear *l, int64_t panel, int64_t first, int64_t last)
{
	for (int64_t row = first; row < last; row += TILE_ROWS) {
		struct tile t = {
			.a = l->units + row * l->pitch,
			.a_scales = l->scales + row,
			.pitch = l->pitch,
			.n_units = l->n_units,
			.stride = l->out.stride,
			.n_rows = (int)MIN(TILE_ROWS, last - row),
			.relu = l->relu,
		};

		for (int64_t i = 0; i < PANEL_WIDTH; i += 2 * VEC_LANES) {
			int64_t col = panel * PANEL_WIDTH + i;

			t.n_cols = l->out.cols - col;
			if (t.n_cols <= 0)
				break;
			t.b = panel_data(l->packed, panel) + i;
			t.out = cpu_row(l->out, row) + col;
			t.bias = l->bias ? l->bias + col : NULL;
			t.b_scales = panel_scales(l->packed) + col;
			t.b_sums = panel_sums(l->packed) + col;
			l->tile(&t);
		}
	}
}

static void one_task(const struct linear *l, int64_t task)
{
	int64_t first = task % l->n_blocks * l->block_rows,
		last = MIN(first + l->block_rows, l->out.rows);
	int64_t panel = task / l->n_blocks * l->task_panels;
	int64_t end = MIN(panel + l->task_panels, panel_count(l->packed));

	for (; panel < end; panel++)
		one_panel(l, panel, first, last);
}

static void plan(struct linear *l, int threads)
{
	enum dtype kind = l->packed.dtype;
	int64_t panels = panel_count(l->packed), row_bytes;

	l->tile = native_tile(kind);
	l->flip = l->tile && kind == DTYPE_PACKED_INT8 ? -128 : 0;
	if (!l->tile)
		l->tile = kind == DTYPE_PACKED_INT8   ? tile_bytes
			  : kind == DTYPE_PACKED_BF16 ? tile_pairs
						      : tile_floats;
	l->n_units = panel_units(l->packed);
	/* not a multiple of 4 KiB, so that rows lie in different sets of the cache */
	l->pitch = CEIL_DIV(l->n_units, 16) * 16 + 16;
	row_bytes = l->pitch * (int64_t)sizeof(int32_t);
	l->block_rows = MAX(2, BLOCK_BYTES / (row_bytes * TILE_ROWS)) * TILE_ROWS;
	l->n_blocks = CEIL_DIV(l->out.rows, l->block_rows);
	l->task_panels = MAX(1, MIN(TASK_PANELS, panels * l->n_blocks / (4 * threads)));
	l->n_tasks = CEIL_DIV(panels, l->task_panels) * l->n_blocks;
}

void CPU(linear)(struct dev *d, struct tensor out, struct tensor a, struct tensor packed,
		 const float *bias, bool relu)
{
	struct linear l = { .out = out, .a = a, .packed = packed, .bias = bias, .relu = relu };
	int64_t weights = packed.rows * panel_units(packed), elements = out.rows * a.cols;

	if (out.rows == 0 || out.cols == 0)
		return;
	if ((out.dtype | a.dtype) != DTYPE_F32 || a.cols == 0) {
		ref_linear(NULL, out, a, packed, bias, relu);
		return;
	}
	plan(&l, d->threads);
	l.units = cpu_scratch(d, CPU_SCRATCH_A, (size_t)out.rows,
			      (size_t)l.pitch * sizeof(*l.units));
	l.scales = cpu_scratch(d, CPU_SCRATCH_B, (size_t)out.rows, sizeof(*l.scales));
	if (!l.units || !l.scales)
		return;
#pragma omp parallel for num_threads(cpu_threads(d, elements / 4)) schedule(static)
	for (int64_t row = 0; row < out.rows; row++)
		prepare_row(&l, row);
#pragma omp parallel for num_threads(cpu_threads(d, weights / 4 * out.rows)) schedule(dynamic)
	for (int64_t task = 0; task < l.n_tasks; task++)
		one_task(&l, task);
}
