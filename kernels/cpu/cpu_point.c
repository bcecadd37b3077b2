/*
 * cpu_point.c - elementwise ops: embedding, ReLU, dropout, sums, Adam; formulas: ref_point.c.
 *
 * All of these are limited by memory bandwidth, so each makes one pass over its data: bias, ReLU and
 * dropout together, the update of Adam together with the rounding of the parameters to bf16. Loops
 * are OpenMP over rows, or over pieces of a flat array; compilers vectorise the inner loops.
 *
 * Sums that must not depend on threads:
 *	relu_dropout_grad, dbias:	parts of rows with one buffer each, added in order (cpu_norm.c)
 *	embed_grad, dtable:		a thread owns some columns and walks through all rows
 *	sum_squares:			64 parts of the array, 16 sums each, added in order
 *
 * embed reads sines and cosines from a table (positions, D), filled at first use, because sin() and
 * cos() would cost more than the rest of the op.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>
#include <math.h>

#include "kernels/cpu/cpu_mask.h"
#include "kernels/cpu/cpu_vec.h"
#include "kernels/ops/adam_factor.h"
#include "kernels/ref/ref.h"

/* ---- embedding --------------------------------------------------------------- */

#define MAX_SINUSOIDS 65536 /* rows of the table; larger positions go to ref_embed() */

/* The table, with a row for every position. NULL: out of memory, stored in d->fault. */
static const float *sinusoid_table(struct dev *d, const int32_t *positions, int64_t n, int64_t cols)
{
	int64_t rows = 256, half = cols / 2;
	float *table;

	for (int64_t i = 0; i < n; i++)
		while (positions[i] >= rows && rows < MAX_SINUSOIDS)
			rows *= 2;
	if (d->sinusoid_cols == cols && d->sinusoid_rows >= rows)
		return d->scratch[CPU_SCRATCH_SINUSOID].data;
	table = cpu_scratch(d, CPU_SCRATCH_SINUSOID, (size_t)rows, (size_t)cols * sizeof(*table));
	if (!table)
		return NULL;
#pragma omp parallel for num_threads(d->threads) schedule(static)
	for (int64_t p = 0; p < rows; p++) {
		for (int64_t c = 0; c < half; c++) {
			double angle = (double)p *
				       exp(-log(10000.0) * (double)c / (double)MAX(half - 1, 1));

			table[p * cols + c] = (float)sin(angle);
			table[p * cols + half + c] = (float)cos(angle);
		}
		if (cols > 2 * half)
			table[p * cols + 2 * half] = 0;
	}
	d->sinusoid_rows = rows;
	d->sinusoid_cols = cols;
	return table;
}

static void embed_row(float *out, const float *word, const float *sinusoid, float scale,
		      const float *factor, int64_t n)
{
	if (!word)
		for (int64_t c = 0; c < n; c++)
			out[c] = sinusoid[c] * factor[c];
	else
		for (int64_t c = 0; c < n; c++)
			out[c] = (scale * word[c] + sinusoid[c]) * factor[c];
}

void CPU(embed)(struct dev *d, struct tensor out, struct tensor table, const int32_t *ids,
		const int32_t *positions, float scale, struct dropout drop)
{
	const float *waves;
	bool far = false;

	for (int64_t t = 0; t < out.rows; t++)
		far |= positions[t] >= MAX_SINUSOIDS || positions[t] < 0;
	if ((out.dtype | table.dtype) != DTYPE_F32 || far) {
		ref_embed(NULL, out, table, ids, positions, scale, drop);
		return;
	}
	waves = sinusoid_table(d, positions, out.rows, out.cols);
	if (!waves)
		return;
#pragma omp parallel num_threads(cpu_threads(d, out.rows *out.cols))
	{
		struct mask m;

		mask_init(&m, drop);
#pragma omp for schedule(static)
		for (int64_t t = 0; t < out.rows; t++) {
			for (int64_t c = 0; c < out.cols; c += MASK_CHUNK) {
				int64_t n = MIN(MASK_CHUNK, out.cols - c);

				embed_row(cpu_row(out, t) + c,
					  ids[t] < 0 ? NULL : cpu_row(table, ids[t]) + c,
					  waves + positions[t] * out.cols + c, scale,
					  mask_row(&m, (uint64_t)(t * out.cols + c), n), n);
			}
		}
	}
}

/* A thread owns a range of columns and adds all rows in order: no atomics, the same bits each run. */
void CPU(embed_grad)(struct dev *d, struct tensor dtable, struct tensor dout, const int32_t *ids,
		     float scale, struct dropout drop)
{
	int threads = cpu_threads(d, dout.rows * dout.cols);
	int64_t width = MIN(CEIL_DIV(CEIL_DIV(dout.cols, threads), 16) * 16, MASK_CHUNK);

	if ((dtable.dtype | dout.dtype) != DTYPE_F32) {
		ref_embed_grad(NULL, dtable, dout, ids, scale, drop);
		return;
	}
#pragma omp parallel for num_threads(threads) schedule(static)
	for (int64_t first = 0; first < dout.cols; first += width) {
		int64_t n = MIN(width, dout.cols - first);
		struct mask m;

		mask_init(&m, drop);
		for (int64_t t = 0; t < dout.rows; t++) {
			const float *from = cpu_row(dout, t) + first, *factor;
			float *to;

			if (ids[t] < 0)
				continue;
			to = cpu_row(dtable, ids[t]) + first;
			factor = mask_row(&m, (uint64_t)(t * dout.cols + first), n);
			for (int64_t c = 0; c < n; c++)
				to[c] += scale * from[c] * factor[c];
		}
	}
}

/* ---- relu ---------------------------------------------------------------------- */

/* n elements of a row; half is a constant after inlining. */
VEC_INLINE void relu_dropout_part(void *x, const float *bias, const float *factor, int64_t n,
				  const bool half)
{
	for (int64_t i = 0; i < n; i += VEC_LANES) {
		vec y = vec_get(x, i, n - i, 0, half) + vec_load_part(bias + i, n - i, 0);

		vec_put(x, i, vec_max(y, vec_set(0)) * vec_load_part(factor + i, n - i, 0), n - i,
			half);
	}
}

void CPU(relu_dropout)(struct dev *d, struct tensor x, const float *bias, struct dropout drop)
{
#pragma omp parallel num_threads(cpu_threads(d, x.rows *x.cols))
	{
		struct mask m;

		mask_init(&m, drop);
#pragma omp for schedule(static)
		for (int64_t t = 0; t < x.rows; t++) {
			for (int64_t c = 0; c < x.cols; c += MASK_CHUNK) {
				int64_t n = MIN(MASK_CHUNK, x.cols - c);
				const float *factor = mask_row(&m, (uint64_t)(t * x.cols + c), n);
				void *to = cpu_any_row(tensor_columns(x, c, n), t);

				if (cpu_is_half(x))
					relu_dropout_part(to, bias + c, factor, n, true);
				else
					relu_dropout_part(to, bias + c, factor, n, false);
			}
		}
	}
}

VEC_INLINE void relu_row_grad(void *g, const void *y, float *sum, float scale, int64_t n,
			      const bool half)
{
	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec passed = vec_get(g, c, n - c, 0, half) * scale;

		passed = vec_choose(vec_get(y, c, n - c, 0, half) > 0, passed, vec_set(0));
		vec_put(g, c, passed, n - c, half);
		vec_store_part(sum + c, vec_load_part(sum + c, n - c, 0) + passed, n - c);
	}
}

void CPU(relu_dropout_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor y,
			    struct dropout drop)
{
	float scale = drop.rate > 0 ? dropout_scale(drop.rate) : 1;
	int64_t part_rows = cpu_part_rows(dx.rows), n_parts = CEIL_DIV(dx.rows, part_rows);
	float *sums;

	if (dx.dtype != y.dtype) {
		ref_relu_dropout_grad(NULL, dx, dbias, y, drop);
		return;
	}
	sums = cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)n_parts, (size_t)dx.cols * sizeof(*sums));
	if (!sums)
		return;
#pragma omp parallel for num_threads(cpu_threads(d, dx.rows *dx.cols)) schedule(static)
	for (int64_t p = 0; p < n_parts; p++) {
		float *sum = sums + p * dx.cols;

		memset(sum, 0, (size_t)dx.cols * sizeof(*sum));
		for (int64_t t = p * part_rows; t < MIN((p + 1) * part_rows, dx.rows); t++) {
			void *to = cpu_any_row(dx, t), *from = cpu_any_row(y, t);

			if (cpu_is_half(dx))
				relu_row_grad(to, from, sum, scale, dx.cols, true);
			else
				relu_row_grad(to, from, sum, scale, dx.cols, false);
		}
	}
	vec_add_parts(dbias, sums, n_parts, dx.cols, dx.cols);
}

/* ---- flat arrays ----------------------------------------------------------------- */

void CPU(add)(struct dev *d, struct tensor x, struct tensor y)
{
	if ((x.dtype | y.dtype) != DTYPE_F32) {
		ref_add(NULL, x, y);
		return;
	}
#pragma omp parallel for num_threads(cpu_threads(d, x.rows *x.cols)) schedule(static)
	for (int64_t t = 0; t < x.rows; t++) {
		float *to = cpu_row(x, t);
		const float *from = cpu_row(y, t);

		for (int64_t c = 0; c < x.cols; c++)
			to[c] += from[c];
	}
}

#define ZERO_PIECE ((size_t)1 << 18)

void CPU(zero)(struct dev *d, void *p, size_t bytes)
{
	size_t n = CEIL_DIV(bytes, ZERO_PIECE);

#pragma omp parallel for num_threads(cpu_threads(d, (int64_t)(bytes / 4))) schedule(static)
	for (size_t i = 0; i < n; i++)
		memset((char *)p + i * ZERO_PIECE, 0, MIN(ZERO_PIECE, bytes - i * ZERO_PIECE));
}

#define SQUARE_PARTS 64
#define SQUARE_LANES 16

static double sum_squares_part(const float *x, int64_t n)
{
	double sum[SQUARE_LANES] = { 0 }, total = 0;
	int64_t i = 0;

	for (; i + SQUARE_LANES <= n; i += SQUARE_LANES)
		for (int j = 0; j < SQUARE_LANES; j++)
			sum[j] += (double)x[i + j] * x[i + j];
	for (; i < n; i++)
		total += (double)x[i] * x[i];
	for (int j = 0; j < SQUARE_LANES; j++)
		total += sum[j];
	return total;
}

void CPU(sum_squares)(struct dev *d, double *out, const float *x, int64_t n)
{
	int64_t length = CEIL_DIV(n, SQUARE_PARTS);
	double part[SQUARE_PARTS], total = 0;

#pragma omp parallel for num_threads(cpu_threads(d, n)) schedule(static)
	for (int p = 0; p < SQUARE_PARTS; p++)
		part[p] = p * length < n
				  ? sum_squares_part(x + p * length, MIN(length, n - p * length))
				  : 0;
	for (int p = 0; p < SQUARE_PARTS; p++)
		total += part[p];
	assert(SQUARE_PARTS * length >= n);
	*out += total;
}

/* Only a few thousand losses a batch: the reference is fast enough. */
void CPU(row_sums)(struct dev *d, double *out, struct tensor x)
{
	ref_row_sums(d, out, x);
}

#define FLAT_PIECE 16384

static void adam_piece(float *restrict param, float *restrict m, float *restrict v,
		       const float *restrict grad, int64_t n, struct adam_step s, float factor)
{
	float rate = (float)((double)s.rate * sqrt((double)s.correction2) / (double)s.correction1);
	float rest1 = (float)(1.0 - (double)s.beta1), rest2 = (float)(1.0 - (double)s.beta2);

	for (int64_t i = 0; i < n; i++) {
		float g = grad[i] * factor;
		float m_new = s.beta1 * m[i] + rest1 * g;
		float v_new = s.beta2 * v[i] + rest2 * g * g;

		m[i] = m_new;
		v[i] = v_new;
		param[i] -= rate * m_new / (sqrtf(v_new) + s.epsilon);
	}
}

void CPU(adam)(struct dev *d, float *param, float *m, float *v, const float *grad, int64_t n,
	       struct adam_step step)
{
	const float factor = adam_factor(&step);

	if (isnan(factor))
		return;
#pragma omp parallel for num_threads(cpu_threads(d, n)) schedule(static)
	for (int64_t i = 0; i < n; i += FLAT_PIECE) {
		const int64_t piece = MIN(FLAT_PIECE, n - i);

		adam_piece(param + i, m + i, v + i, grad + i, piece, step, factor);
		for (int64_t j = i; step.bf16_params && j < i + piece; j++)
			step.bf16_params[j] = bf16_from_float(param[j]);
	}
}

static void scale_piece(float *x, int64_t n, float by)
{
	for (int64_t i = 0; i < n; i++)
		x[i] *= by;
}

void CPU(scale)(struct dev *d, float *x, int64_t n, float by)
{
#pragma omp parallel for num_threads(cpu_threads(d, n)) schedule(static)
	for (int64_t i = 0; i < n; i += FLAT_PIECE)
		scale_piece(x + i, MIN(FLAT_PIECE, n - i), by);
}

static void blend_piece(float *restrict x, const float *restrict y, int64_t n, float share)
{
	for (int64_t i = 0; i < n; i++)
		x[i] += share * (y[i] - x[i]);
}

void CPU(blend)(struct dev *d, float *x, const float *y, int64_t n, float share)
{
#pragma omp parallel for num_threads(cpu_threads(d, n)) schedule(static)
	for (int64_t i = 0; i < n; i += FLAT_PIECE)
		blend_piece(x + i, y + i, MIN(FLAT_PIECE, n - i), share);
}
