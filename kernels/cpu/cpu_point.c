/*
 * cpu_point.c - elementwise ops: embedding, ReLU, dropout, sums, Adam; formulas: ref_point.c.
 *
 * All of these are limited by memory bandwidth, so each makes one pass over its data: bias, ReLU and
 * dropout together, the update of Adam together with the rounding of the parameters to bf16. Loops
 * take rows, or pieces of a flat array; compilers vectorise the inner loops.
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

struct sinusoid_job {
	float *table;
	int64_t cols;
};

/*
 * Row p: sin(p / 10000^(c / (half - 1))), then the cosines (Vaswani et al. 2017, section 3.5; sines first,
 * as in tensor2tensor). Wavelengths grow from 2 pi to 20000 pi.
 */
static void sinusoid_rows(const void *context, int64_t first, int64_t last)
{
	const struct sinusoid_job *j = context;
	const int64_t cols = j->cols, half = cols / 2;

	for (int64_t p = first; p < last; p++) {
		float *row = j->table + p * cols;

		for (int64_t c = 0; c < half; c++) {
			double angle = (double)p *
				       exp(-log(10000.0) * (double)c / (double)MAX(half - 1, 1));

			row[c] = (float)sin(angle);
			row[half + c] = (float)cos(angle);
		}
		if (cols > 2 * half)
			row[2 * half] = 0;
	}
}

/* The table, with a row for every position. NULL: out of memory, stored in d->fault. */
static const float *sinusoid_table(struct dev *d, const int32_t *positions, int64_t n, int64_t cols)
{
	int64_t rows = 256;
	float *table;

	for (int64_t i = 0; i < n; i++)
		while (positions[i] >= rows && rows < MAX_SINUSOIDS)
			rows *= 2;
	if (d->sinusoid_cols == cols && d->sinusoid_rows >= rows)
		return d->scratch[CPU_SCRATCH_SINUSOID].data;
	table = cpu_scratch(d, CPU_SCRATCH_SINUSOID, (size_t)rows, (size_t)cols * sizeof(*table));
	if (!table)
		return NULL;
	cpu_rows(d, rows, cols, sinusoid_rows, &(struct sinusoid_job){ table, cols });
	d->sinusoid_rows = rows;
	d->sinusoid_cols = cols;
	return table;
}

/* wave: the row of positions, of the sinusoid or of the caller's table; NULL: none. word NULL: zeros. */
static void embed_row(float *out, const float *word, const float *wave, float scale,
		      const float *factor, int64_t n)
{
	if (!word && !wave)
		memset(out, 0, (size_t)n * sizeof(*out));
	else if (!wave)
		for (int64_t c = 0; c < n; c++)
			out[c] = scale * word[c] * factor[c];
	else if (!word)
		for (int64_t c = 0; c < n; c++)
			out[c] = wave[c] * factor[c];
	else
		for (int64_t c = 0; c < n; c++)
			out[c] = (scale * word[c] + wave[c]) * factor[c];
}

struct embed_job {
	struct tensor out, table;
	const int32_t *ids, *positions;
	const float *waves; /* a row for each position; NULL: no positions */
	int64_t waves_stride;
	float scale;
	struct dropout drop;
};

static void embed_word_rows(const void *context, int64_t first, int64_t last)
{
	const struct embed_job *j = context;
	const int64_t cols = j->out.cols;
	struct mask m;

	mask_init(&m, j->drop);
	for (int64_t t = first; t < last; t++) {
		for (int64_t c = 0; c < cols; c += MASK_CHUNK) {
			int64_t n = MIN(MASK_CHUNK, cols - c);

			embed_row(cpu_row(j->out, t) + c,
				  j->ids[t] < 0 ? NULL : cpu_row(j->table, j->ids[t]) + c,
				  j->waves ? j->waves + j->positions[t] * j->waves_stride + c
					   : NULL,
				  j->scale, mask_row(&m, (uint64_t)(t * cols + c), n), n);
		}
	}
}

void CPU(embed)(struct dev *d, struct tensor out, struct tensor table, const int32_t *ids,
		const int32_t *positions, struct embed_how how, struct dropout drop)
{
	struct embed_job j = {
		out,	   table, ids, positions, how.positions.data, how.positions.stride,
		how.scale, drop
	};
	bool is_slow = (out.dtype | table.dtype | how.positions.dtype) != DTYPE_F32;

	for (int64_t t = 0; t < out.rows && how.kind == POSITION_SINUSOID; t++)
		is_slow |= positions[t] >= MAX_SINUSOIDS || positions[t] < 0;
	if (is_slow) {
		ref_embed(NULL, out, table, ids, positions, how, drop);
		return;
	}
	if (how.kind == POSITION_NONE)
		j.waves = NULL;
	if (how.kind == POSITION_SINUSOID) {
		j.waves = sinusoid_table(d, positions, out.rows, out.cols);
		j.waves_stride = out.cols;
		if (!j.waves)
			return;
	}
	cpu_rows(d, out.rows, out.cols, embed_word_rows, &j);
}

struct embed_grad_job {
	struct tensor dtable, dout;
	const int32_t *ids;
	float scale;
	struct dropout drop;
	int64_t width;
};

/* A part is a range of columns and adds all rows in order: no atomics, the same bits each run. */
static void embed_grad_part(const void *context, int thread, int64_t part)
{
	const struct embed_grad_job *j = context;
	const int64_t cols = j->dout.cols, first = part * j->width, n = MIN(j->width, cols - first);
	struct mask m;

	(void)thread;
	mask_init(&m, j->drop);
	for (int64_t t = 0; t < j->dout.rows; t++) {
		const float *from = cpu_row(j->dout, t) + first, *factor;
		float *to;

		if (j->ids[t] < 0)
			continue;
		to = cpu_row(j->dtable, j->ids[t]) + first;
		factor = mask_row(&m, (uint64_t)(t * cols + first), n);
		for (int64_t c = 0; c < n; c++)
			to[c] += j->scale * from[c] * factor[c];
	}
}

void CPU(embed_grad)(struct dev *d, struct tensor dtable, struct tensor dout, const int32_t *ids,
		     float scale, struct dropout drop)
{
	int threads = cpu_threads(d, dout.rows * dout.cols);
	int64_t width = MIN(CEIL_DIV(CEIL_DIV(dout.cols, threads), 16) * 16, MASK_CHUNK);

	if ((dtable.dtype | dout.dtype) != DTYPE_F32) {
		ref_embed_grad(NULL, dtable, dout, ids, scale, drop);
		return;
	}
	cpu_team_run(d->team, threads, CEIL_DIV(dout.cols, width), embed_grad_part,
		     &(struct embed_grad_job){ dtable, dout, ids, scale, drop, width });
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

struct relu_job {
	struct tensor x;
	const float *bias;
	struct dropout drop;
};

static void relu_dropout_rows(const void *context, int64_t first, int64_t last)
{
	const struct relu_job *j = context;
	const struct tensor x = j->x;
	struct mask m;

	mask_init(&m, j->drop);
	for (int64_t t = first; t < last; t++) {
		for (int64_t c = 0; c < x.cols; c += MASK_CHUNK) {
			int64_t n = MIN(MASK_CHUNK, x.cols - c);
			const float *factor = mask_row(&m, (uint64_t)(t * x.cols + c), n);
			void *to = cpu_any_row(tensor_columns(x, c, n), t);

			if (cpu_is_half(x))
				relu_dropout_part(to, j->bias + c, factor, n, true);
			else
				relu_dropout_part(to, j->bias + c, factor, n, false);
		}
	}
}

void CPU(relu_dropout)(struct dev *d, struct tensor x, const float *bias, struct dropout drop)
{
	cpu_rows(d, x.rows, x.cols, relu_dropout_rows, &(struct relu_job){ x, bias, drop });
}

/*
 * No mask is stored: y > 0 exactly where ReLU and dropout let a value pass. The gradient of the bias is
 * the sum of the same numbers over rows.
 */
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

struct relu_grad_job {
	struct tensor dx, y;
	float *sums; /* (parts, columns) */
	float scale;
	int64_t part_rows;
};

static void relu_grad_part(const void *context, int thread, int64_t p)
{
	const struct relu_grad_job *j = context;
	const int64_t cols = j->dx.cols, last = MIN((p + 1) * j->part_rows, j->dx.rows);
	float *sum = j->sums + p * cols;

	(void)thread;
	memset(sum, 0, (size_t)cols * sizeof(*sum));
	for (int64_t t = p * j->part_rows; t < last; t++) {
		void *to = cpu_any_row(j->dx, t), *from = cpu_any_row(j->y, t);

		if (cpu_is_half(j->dx))
			relu_row_grad(to, from, sum, j->scale, cols, true);
		else
			relu_row_grad(to, from, sum, j->scale, cols, false);
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
	cpu_team_run(d->team, cpu_threads(d, dx.rows * dx.cols), n_parts, relu_grad_part,
		     &(struct relu_grad_job){ dx, y, sums, scale, part_rows });
	vec_add_parts(dbias, sums, n_parts, dx.cols, dx.cols);
}

/* ---- flat arrays ----------------------------------------------------------------- */

struct add_job {
	struct tensor x, y;
};

VEC_INLINE void add_typed_rows(const struct add_job *j, int64_t first, int64_t last,
			       const bool x_half, const bool y_half)
{
	const int64_t cols = j->x.cols;

	for (int64_t t = first; t < last; t++) {
		void *to = cpu_any_row(j->x, t), *from = cpu_any_row(j->y, t);

		for (int64_t c = 0; c < cols; c += VEC_LANES)
			vec_put(to, c,
				vec_get(to, c, cols - c, 0, x_half) +
					vec_get(from, c, cols - c, 0, y_half),
				cols - c, x_half);
	}
}

static void add_rows(const void *context, int64_t first, int64_t last)
{
	const struct add_job *j = context;

	if (cpu_is_half(j->x) && cpu_is_half(j->y))
		add_typed_rows(j, first, last, true, true);
	else if (cpu_is_half(j->x))
		add_typed_rows(j, first, last, true, false);
	else if (cpu_is_half(j->y))
		add_typed_rows(j, first, last, false, true);
	else
		add_typed_rows(j, first, last, false, false);
}

void CPU(add)(struct dev *d, struct tensor x, struct tensor y)
{
	cpu_rows(d, x.rows, x.cols, add_rows, &(struct add_job){ x, y });
}

#define ZERO_PIECE ((size_t)1 << 18)

struct zero_job {
	char *p;
	size_t bytes;
};

static void zero_part(const void *context, int thread, int64_t part)
{
	const struct zero_job *j = context;
	const size_t first = (size_t)part * ZERO_PIECE;

	(void)thread;
	memset(j->p + first, 0, MIN(ZERO_PIECE, j->bytes - first));
}

void CPU(zero)(struct dev *d, void *p, size_t bytes)
{
	cpu_team_run(d->team, cpu_threads(d, (int64_t)(bytes / 4)),
		     (int64_t)CEIL_DIV(bytes, ZERO_PIECE), zero_part,
		     &(struct zero_job){ p, bytes });
}

#define SQUARE_PARTS 64
#define SQUARE_LANES 16

/*
 * A sum of millions of squares in double, by 16 running sums: one sum alone would wait for the latency
 * of each addition, and its order would forbid vectors.
 */
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

struct squares_job {
	const float *x;
	int64_t n, length;
	double *part; /* (SQUARE_PARTS) */
};

static void sum_squares_job(const void *context, int thread, int64_t p)
{
	const struct squares_job *j = context;
	const int64_t first = p * j->length;

	(void)thread;
	j->part[p] =
		first < j->n ? sum_squares_part(j->x + first, MIN(j->length, j->n - first)) : 0;
}

void CPU(sum_squares)(struct dev *d, double *out, const float *x, int64_t n)
{
	int64_t length = CEIL_DIV(n, SQUARE_PARTS);
	double part[SQUARE_PARTS], total = 0;

	cpu_team_run(d->team, cpu_threads(d, n), SQUARE_PARTS, sum_squares_job,
		     &(struct squares_job){ x, n, length, part });
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

/*
 * Adam's formulas in ref_point.c. An update reads 16 bytes an element and writes 12, and computes little:
 * memory limits it. restrict lets the compiler use vectors.
 */
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
		param[i] -= rate * m_new / (sqrtf(v_new) + s.epsilon) + s.decay * param[i];
	}
}

struct adam_job {
	float *param, *m, *v;
	const float *grad;
	int64_t n;
	struct adam_step step;
	float factor;
};

static void adam_part(const void *context, int thread, int64_t part)
{
	const struct adam_job *j = context;
	const int64_t i = part * FLAT_PIECE, piece = MIN(FLAT_PIECE, j->n - i);

	(void)thread;
	adam_piece(j->param + i, j->m + i, j->v + i, j->grad + i, piece, j->step, j->factor);
	for (int64_t k = i; j->step.bf16_params && k < i + piece; k++)
		j->step.bf16_params[k] = bf16_from_float(j->param[k]);
}

void CPU(adam)(struct dev *d, float *param, float *m, float *v, const float *grad, int64_t n,
	       struct adam_step step)
{
	const float factor = adam_factor(&step);

	if (isnan(factor))
		return;
	cpu_team_run(d->team, cpu_threads(d, n), CEIL_DIV(n, FLAT_PIECE), adam_part,
		     &(struct adam_job){ param, m, v, grad, n, step, factor });
}

static void scale_piece(float *x, int64_t n, float by)
{
	for (int64_t i = 0; i < n; i++)
		x[i] *= by;
}

/* y: of blend alone. */
struct flat_job {
	float *x;
	const float *y;
	int64_t n;
	float by;
};

static void scale_part(const void *context, int thread, int64_t part)
{
	const struct flat_job *j = context;
	const int64_t i = part * FLAT_PIECE;

	(void)thread;
	scale_piece(j->x + i, MIN(FLAT_PIECE, j->n - i), j->by);
}

void CPU(scale)(struct dev *d, float *x, int64_t n, float by)
{
	cpu_team_run(d->team, cpu_threads(d, n), CEIL_DIV(n, FLAT_PIECE), scale_part,
		     &(struct flat_job){ .x = x, .n = n, .by = by });
}

static void blend_piece(float *restrict x, const float *restrict y, int64_t n, float share)
{
	for (int64_t i = 0; i < n; i++)
		x[i] += share * (y[i] - x[i]);
}

static void blend_part(const void *context, int thread, int64_t part)
{
	const struct flat_job *j = context;
	const int64_t i = part * FLAT_PIECE;

	(void)thread;
	blend_piece(j->x + i, j->y + i, MIN(FLAT_PIECE, j->n - i), j->by);
}

void CPU(blend)(struct dev *d, float *x, const float *y, int64_t n, float share)
{
	cpu_team_run(d->team, cpu_threads(d, n), CEIL_DIV(n, FLAT_PIECE), blend_part,
		     &(struct flat_job){ .x = x, .y = y, .n = n, .by = share });
}
