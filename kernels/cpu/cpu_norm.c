/*
 * cpu_norm.c - normalisation of rows, alone and fused with a residual connection; formulas: ref_norm.c.
 *
 * Forward: rows are independent, and cpu_rows() gives parts of 16 rows to threads. A row (2 KB at
 * D = 512) stays in the L1 cache for its three passes: sum, squares around the mean, output.
 * add_norm makes the row first: residual + dropout(branch + bias), with dropout factors from
 * cpu_mask.h.
 *
 * Backward: dx of a row needs two averages over the row. dscale, dshift and dbias are sums over all
 * rows, column by column. Rows are cut into parts (cpu_part_rows(): by shape only), each part sums
 * into a buffer of its own, and the buffers are added in the order of parts:
 *
 *	rows	  part 0	part 1	    …	  buffers (parts, 3, D): dscale, dshift, dbias
 *	        | 32 rows |	| 32 rows |	  added part by part: the same bits with any threads
 *
 * The residual stream (x, sum, dx, dsum) is float in the fast path; out, residual, branch, dout and
 * dbranch may be bf16. residual may be out (post-norm): a part makes the sums of its rows before it stores
 * the first row of out.
 */
#include "kernels/cpu/cpu.h"

#include <assert.h>

#include "kernels/cpu/cpu_mask.h"
#include "kernels/cpu/cpu_vec.h"
#include "kernels/ref/ref.h"

/*
 * One row in three passes: mean; squares around the mean; output. The mean is subtracted before
 * squaring, because avg(x^2) - mean^2 cancels in fp32 when the mean is large. In the second pass missing
 * lanes of the last vector are loaded as the mean, so they add 0.
 */
/* kind, and half: out is bf16; constants after inlining, here and below. */
VEC_INLINE void cpu_norm_row(void *out, float *mean, float *rstd, const float *x,
			     const float *scale, const float *shift, float epsilon, int64_t n,
			     const enum norm_kind kind, const bool half)
{
	vec sum = vec_set(0), squares = vec_set(0);
	float m = 0, r;

	for (int64_t c = 0; c < n && kind == NORM_LAYER; c += VEC_LANES)
		sum += vec_load_part(x + c, n - c, 0);
	if (kind == NORM_LAYER)
		m = vec_sum(sum) / (float)n;
	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec centered = vec_load_part(x + c, n - c, m) - m;

		squares += centered * centered;
	}
	r = 1 / sqrtf(vec_sum(squares) / (float)n + epsilon);
	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec y = vec_load_part(x + c, n - c, 0), s = vec_load_part(scale + c, n - c, 0);

		if (kind == NORM_LAYER)
			y = (y - m) * r * s + vec_load_part(shift + c, n - c, 0);
		else
			y = y * r * s;
		vec_put(out, c, y, n - c, half);
	}
	*mean = m;
	*rstd = r;
}

struct norm_job {
	struct tensor out, x;
	float *mean, *rstd;
	const float *scale, *shift;
	struct norm_how how;
};

VEC_INLINE void norm_row_range(const struct norm_job *n, int64_t first, int64_t last,
			       const enum norm_kind kind, const bool half)
{
	for (int64_t t = first; t < last; t++)
		cpu_norm_row(cpu_any_row(n->out, t), n->mean + t, n->rstd + t, cpu_row(n->x, t),
			     n->scale, n->shift, n->how.epsilon, n->x.cols, kind, half);
}

/* NORM_NONE: out = x. */
static void copy_normless_rows(const struct norm_job *n, int64_t first, int64_t last)
{
	for (int64_t t = first; t < last; t++) {
		void *to = cpu_any_row(n->out, t);
		const float *x = cpu_row(n->x, t);

		if (!cpu_is_half(n->out))
			memmove(to, x, (size_t)n->x.cols * sizeof(*x));
		for (int64_t c = 0; c < n->x.cols && cpu_is_half(n->out); c += VEC_LANES)
			vec_put(to, c, vec_load_part(x + c, n->x.cols - c, 0), n->x.cols - c, true);
	}
}

static void cpu_norm_rows(const void *context, int64_t first, int64_t last)
{
	const struct norm_job *n = context;
	const bool half = cpu_is_half(n->out);

	if (n->how.kind == NORM_NONE)
		copy_normless_rows(n, first, last);
	else if (n->how.kind == NORM_RMS && half)
		norm_row_range(n, first, last, NORM_RMS, true);
	else if (n->how.kind == NORM_RMS)
		norm_row_range(n, first, last, NORM_RMS, false);
	else if (half)
		norm_row_range(n, first, last, NORM_LAYER, true);
	else
		norm_row_range(n, first, last, NORM_LAYER, false);
}

void CPU(norm)(struct dev *d, struct tensor out, float *mean, float *rstd, struct tensor x,
	       const float *scale, const float *shift, struct norm_how how)
{
	if (x.dtype != DTYPE_F32) {
		ref_norm(NULL, out, mean, rstd, x, scale, shift, how);
		return;
	}
	cpu_rows(d, x.rows, x.cols, cpu_norm_rows,
		 &(struct norm_job){ out, x, mean, rstd, scale, shift, how });
}

/* sum = residual + dropout(branch + bias); first: dropout index of the first element of the row. */
VEC_INLINE void sum_row(float *sum, const void *residual, const void *branch, const float *bias,
			struct mask *m, uint64_t first, int64_t cols, const bool half_residual,
			const bool half)
{
	for (int64_t c = 0; c < cols; c += MASK_CHUNK) {
		int64_t end = MIN(c + MASK_CHUNK, cols);
		const float *factor = mask_row(m, first + (uint64_t)c, end - c);

		for (int64_t i = c; i < end; i += VEC_LANES) {
			vec x = vec_get(branch, i, end - i, 0, half);

			if (bias)
				x += vec_load_part(bias + i, end - i, 0);
			vec_store_part(sum + i,
				       vec_get(residual, i, end - i, 0, half_residual) +
					       x * vec_load_part(factor + i - c, end - i, 0),
				       end - i);
		}
	}
}

struct add_norm_job {
	struct norm_job norm; /* x: the sum */
	struct tensor residual, branch;
	const float *bias;
	struct dropout drop;
};

static void add_norm_rows(const void *context, int64_t first, int64_t last)
{
	const struct add_norm_job *a = context;
	const struct tensor sum = a->norm.x;
	struct mask m;

	mask_init(&m, a->drop);
	for (int64_t t = first; t < last; t++) {
		float *to = cpu_row(sum, t);
		const void *residual = cpu_any_row(a->residual, t);
		const void *branch = cpu_any_row(a->branch, t);
		uint64_t at = (uint64_t)(t * sum.cols);

		if (cpu_is_half(a->residual) && cpu_is_half(a->branch))
			sum_row(to, residual, branch, a->bias, &m, at, sum.cols, true, true);
		else if (cpu_is_half(a->residual))
			sum_row(to, residual, branch, a->bias, &m, at, sum.cols, true, false);
		else if (cpu_is_half(a->branch))
			sum_row(to, residual, branch, a->bias, &m, at, sum.cols, false, true);
		else
			sum_row(to, residual, branch, a->bias, &m, at, sum.cols, false, false);
	}
	cpu_norm_rows(&a->norm, first, last);
}

void CPU(add_norm)(struct dev *d, struct tensor sum, struct tensor out, float *mean, float *rstd,
		   struct tensor residual, struct tensor branch, const float *bias,
		   const float *scale, const float *shift, struct norm_how how, struct dropout drop)
{
	if (sum.dtype != DTYPE_F32) {
		ref_add_norm(NULL, sum, out, mean, rstd, residual, branch, bias, scale, shift, how,
			     drop);
		return;
	}
	cpu_rows(d, sum.rows, sum.cols, add_norm_rows,
		 &(struct add_norm_job){ { out, sum, mean, rstd, scale, shift, how },
					 residual,
					 branch,
					 bias,
					 drop });
}

/* ---- gradients ------------------------------------------------------------------ */

/* One row: dx = or += its gradient; its terms are added to dscale and dshift. */
struct row_grad {
	float *dx, *dscale, *dshift;
	const void *dout;
	const float *x, *scale;
	float mean, rstd;
	bool accumulate;
};

/*
 * dx = rstd (g - avg(g) - n avg(g n)), g = dout scale (ref_norm.c). The two averages need a pass over the
 * row first; the terms of dscale and dshift are added in the same pass. n is computed again from x,
 * mean and rstd in each pass: cheaper than storing it.
 */
VEC_INLINE void norm_row_grad(struct row_grad r, int64_t n, const enum norm_kind kind,
			      const bool half)
{
	const bool has_mean = kind == NORM_LAYER; /* and a shift */
	vec g_sum = vec_set(0), gn_sum = vec_set(0);
	float g_mean, gn_mean;

	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec dout = vec_get(r.dout, c, n - c, 0, half),
		    g = dout * vec_load_part(r.scale + c, n - c, 0);
		vec x = vec_load_part(r.x + c, n - c, 0),
		    normed = (has_mean ? x - r.mean : x) * r.rstd;

		g_sum += g;
		gn_sum += g * normed;
		vec_store_part(r.dscale + c, vec_load_part(r.dscale + c, n - c, 0) + dout * normed,
			       n - c);
		if (has_mean)
			vec_store_part(r.dshift + c, vec_load_part(r.dshift + c, n - c, 0) + dout,
				       n - c);
	}
	g_mean = vec_sum(g_sum) / (float)n;
	gn_mean = vec_sum(gn_sum) / (float)n;
	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec g = vec_get(r.dout, c, n - c, 0, half) * vec_load_part(r.scale + c, n - c, 0);
		vec x = vec_load_part(r.x + c, n - c, 0),
		    normed = (has_mean ? x - r.mean : x) * r.rstd;
		vec dx = r.rstd * ((has_mean ? g - g_mean : g) - normed * gn_mean);

		vec_store_part(r.dx + c, r.accumulate ? dx + vec_load_part(r.dx + c, n - c, 0) : dx,
			       n - c);
	}
}

static void norm_any_row_grad(struct row_grad r, int64_t n, enum norm_kind kind, bool half)
{
	if (kind == NORM_RMS && half)
		norm_row_grad(r, n, NORM_RMS, true);
	else if (kind == NORM_RMS)
		norm_row_grad(r, n, NORM_RMS, false);
	else if (half)
		norm_row_grad(r, n, NORM_LAYER, true);
	else
		norm_row_grad(r, n, NORM_LAYER, false);
}

/* NORM_NONE: dx = or += dout. */
VEC_INLINE void pass_row_grad(float *dx, const void *dout, int64_t n, bool accumulate,
			      const bool half)
{
	for (int64_t c = 0; c < n; c += VEC_LANES) {
		vec g = vec_get(dout, c, n - c, 0, half);

		if (accumulate)
			g += vec_load_part(dx + c, n - c, 0);
		vec_store_part(dx + c, g, n - c);
	}
}

/* One row: dbranch = dropout'(dsum), added to dbias. */
VEC_INLINE void branch_row_grad(void *dbranch, float *dbias, const float *dsum, struct mask *m,
				uint64_t first, int64_t cols, const bool half)
{
	for (int64_t c = 0; c < cols; c += MASK_CHUNK) {
		int64_t end = MIN(c + MASK_CHUNK, cols);
		const float *factor = mask_row(m, first + (uint64_t)c, end - c);

		for (int64_t i = c; i < end; i += VEC_LANES) {
			vec g = vec_load_part(dsum + i, end - i, 0) *
				vec_load_part(factor + i - c, end - i, 0);

			vec_put(dbranch, i, g, end - i, half);
			g += vec_load_part(dbias + i, end - i, 0);
			vec_store_part(dbias + i, g, end - i);
		}
	}
}

/* Arguments of norm_grad and add_norm_grad; norm_grad: dbranch.data is NULL. */
struct norm_grad_job {
	struct tensor dx, dbranch;
	float *dbias, *dscale, *dshift;
	struct tensor dout, x;
	const float *mean, *rstd, *scale;
	enum norm_kind kind;
	struct dropout drop;
	bool accumulate;
};

/* dx of row t, and its terms of dscale and dshift in sums. */
static void norm_grad_row(const struct norm_grad_job *g, float *sums, int64_t t)
{
	const int64_t n = g->x.cols;
	const void *dout = cpu_any_row(g->dout, t);
	float *dx = cpu_row(g->dx, t);

	if (g->kind != NORM_NONE)
		norm_any_row_grad((struct row_grad){ dx, sums, sums + n, dout, cpu_row(g->x, t),
						     g->scale, g->mean[t], g->rstd[t],
						     g->accumulate },
				  n, g->kind, cpu_is_half(g->dout));
	else if (cpu_is_half(g->dout))
		pass_row_grad(dx, dout, n, g->accumulate, true);
	else
		pass_row_grad(dx, dout, n, g->accumulate, false);
}

/* Rows [first, last): dx, dbranch, and sums (3, x.cols) = terms of dscale, dshift, dbias. */
static void part_grad(const struct norm_grad_job *g, float *sums, int64_t first, int64_t last)
{
	int64_t n = g->x.cols;
	struct mask m;

	memset(sums, 0, (size_t)(3 * n) * sizeof(*sums));
	if (g->dbranch.data)
		mask_init(&m, g->drop);
	for (int64_t t = first; t < last; t++) {
		const float *dsum = cpu_row(g->dx, t);
		uint64_t at = (uint64_t)(t * n);

		norm_grad_row(g, sums, t);
		if (!g->dbranch.data)
			continue;
		if (cpu_is_half(g->dbranch))
			branch_row_grad(cpu_any_row(g->dbranch, t), sums + 2 * n, dsum, &m, at, n,
					true);
		else
			branch_row_grad(cpu_any_row(g->dbranch, t), sums + 2 * n, dsum, &m, at, n,
					false);
	}
}

struct norm_grad_parts {
	const struct norm_grad_job *job;
	float *sums; /* (parts, 3, columns) */
	int64_t part_rows;
};

static void norm_grad_part(const void *context, int thread, int64_t p)
{
	const struct norm_grad_parts *g = context;

	(void)thread;
	part_grad(g->job, g->sums + p * 3 * g->job->x.cols, p * g->part_rows,
		  MIN((p + 1) * g->part_rows, g->job->x.rows));
}

static void all_grads(struct dev *d, const struct norm_grad_job *g)
{
	int64_t n = g->x.cols, part_rows = cpu_part_rows(g->x.rows),
		n_parts = CEIL_DIV(g->x.rows, part_rows);
	float *sums =
		cpu_scratch(d, CPU_SCRATCH_SUMS, (size_t)n_parts, 3 * (size_t)n * sizeof(*sums));

	if (!sums)
		return;
	assert(n_parts <= CPU_MAX_PARTS);
	cpu_team_run(d->team, cpu_threads(d, g->x.rows * n), n_parts, norm_grad_part,
		     &(struct norm_grad_parts){ g, sums, part_rows });
	if (g->kind != NORM_NONE)
		vec_add_parts(g->dscale, sums, n_parts, 3 * n, n);
	if (g->kind == NORM_LAYER)
		vec_add_parts(g->dshift, sums + n, n_parts, 3 * n, n);
	if (g->dbias)
		vec_add_parts(g->dbias, sums + 2 * n, n_parts, 3 * n, n);
}

void CPU(norm_grad)(struct dev *d, struct tensor dx, float *dscale, float *dshift,
		    struct tensor dout, struct tensor x, const float *mean, const float *rstd,
		    const float *scale, struct norm_how how, bool accumulate)
{
	if ((dx.dtype | x.dtype) != DTYPE_F32)
		ref_norm_grad(NULL, dx, dscale, dshift, dout, x, mean, rstd, scale, how,
			      accumulate);
	else
		all_grads(d, &(struct norm_grad_job){ .dx = dx,
						      .dscale = dscale,
						      .dshift = dshift,
						      .dout = dout,
						      .x = x,
						      .mean = mean,
						      .rstd = rstd,
						      .scale = scale,
						      .kind = how.kind,
						      .accumulate = accumulate });
}

void CPU(add_norm_grad)(struct dev *d, struct tensor dsum, struct tensor dbranch, float *dbias,
			float *dscale, float *dshift, struct tensor dout, struct tensor sum,
			const float *mean, const float *rstd, const float *scale,
			struct norm_how how, struct dropout drop)
{
	if ((dsum.dtype | sum.dtype) != DTYPE_F32)
		ref_add_norm_grad(NULL, dsum, dbranch, dbias, dscale, dshift, dout, sum, mean, rstd,
				  scale, how, drop);
	else
		all_grads(d, &(struct norm_grad_job){ .dx = dsum,
						      .dbranch = dbranch,
						      .dbias = dbias,
						      .dscale = dscale,
						      .dshift = dshift,
						      .dout = dout,
						      .x = sum,
						      .mean = mean,
						      .rstd = rstd,
						      .scale = scale,
						      .kind = how.kind,
						      .drop = drop,
						      .accumulate = true });
}
