/*
 * t_ops_grad.c - every gradient against finite differences.
 *
 * This file includes kernels/ref/ref_*.c with float defined as double, so that central differences are
 * exact to about nine digits. The function is a randomly weighted sum of all outputs of an op; its
 * derivative by each input, from the op's _grad, is compared with the difference quotient.
 */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ops/bf16.h"
#include "share/base/err.h"
#include "tests/test.h"

#define float double
#define REF(name) double_##name
#include "kernels/ref/ref_activate.c"
#include "kernels/ref/ref_attention.c"
#include "kernels/ref/ref_loss.c"
#include "kernels/ref/ref_matmul.c"
#include "kernels/ref/ref_norm.c"
#include "kernels/ref/ref_point.c"
#include "kernels/ref/ref_ssru.c"
#undef float

#define STEP	  1e-5
#define TOLERANCE 1e-7

/* A matrix, owned, with random values. */
struct matrix {
	double *x;
	int64_t rows, cols;
};

static uint64_t drawn;

static struct matrix matrix_new(int64_t rows, int64_t cols)
{
	struct matrix m = { calloc((size_t)(rows * cols), sizeof(double)), rows, cols };

	if (!m.x)
		abort();
	for (int64_t i = 0; i < rows * cols; i++)
		m.x[i] = rng_unit(rng_key_make(11, RNG_TEST, 0, 0), drawn++) * 2 - 1;
	return m;
}

static struct matrix matrix_zero(struct matrix like)
{
	struct matrix m = matrix_new(like.rows, like.cols);

	memset(m.x, 0, (size_t)(m.rows * m.cols) * sizeof(double));
	return m;
}

static struct tensor view(struct matrix m)
{
	return (struct tensor){ m.x, m.rows, m.cols, m.cols, DTYPE_F32 };
}

static double weighted(struct matrix weights, struct matrix out)
{
	double sum = 0;

	for (int64_t i = 0; i < out.rows * out.cols; i++)
		sum += weights.x[i] * out.x[i];
	return sum;
}

/* value(context): the weighted sum of outputs; grad: its derivative by x, from the op. */
static void compare(const char *what, struct matrix x, struct matrix grad, double (*value)(void *),
		    void *context)
{
	for (int64_t i = 0; i < x.rows * x.cols; i++) {
		double middle = x.x[i], up, down, difference;

		x.x[i] = middle + STEP;
		up = value(context);
		x.x[i] = middle - STEP;
		down = value(context);
		x.x[i] = middle;
		difference = (up - down) / (2 * STEP);
		if (fabs(difference - grad.x[i]) > TOLERANCE * (1 + fabs(difference))) {
			test_fail(__FILE__, __LINE__,
				  "%s: element %d: gradient %.12g, difference %.12g", what, (int)i,
				  grad.x[i], difference);
			return;
		}
	}
}

static void free_all(struct matrix *first, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(*first); i++)
		free(first[i].x);
}

static struct dropout some_dropout(double rate)
{
	return (struct dropout){ .rate = rate, .key = rng_key_make(5, RNG_DROPOUT, 1, 2) };
}

/* ---- matmul: its gradients are products, too ------------------------------------------ */

struct matmul_check {
	struct matrix out, a, b, w, da, db;
	struct matmul_how how;
};

static struct dev *no_rounding(void)
{
	static struct ref_dev d = { false };

	return (struct dev *)&d;
}

static double matmul_value(void *context)
{
	struct matmul_check *m = context;

	double_matmul(no_rounding(), view(m->out), view(m->a), view(m->b), m->how);
	return weighted(m->w, m->out);
}

/* out = a b^T, as a layer's weights are used: da = dout b, db += dout^T a. */
TEST(ops_grad_matmul)
{
	struct matmul_check m = { .out = matrix_new(5, 3),
				  .a = matrix_new(5, 7),
				  .b = matrix_new(3, 7),
				  .w = matrix_new(5, 3),
				  .da = matrix_new(5, 7),
				  .db = matrix_new(3, 7),
				  .how = { .b_transposed = true } };
	struct matrix before = matrix_zero(m.db);

	memcpy(before.x, m.db.x, 21 * sizeof(double));
	double_matmul(no_rounding(), view(m.da), view(m.w), view(m.b),
		      (struct matmul_how){ .a_transposed = false });
	double_matmul(no_rounding(), view(m.db), view(m.w), view(m.a),
		      (struct matmul_how){ .a_transposed = true, .accumulate = true });
	for (int i = 0; i < 21; i++)
		m.db.x[i] -= before.x[i];
	compare("matmul a", m.a, m.da, matmul_value, &m);
	compare("matmul b", m.b, m.db, matmul_value, &m);
	free_all(&m.out, offsetof(struct matmul_check, how));
	free(before.x);
}

/* ---- embed ------------------------------------------------------------------------- */

struct embed_check {
	struct matrix out, table, w, dtable;
};

static const int32_t embed_ids[] = { 3, 0, 3, -1, 2, 3, 0 },
		     embed_positions[] = { 0, 1, 2, 3, 0, 1, 40 };

static double embed_value(void *context)
{
	struct embed_check *m = context;

	double_embed(NULL, view(m->out), view(m->table), embed_ids, embed_positions,
		     (struct embed_how){ .scale = 2.5 }, some_dropout(0.3));
	return weighted(m->w, m->out);
}

TEST(ops_grad_embed)
{
	struct embed_check m = { .out = matrix_new(7, 9),
				 .table = matrix_new(5, 9),
				 .w = matrix_new(7, 9) };

	m.dtable = matrix_zero(m.table);
	double_embed_grad(NULL, view(m.dtable), view(m.w), embed_ids, 2.5, some_dropout(0.3));
	compare("embed table", m.table, m.dtable, embed_value, &m);
	free_all(&m.out, sizeof(m));
}

/* ---- norm, add_norm ------------------------------------------------------------------- */

struct norm_check {
	struct matrix x, branch, bias, scale, shift, out, sum, mean, rstd, w, w_sum;
	struct matrix dx, dbranch, dbias, dscale, dshift;
	struct dropout drop;
	bool has_bias;
	struct norm_how how;
};

/* RMS has no shift, NONE has no weights: the checks then pass NULL. */
static double *shift_or_null(const struct norm_check *m, struct matrix x)
{
	return m->how.kind == NORM_LAYER ? x.x : NULL;
}

static struct norm_check norm_new(int64_t rows, int64_t cols, enum norm_kind kind)
{
	struct norm_check m = {
		.x = matrix_new(rows, cols),
		.branch = matrix_new(rows, cols),
		.bias = matrix_new(1, cols),
		.scale = matrix_new(1, cols),
		.shift = matrix_new(1, cols),
		.out = matrix_new(rows, cols),
		.sum = matrix_new(rows, cols),
		.mean = matrix_new(1, rows),
		.rstd = matrix_new(1, rows),
		.w = matrix_new(rows, cols),
		.w_sum = matrix_new(rows, cols),
		.how = { kind, 1e-3 },
	};

	m.dx = matrix_zero(m.x);
	m.dbranch = matrix_zero(m.x);
	m.dbias = matrix_zero(m.bias);
	m.dscale = matrix_zero(m.bias);
	m.dshift = matrix_zero(m.bias);
	return m;
}

static double norm_value(void *context)
{
	struct norm_check *m = context;

	double_norm(NULL, view(m->out), m->mean.x, m->rstd.x, view(m->x), m->scale.x,
		    shift_or_null(m, m->shift), m->how);
	return weighted(m->w, m->out);
}

static void check_norm(enum norm_kind kind)
{
	struct norm_check m = norm_new(4, 11, kind);
	struct matrix twice;

	norm_value(&m);
	double_norm_grad(NULL, view(m.dx), m.dscale.x, shift_or_null(&m, m.dshift), view(m.w),
			 view(m.x), m.mean.x, m.rstd.x, m.scale.x, m.how, false);
	compare("norm x", m.x, m.dx, norm_value, &m);
	if (kind != NORM_NONE)
		compare("norm scale", m.scale, m.dscale, norm_value, &m);
	compare("norm shift", m.shift, m.dshift, norm_value, &m);

	twice = matrix_zero(m.dx);
	norm_value(&m);
	for (int i = 0; i < 2; i++)
		double_norm_grad(NULL, view(twice), m.dscale.x, shift_or_null(&m, m.dshift),
				 view(m.w), view(m.x), m.mean.x, m.rstd.x, m.scale.x, m.how, true);
	for (int i = 0; i < 44; i++)
		check_near(twice.x[i], 2 * m.dx.x[i], 1e-12);
	free(twice.x);
	free_all(&m.x, offsetof(struct norm_check, drop));
}

TEST(ops_grad_norm)
{
	check_norm(NORM_LAYER);
	check_norm(NORM_RMS);
	check_norm(NORM_NONE);
}

static double add_norm_value(void *context)
{
	struct norm_check *m = context;

	double_add_norm(NULL, view(m->sum), view(m->out), m->mean.x, m->rstd.x, view(m->x),
			view(m->branch), m->has_bias ? m->bias.x : NULL, m->scale.x,
			shift_or_null(m, m->shift), m->how, m->drop);
	return weighted(m->w, m->out) + weighted(m->w_sum, m->sum);
}

static void check_add_norm(enum norm_kind kind, bool has_bias, double rate)
{
	struct norm_check m = norm_new(4, 11, kind);

	m.has_bias = has_bias;
	m.drop = some_dropout(rate);
	add_norm_value(&m);
	memcpy(m.dx.x, m.w_sum.x, 44 * sizeof(double));
	double_add_norm_grad(NULL, view(m.dx), view(m.dbranch), has_bias ? m.dbias.x : NULL,
			     m.dscale.x, shift_or_null(&m, m.dshift), view(m.w), view(m.sum),
			     m.mean.x, m.rstd.x, m.scale.x, m.how, m.drop);
	compare("add_norm residual", m.x, m.dx, add_norm_value, &m);
	compare("add_norm branch", m.branch, m.dbranch, add_norm_value, &m);
	if (kind != NORM_NONE)
		compare("add_norm scale", m.scale, m.dscale, add_norm_value, &m);
	compare("add_norm shift", m.shift, m.dshift, add_norm_value, &m);
	if (has_bias)
		compare("add_norm bias", m.bias, m.dbias, add_norm_value, &m);
	free_all(&m.x, offsetof(struct norm_check, drop));
}

TEST(ops_grad_add_norm)
{
	check_add_norm(NORM_LAYER, true, 0.3);
	check_add_norm(NORM_LAYER, true, 0);
	check_add_norm(NORM_LAYER, false, 0.3);
	check_add_norm(NORM_RMS, true, 0.3);
	check_add_norm(NORM_NONE, true, 0.3);
}

/* ---- activations, gates, rotary positions ----------------------------------------------- */

struct activate_check {
	struct matrix x, bias, out, w, dx, dbias;
	enum activation act;
	struct dropout drop;
};

static double activate_value(void *context)
{
	struct activate_check *m = context;

	double_activate(NULL, view(m->out), view(m->x), m->bias.x, m->act, m->drop);
	return weighted(m->w, m->out);
}

static void check_activate(enum activation act, int64_t cols, int64_t wide, double rate)
{
	struct activate_check m = { matrix_new(5, wide),
				    matrix_new(1, wide),
				    matrix_new(5, cols),
				    matrix_new(5, cols),
				    { 0 },
				    { 0 },
				    act,
				    some_dropout(rate) };

	m.dx = matrix_zero(m.x);
	m.dbias = matrix_zero(m.bias);
	activate_value(&m);
	double_activate_grad(NULL, view(m.dx), m.dbias.x, view(m.w), view(m.x), m.bias.x, act,
			     m.drop);
	compare("activate x", m.x, m.dx, activate_value, &m);
	compare("activate bias", m.bias, m.dbias, activate_value, &m);
	free_all(&m.x, offsetof(struct activate_check, act));
}

TEST(ops_grad_activate)
{
	for (enum activation act = 0; act < N_ACTIVATIONS; act++) {
		check_activate(act, 7, 7, 0.3);
		check_activate(act, 7, 14, 0);
		check_activate(act, 7, 14, 0.3);
	}
}

/* Turning back undoes a turn; the gradient of a turn is the turn back. */
TEST(ops_grad_rotate)
{
	struct matrix x = matrix_new(5, 12), before = matrix_zero(x), waves = matrix_new(9, 4);
	const int32_t positions[] = { 0, 3, 8, 1, 3 };

	for (int64_t i = 0; i < 18; i++) {
		double angle = waves.x[i];

		waves.x[i / 2 * 4 + i % 2] = cos(angle);
		waves.x[i / 2 * 4 + 2 + i % 2] = sin(angle);
	}
	memcpy(before.x, x.x, 60 * sizeof(double));
	double_rotate(NULL, view(x), view(waves), positions, 3, false);
	check(fabs(x.x[13] - before.x[13]) > 1e-6);
	double_rotate(NULL, view(x), view(waves), positions, 3, true);
	for (int64_t i = 0; i < 60; i++)
		check_near(x.x[i], before.x[i], 1e-12);
	free(x.x);
	free(before.x);
	free(waves.x);
}

struct ssru_check {
	struct matrix x, bias, out, state, w, dx, dbias;
	const int32_t *start;
};

static double ssru_value(void *context)
{
	struct ssru_check *m = context;

	double_ssru(NULL, view(m->out), view(m->state), view(m->x), m->bias.x, m->start, 3, 5);
	return weighted(m->w, m->out);
}

TEST(ops_grad_ssru)
{
	static const int32_t start[] = { 0, 5, 5, 8 };
	struct ssru_check m = { matrix_new(8, 6),
				matrix_new(1, 3),
				matrix_new(8, 3),
				matrix_new(8, 3),
				matrix_new(8, 3),
				{ 0 },
				{ 0 },
				start };

	m.dx = matrix_zero(m.x);
	m.dbias = matrix_zero(m.bias);
	ssru_value(&m);
	double_ssru_grad(NULL, view(m.dx), m.dbias.x, view(m.w), view(m.state), view(m.x), m.bias.x,
			 start, 3, 5);
	compare("ssru x", m.x, m.dx, ssru_value, &m);
	compare("ssru bias", m.bias, m.dbias, ssru_value, &m);
	free_all(&m.x, offsetof(struct ssru_check, start));
}

/* ---- relu ------------------------------------------------------------------------------- */

struct relu_check {
	struct matrix x, bias, y, w, dx, dbias;
	struct dropout drop;
};

static double relu_value(void *context)
{
	struct relu_check *m = context;

	memcpy(m->y.x, m->x.x, (size_t)(m->x.rows * m->x.cols) * sizeof(double));
	double_relu_dropout(NULL, view(m->y), m->bias.x, m->drop);
	return weighted(m->w, m->y);
}

TEST(ops_grad_relu_dropout)
{
	for (int i = 0; i < 2; i++) {
		struct relu_check m = { .x = matrix_new(6, 13),
					.bias = matrix_new(1, 13),
					.y = matrix_new(6, 13),
					.w = matrix_new(6, 13),
					.dx = matrix_new(6, 13),
					.drop = some_dropout(0.3 * i) };

		m.dbias = matrix_zero(m.bias);
		relu_value(&m);
		memcpy(m.dx.x, m.w.x, 78 * sizeof(double));
		double_relu_dropout_grad(NULL, view(m.dx), m.dbias.x, view(m.y), m.drop);
		compare("relu_dropout x", m.x, m.dx, relu_value, &m);
		compare("relu_dropout bias", m.bias, m.dbias, relu_value, &m);
		free_all(&m.x, offsetof(struct relu_check, drop));
	}
}

/* ---- attention ---------------------------------------------------------------------------- */

struct attention_check {
	struct matrix q, k, v, out, lse, w, dq, dk, dv;
	struct attention_shape shape;
	struct dropout drop;
};

static double attention_value(void *context)
{
	struct attention_check *m = context;

	double_attention(NULL, view(m->out), m->lse.x, view(m->q), view(m->k), view(m->v), m->shape,
			 m->drop);
	return weighted(m->w, m->out);
}

static void check_attention(const int32_t *q_start, const int32_t *k_start, int32_t n, bool causal,
			    double rate)
{
	int64_t heads = 3, cols = 12;
	struct attention_check m = {
		.q = matrix_new(q_start[n], cols),
		.k = matrix_new(k_start[n], cols),
		.v = matrix_new(k_start[n], cols),
		.out = matrix_new(q_start[n], cols),
		.lse = matrix_new(q_start[n], heads),
		.w = matrix_new(q_start[n], cols),
		.dq = matrix_new(q_start[n], cols),
		.dk = matrix_new(k_start[n], cols),
		.dv = matrix_new(k_start[n], cols),
		.shape = { .q_start = q_start,
			   .k_start = k_start,
			   .n = n,
			   .heads = (int32_t)heads,
			   .max_q = 5,
			   .max_k = 7,
			   .causal = causal },
		.drop = some_dropout(rate),
	};

	attention_value(&m);
	double_attention_grad(NULL, view(m.dq), view(m.dk), view(m.dv), view(m.w), view(m.out),
			      m.lse.x, view(m.q), view(m.k), view(m.v), m.shape, m.drop);
	compare("attention q", m.q, m.dq, attention_value, &m);
	compare("attention k", m.k, m.dk, attention_value, &m);
	compare("attention v", m.v, m.dv, attention_value, &m);
	free_all(&m.q, offsetof(struct attention_check, shape));
}

TEST(ops_grad_attention)
{
	static const int32_t short_side[] = { 0, 1, 4, 9 }, long_side[] = { 0, 7, 9, 10 };

	check_attention(short_side, short_side, 3, false, 0);
	check_attention(short_side, short_side, 3, false, 0.3);
	check_attention(short_side, short_side, 3, true, 0.3);
	check_attention(short_side, long_side, 3, false, 0.3);
}

/* ---- cross entropy -------------------------------------------------------------------------- */

struct loss_check {
	struct matrix logits, loss, nll, grad, copy;
	double smoothing;
};

static const int32_t loss_targets[] = { 2, 0, 8, 8, 5 };

static double loss_value(void *context)
{
	struct loss_check *m = context;
	double sum = 0;

	double_cross_entropy(NULL, view(m->grad), m->loss.x, m->nll.x, view(m->logits),
			     loss_targets, 9, m->smoothing, 0);
	for (int t = 0; t < 5; t++)
		sum += 0.25 * m->loss.x[t];
	return sum;
}

TEST(ops_grad_cross_entropy)
{
	for (int i = 0; i < 2; i++) {
		struct loss_check m = { .logits = matrix_new(5, 12),
					.loss = matrix_new(1, 5),
					.nll = matrix_new(1, 5),
					.grad = matrix_new(5, 12),
					.smoothing = 0.1 * i };

		m.copy = matrix_zero(m.logits);
		memcpy(m.grad.x, m.logits.x, 60 * sizeof(double));
		memcpy(m.copy.x, m.logits.x, 60 * sizeof(double));
		/* in place, and not in place */
		double_cross_entropy(NULL, view(m.grad), m.loss.x, m.nll.x,
				     view(i ? m.logits : m.grad), loss_targets, 9, m.smoothing,
				     0.25);
		compare("cross_entropy logits", m.logits, m.grad, loss_value, &m);
		for (int t = 0; t < 5 && i == 0; t++)
			check_near(m.loss.x[t], m.nll.x[t], 1e-12);
		check(memcmp(m.copy.x, m.logits.x, 60 * sizeof(double)) == 0);
		free_all(&m.logits, offsetof(struct loss_check, smoothing));
	}
}

struct pair_check {
	struct matrix a, b, loss, nll, da, db;
	double smoothing, weight;
};

static double pair_loss_value(void *context)
{
	struct pair_check *m = context;
	double sum = 0;

	double_cross_entropy_pairs(NULL, view(m->da), view(m->db), m->loss.x, m->nll.x, view(m->a),
				   view(m->b), loss_targets, 9, m->smoothing, m->weight, 0);
	for (int t = 0; t < 5; t++)
		sum += 0.25 * m->loss.x[t];
	return sum;
}

TEST(ops_grad_cross_entropy_pairs)
{
	for (int i = 0; i < 3; i++) {
		struct pair_check m = { .a = matrix_new(5, 12),
					.b = matrix_new(5, 12),
					.loss = matrix_new(1, 5),
					.nll = matrix_new(1, 5),
					.da = matrix_new(5, 12),
					.db = matrix_new(5, 12),
					.smoothing = 0.1 * (i > 0),
					.weight = 3.0 * i };

		double_cross_entropy_pairs(NULL, view(m.da), view(m.db), m.loss.x, m.nll.x,
					   view(m.a), view(m.b), loss_targets, 9, m.smoothing,
					   m.weight, 0.25);
		compare("cross_entropy_pairs a", m.a, m.da, pair_loss_value, &m);
		compare("cross_entropy_pairs b", m.b, m.db, pair_loss_value, &m);
		free_all(&m.a, offsetof(struct pair_check, smoothing));
	}
}

/* Two predictions p and q of two classes: the mean of both entropies, and half the weight times the divergence. */
TEST(ops_cross_entropy_pairs_values)
{
	const double p[2] = { 0.75, 0.25 }, q[2] = { 0.5, 0.5 },
		     pq = p[0] * log(p[0] / q[0]) + p[1] * log(p[1] / q[1]),
		     qp = q[0] * log(q[0] / p[0]) + q[1] * log(q[1] / p[1]);
	double x[2] = { log(p[0]) + 3, log(p[1]) + 3 }, y[2] = { log(q[0]), log(q[1]) }, loss, nll;
	int32_t target = 1;
	struct tensor a = { x, 1, 2, 2, DTYPE_F32 }, b = { y, 1, 2, 2, DTYPE_F32 };

	double_cross_entropy_pairs(NULL, a, b, &loss, &nll, a, b, &target, 2, 0, 5, 0);
	check_near(nll, -(log(p[1]) + log(q[1])) / 2, 1e-12);
	check_near(loss, nll + 5.0 / 2 * (pq + qp) / 2, 1e-12);
	double_cross_entropy_pairs(NULL, a, a, &loss, &nll, a, a, &target, 2, 0, 5, 0);
	check_near(loss, nll, 1e-12);
}

/*
 * A uniform prediction over n costs log n with any smoothing; a certain and right prediction costs only
 * the smoothing.
 */
TEST(ops_cross_entropy_values)
{
	double x[8] = { 0 }, loss, nll;
	int32_t target = 3;
	struct tensor logits = { x, 1, 8, 8, DTYPE_F32 };

	double_cross_entropy(NULL, logits, &loss, &nll, logits, &target, 8, 0.1, 0);
	check_near(loss, log(8), 1e-12);
	check_near(nll, log(8), 1e-12);
	x[3] = 50;
	double_cross_entropy(NULL, logits, &loss, &nll, logits, &target, 8, 0.1, 0);
	check_near(nll, 0, 1e-12);
	check_near(loss, 0.1 * 50 * 7 / 8, 1e-9);
}

/* Adam as in the paper, with bias-corrected moments; epsilon is negligible here. */
TEST(ops_adam_values)
{
	double param = 0.5, m = 0, v = 0, m_paper = 0, v_paper = 0, want = 0.5,
	       grads[] = { 0.3, -0.2, 0.7, 0.1 };

	for (int t = 1; t <= 4; t++) {
		double g = grads[t - 1];
		struct adam_step s = { .rate = 0.01,
				       .beta1 = 0.9,
				       .beta2 = 0.98,
				       .epsilon = 1e-14,
				       .correction1 = 1 - pow(0.9, t),
				       .correction2 = 1 - pow(0.98, t),
				       .grad_scale = 0.5 };
		double twice = 2 * g;

		double_adam(NULL, &param, &m, &v, &twice, 1, s);
		m_paper = 0.9 * m_paper + 0.1 * g;
		v_paper = 0.98 * v_paper + 0.02 * g * g;
		want -= 0.01 * (m_paper / (1 - pow(0.9, t))) / sqrt(v_paper / (1 - pow(0.98, t)));
		check_near(param, want, 1e-11);
	}
}
