/*
 * cpu_linear.c - products with packed weights (decoding): pack, linear, linear_top_k; definition:
 * ref_linear.c, layout: panels.h.
 *
 *	out (M, N) = a (M, K) packed (N, K)^T + bias, then max(0, out) if relu
 *
 * 1. Each row of a is converted once to units of the weights' type (float, bf16 pairs, 4 x int8; with
 *    AVX2 alone int8 are stored as 16 bits), with a scale for int8.
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
#include "kernels/ops/cpu_level.h"
#include "kernels/ops/panels.h"
#include "kernels/ref/ref.h"

#define PACK_UNITS    16	  /* units along K that packing transposes at a time */
#define BLOCK_BYTES   (256 << 10) /* of a block of a's rows, to stay in the L2 cache */
#define TASK_PANELS   16	  /* greatest number of panels of a task */
#define MIN_HELPER_NS 20000	  /* shorter products run on one thread */
#define PREPARE_ROWS  16	  /* rows of a part in linear_prepare() */

/* A tile; the pointers are to its first row and column. */
struct tile {
	const int32_t *a, *b;	/* units */
	int64_t pitch, n_units; /* int32 from one row of a to the next; units along K */
	int64_t ahead;		/* prefetch distance in b, in units */
	float *out;
	int64_t stride, n_cols; /* columns up to the edge of out; a tile stores its width at most */
	int n_rows;
	bool relu;
	const float *bias;		  /* or NULL */
	const float *a_scales, *b_scales; /* int8: scales of rows and of outputs */
	const int32_t *b_sums;		  /* int8: sums of the integers of outputs */
};

#include "kernels/cpu/cpu_linear_kinds.h"

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
#elif defined(__AVX2__)
	for (; k + VEC_LANES <= n; k += VEC_LANES) {
		__m256i q = _mm256_cvtps_epi32((__m256)(vec_load(from + k) * factor));
		__m128i words =
			_mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
		__m128i bytes =
			_mm_xor_si128(_mm_packs_epi16(words, words), _mm_set1_epi8((char)flip));

		_mm_storel_epi64((__m128i *)(void *)(to + k), bytes);
	}
#endif
	for (; k < n; k++)
		to[k] = (int8_t)((int)fminf(fmaxf(rintf(from[k] * factor), -127), 127) ^ flip);
}

/* The same as 16-bit words. */
static void to_words(int16_t *to, const float *from, int64_t n, float amax)
{
	float factor = amax > 0 ? 127 / amax : 0;
	int64_t k = 0;

#if defined(__AVX2__) && !defined(__AVX512F__)
	for (; k + VEC_LANES <= n; k += VEC_LANES) {
		__m256i q = _mm256_cvtps_epi32((__m256)(vec_load(from + k) * factor));
		__m128i words =
			_mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));

		_mm_storeu_si128((__m128i *)(void *)(to + k), words);
	}
#endif
	for (; k < n; k++)
		to[k] = (int16_t)fminf(fmaxf(rintf(from[k] * factor), -127), 127);
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
	scratch = cpu_scratch(d, CPU_SCRATCH_THREADS, (size_t)d->threads,
			      (size_t)size * sizeof(*scratch));
	if (!scratch)
		return;
	cpu_team_run(d->team, d->threads, panel_count(packed), pack_part,
		     &(struct pack_job){ packed, b, scratch, size });
}

/* ---- the product ------------------------------------------------------------------------ */

struct linear {
	struct tensor out, a, packed;
	const float *bias;
	bool relu;
	struct tile_kind tile;
	int64_t n_units, pitch;
	int32_t *units; /* (M, pitch) rows of a as units; tiles: those up to pitch, and rows up to a
			   multiple of 16, are 0 */
	float *scales;	/* (M) int8: scales of the rows of a */
	int64_t block_rows, n_blocks, task_panels, n_tasks;
};

static void prepare_row(const struct linear *l, int64_t row)
{
	const float *from = cpu_row(l->a, row);
	float amax = l->packed.dtype == DTYPE_PACKED_INT8 ? vector_max_abs(from, l->a.cols) : 0;
	int32_t *to = l->units + row * l->pitch;

	l->scales[row] = amax / 127;
	if (l->tile.spread == 2) {
		memset(to + 2 * ((l->a.cols - 1) / 4), 0, 2 * sizeof(*to));
		to_words((int16_t *)(void *)to, from, l->a.cols, amax);
	} else {
		to_units(to, from, l->a.cols, l->packed.dtype, amax, l->tile.flip);
	}
	if (l->tile.uses_tiles)
		memset(to + l->n_units, 0, (size_t)(l->pitch - l->n_units) * sizeof(*l->units));
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
	for (int64_t row = first; row < last; row += l->tile.rows) {
		struct tile t = {
			.a = l->units + row * l->pitch,
			.a_scales = l->scales + row,
			.pitch = l->pitch,
			.n_units = l->n_units,
			.stride = l->out.stride,
			.n_rows = (int)MIN(l->tile.rows, last - row),
			.relu = l->relu,
		};

		/* while the first rows are computed, prefetch the next panel */
		t.ahead = row == first ? l->n_units * PANEL_WIDTH : 0;
		for (int64_t i = 0; i < PANEL_WIDTH; i += l->tile.cols) {
			int64_t col = panel * PANEL_WIDTH + i;

			t.n_cols = l->out.cols - to - i;
			if (t.n_cols <= 0)
				break;
			t.b = panel_data(l->packed, panel) + i;
			t.out = cpu_row(l->out, row) + to + i;
			t.bias = l->bias ? l->bias + col : NULL;
			t.b_scales = panel_scales(l->packed) + col;
			t.b_sums = panel_sums(l->packed) + col;
			l->tile.multiply(&t);
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
	if (l->tile.uses_tiles)
		tiles_begin();
	for (; panel < end; panel++)
		linear_panel(l, panel, panel * PANEL_WIDTH, first, last);
	if (l->tile.uses_tiles)
		tiles_end();
}

/* Choose the tile function, convert the rows of a. False: out of memory, stored in d->fault. */
static bool linear_prepare(struct dev *d, struct linear *l)
{
	const int64_t elements = l->a.rows * l->a.cols, n_rows = CEIL_DIV(l->a.rows, 16) * 16;

	l->tile = choose_tile(d, l->packed.dtype);
	l->n_units = panel_units(l->packed);
	/* no multiple of 4 KiB, so that rows use different cache sets */
	l->pitch = CEIL_DIV(l->n_units * l->tile.spread, 16) * 16 + 16;
	l->block_rows = MAX(2, BLOCK_BYTES / (l->pitch * 4 * l->tile.rows)) * l->tile.rows;
	l->units =
		cpu_scratch(d, CPU_SCRATCH_A, (size_t)n_rows, (size_t)l->pitch * sizeof(*l->units));
	l->scales = cpu_scratch(d, CPU_SCRATCH_B, (size_t)l->a.rows, sizeof(*l->scales));
	if (!l->units || !l->scales)
		return false;
	if (l->tile.uses_tiles)
		memset(l->units + l->a.rows * l->pitch, 0,
		       (size_t)((n_rows - l->a.rows) * l->pitch) * sizeof(*l->units));
	cpu_team_run(d->team, cpu_threads(d, elements / 4), CEIL_DIV(l->a.rows, PREPARE_ROWS),
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

	return n_units / 10 + n_units * rows / 100 < MIN_HELPER_NS ? 1 : d->threads;
}

/* out += bias, then ReLU, of a row; half is a constant after inlining. */
VEC_INLINE void finish_row(const struct linear *l, void *row, const bool half)
{
	const int64_t n = l->out.cols;

	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec x = vec_get(row, c, n - c, 0, half);

		if (l->bias)
			x += vec_load_part(l->bias + c, n - c, 0);
		if (l->relu)
			x = vec_max(x, vec_set(0));
		vec_put(row, c, x, n - c, half);
	}
}

static void finish_rows(const void *context, int64_t first, int64_t last)
{
	const struct linear *l = context;

	for (int64_t row = first; row < last; row++)
		if (cpu_is_half(l->out))
			finish_row(l, cpu_any_row(l->out, row), true);
		else
			finish_row(l, cpu_any_row(l->out, row), false);
}

/* Weights that are not packed: op matmul, then bias and ReLU. */
static void linear_as_stored(struct dev *d, const struct linear *l)
{
	CPU(matmul)(d, l->out, l->a, l->packed, (struct matmul_how){ .b_transposed = true });
	if (l->bias || l->relu)
		cpu_rows(d, l->out.rows, l->out.cols, finish_rows, l);
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
	l.task_panels = MAX(1, MIN(TASK_PANELS, panels * l.n_blocks / (4 * d->threads)));
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
	l.out.cols = MIN(CHUNK, l.packed.rows - col); /* the bias ends there */
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

	if (b->l.tile.uses_tiles)
		tiles_begin();
	for (int64_t col = first; col < last; col += CHUNK)
		for (int64_t row = 0; row < rows; row += b->l.block_rows)
			top_k_chunk(b, to, col, row, MIN(b->l.block_rows, rows - row));
	if (b->l.tile.uses_tiles)
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

	b->l.block_rows = CEIL_DIV(CEIL_DIV(n_rows, n_blocks), b->l.tile.rows) * b->l.tile.rows;
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
		       struct tensor packed, const float *bias, int64_t n_real, int32_t k)
{
	struct top_k_job b = { .l = { .a = a, .packed = packed, .bias = bias },
			       .n_real = n_real,
			       .k = k };

	assert(k > 0 && k <= n_real && n_real <= packed.rows);
	if (a.rows == 0)
		return;
	if (a.dtype != DTYPE_F32 || a.cols == 0) {
		ref_linear_top_k(NULL, values, ids, a, packed, bias, n_real, k);
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
