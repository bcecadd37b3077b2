/* ops_list.c - a function for each op that creates its operands and calls it; see ops_list.h */
#include "tests/kernels/ops_list.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/ops/panels.h"
#include "tests/test.h"

#define MAX_INTS 5000

/* ---- how each op is called ---------------------------------------------------- */

/*
 * out (rows, cols), inner dimension third. HALF_CACHE: as in training, weights and their gradients are
 * floats, activations bf16.
 */
static void run_matmul(struct run *r, const struct op_case *c)
{
	struct matmul_how how = { c->flags & A_TRANSPOSED, c->flags & B_TRANSPOSED,
				  c->flags & ACCUMULATE };
	const enum role role = how.accumulate ? CHANGED : OUTPUT;
	struct tensor out = how.a_transposed ? run_tensor(r, role, c->rows, c->cols)
					     : run_halves(r, role, c->rows, c->cols);
	struct tensor a = how.a_transposed ? run_halves(r, INPUT, c->third, c->rows)
					   : run_halves(r, INPUT, c->rows, c->third);
	struct tensor b = how.b_transposed   ? run_tensor(r, INPUT, c->cols, c->third)
			  : how.a_transposed ? run_halves(r, INPUT, c->third, c->cols)
					     : run_tensor(r, INPUT, c->third, c->cols);

	r->ops->matmul(r->dev, out, a, b, how);
}

/* The packed tensor of a case; fourth: elements of a unit. */
static struct tensor packed_tensor(struct run *r, const struct op_case *c)
{
	struct tensor packed = { NULL, c->cols, c->third, 0,
				 c->fourth == 4	  ? DTYPE_PACKED_INT8
				 : c->fourth == 2 ? DTYPE_PACKED_BF16
						  : DTYPE_PACKED_F32 };
	size_t bytes;

	if (!panel_bytes(packed, &bytes))
		abort();
	packed.data = run_ints(r, NULL, (int64_t)(bytes / sizeof(int32_t)));
	return packed;
}

static void run_pack(struct run *r, const struct op_case *c)
{
	struct tensor b = run_tensor(r, INPUT, c->cols, c->third);

	r->ops->pack(r->dev, packed_tensor(r, c), b);
}

/*
 * out (rows, cols), inner dimension third; ACCUMULATE here means relu. fourth 0: weights are not
 * packed; HALF_CACHE: weights and input are bf16; CROSS: the weights alone.
 */
static void run_linear(struct run *r, const struct op_case *c)
{
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols);
	struct tensor a = c->flags & CROSS ? run_tensor(r, INPUT, c->rows, c->third)
					   : run_halves(r, INPUT, c->rows, c->third);
	struct tensor b = run_halves(r, INPUT, c->cols, c->third),
		      weight = c->fourth ? packed_tensor(r, c) : b;
	float *bias = c->flags & NO_BIAS ? NULL : run_floats(r, INPUT, c->cols);

	if (c->fourth)
		r->ops->pack(r->dev, weight, b);
	r->ops->linear(r->dev, out, a, weight, bias, c->flags & ACCUMULATE);
}

/* cols outputs, two of them padding; k = 7, or all. */
static void run_linear_top_k(struct run *r, const struct op_case *c)
{
	int64_t n_real = MAX(1, c->cols - 2), k = MIN(7, n_real);
	float *values = run_floats(r, OUTPUT, c->rows * k);
	int32_t *ids = run_ints(r, NULL, c->rows * k);
	struct tensor a = run_tensor(r, INPUT, c->rows, c->third);
	struct tensor b = run_tensor(r, INPUT, c->cols, c->third), packed = packed_tensor(r, c);

	r->ops->pack(r->dev, packed, b);
	r->ops->linear_top_k(r->dev, values, ids, a, packed,
			     c->flags & HAS_BIAS ? run_floats(r, INPUT, packed.rows) : NULL, n_real,
			     (int32_t)k);
}

/* HAS_BIAS: positions are rows of a table. NO_NORM: without positions. */
static struct embed_how embed_how_of(struct run *r, const struct op_case *c)
{
	struct embed_how how = { .scale = sqrtf((float)c->cols) };

	if (c->flags & HAS_BIAS) {
		how.kind = POSITION_TABLE;
		how.positions =
			tensor_f32(run_floats(r, INPUT, c->fourth * c->cols), c->fourth, c->cols);
	} else if (c->flags & NO_NORM) {
		how.kind = POSITION_NONE;
	}
	return how;
}

/* rows tokens, vocabulary third, some ids -1; positions up to fourth. */
static int32_t *random_ids(struct run *r, const struct op_case *c)
{
	int32_t ids[MAX_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		ids[t] = (int32_t)run_random(r, (uint64_t)t, (uint32_t)c->third + 1) - 1;
	return run_ints(r, ids, c->rows);
}

static void run_embed(struct run *r, const struct op_case *c)
{
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols),
		      table = run_tensor(r, INPUT, c->third, c->cols);
	int32_t *ids = random_ids(r, c), positions[MAX_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		positions[t] = (int32_t)(t % c->fourth);
	r->ops->embed(r->dev, out, table, ids, run_ints(r, positions, c->rows), embed_how_of(r, c),
		      run_dropout(r));
}

static void run_embed_grad(struct run *r, const struct op_case *c)
{
	struct tensor dtable = run_tensor(r, CHANGED, c->third, c->cols),
		      dout = run_tensor(r, INPUT, c->rows, c->cols);

	r->ops->embed_grad(r->dev, dtable, dout, random_ids(r, c), 2.5f, run_dropout(r));
}

static struct norm_how norm_how_of(const struct op_case *c)
{
	return (struct norm_how){ c->flags & RMS       ? NORM_RMS
				  : c->flags & NO_NORM ? NORM_NONE
						       : NORM_LAYER,
				  1e-5f };
}

/* n floats of each row or column; NULL for a norm that has none. */
static float *norm_floats(struct run *r, const struct op_case *c, enum role role, int64_t n)
{
	return c->flags & NO_NORM ? NULL : run_floats(r, role, n);
}

static float *shift_floats(struct run *r, const struct op_case *c, enum role role)
{
	return c->flags & (NO_NORM | RMS) ? NULL : run_floats(r, role, c->cols);
}

/* Means, which are 0 with NORM_RMS: the gradient subtracts them. */
static float *mean_floats(struct run *r, const struct op_case *c)
{
	float *mean = norm_floats(r, c, c->flags & RMS ? CHANGED : INPUT, c->rows);

	if (c->flags & RMS)
		r->ops->zero(r->dev, mean, (size_t)c->rows * sizeof(*mean));
	return mean;
}

static void run_norm(struct run *r, const struct op_case *c)
{
	struct tensor out = run_halves(r, OUTPUT, c->rows, c->cols),
		      x = run_tensor(r, INPUT, c->rows, c->cols);
	float *mean = norm_floats(r, c, OUTPUT, c->rows),
	      *rstd = norm_floats(r, c, OUTPUT, c->rows),
	      *scale = norm_floats(r, c, INPUT, c->cols);

	r->ops->norm(r->dev, out, mean, rstd, x, scale, shift_floats(r, c, INPUT), norm_how_of(c));
}

static void run_norm_grad(struct run *r, const struct op_case *c)
{
	bool accumulate = c->flags & ACCUMULATE;
	struct tensor dx = run_tensor(r, accumulate ? CHANGED : OUTPUT, c->rows, c->cols);
	struct tensor dout = run_halves(r, INPUT, c->rows, c->cols),
		      x = run_tensor(r, INPUT, c->rows, c->cols);
	float *dscale = norm_floats(r, c, CHANGED, c->cols), *dshift = shift_floats(r, c, CHANGED),
	      *mean = mean_floats(r, c), *rstd = norm_floats(r, c, INPUT, c->rows);

	r->ops->norm_grad(r->dev, dx, dscale, dshift, dout, x, mean, rstd,
			  norm_floats(r, c, INPUT, c->cols), norm_how_of(c), accumulate);
}

static void run_add_norm(struct run *r, const struct op_case *c)
{
	bool in_place = c->flags & IN_PLACE;
	struct tensor sum = run_tensor(r, in_place ? CHANGED : OUTPUT, c->rows, c->cols);
	struct tensor out = run_halves(r, c->flags & CROSS ? CHANGED : OUTPUT, c->rows, c->cols);
	/* CROSS: post-norm, the residual is a norm's output, here out itself */
	struct tensor residual = in_place	    ? sum
				 : c->flags & CROSS ? out
						    : run_tensor(r, INPUT, c->rows, c->cols);
	struct tensor branch = run_halves(r, INPUT, c->rows, c->cols);
	float *mean = norm_floats(r, c, OUTPUT, c->rows),
	      *rstd = norm_floats(r, c, OUTPUT, c->rows);
	float *bias = c->flags & NO_BIAS ? NULL : run_floats(r, INPUT, c->cols);

	float *scale = norm_floats(r, c, INPUT, c->cols);

	r->ops->add_norm(r->dev, sum, out, mean, rstd, residual, branch, bias, scale,
			 shift_floats(r, c, INPUT), norm_how_of(c), run_dropout(r));
}

static void run_add_norm_grad(struct run *r, const struct op_case *c)
{
	struct tensor dsum = run_tensor(r, CHANGED, c->rows, c->cols),
		      dbranch = run_halves(r, OUTPUT, c->rows, c->cols);
	struct tensor dout = run_halves(r, INPUT, c->rows, c->cols),
		      sum = run_tensor(r, INPUT, c->rows, c->cols);
	float *dbias = c->flags & NO_BIAS ? NULL : run_floats(r, CHANGED, c->cols);
	float *dscale = norm_floats(r, c, CHANGED, c->cols), *dshift = shift_floats(r, c, CHANGED),
	      *mean = mean_floats(r, c), *rstd = norm_floats(r, c, INPUT, c->rows);

	r->ops->add_norm_grad(r->dev, dsum, dbranch, dbias, dscale, dshift, dout, sum, mean, rstd,
			      norm_floats(r, c, INPUT, c->cols), norm_how_of(c), run_dropout(r));
}

static void run_relu_dropout(struct run *r, const struct op_case *c)
{
	struct tensor x = run_tensor(r, CHANGED, c->rows, c->cols);

	r->ops->relu_dropout(r->dev, x, run_floats(r, INPUT, c->cols), run_dropout(r));
}

static void run_relu_dropout_grad(struct run *r, const struct op_case *c)
{
	struct tensor dx = run_tensor(r, CHANGED, c->rows, c->cols);
	float *dbias = run_floats(r, CHANGED, c->cols);

	r->ops->relu_dropout_grad(r->dev, dx, dbias, run_tensor(r, INPUT, c->rows, c->cols),
				  run_dropout(r));
}

/* third: the activation. CROSS: a gate. IN_PLACE: out is x, dx is dout. */
static void run_activate(struct run *r, const struct op_case *c)
{
	const int64_t cols = c->flags & CROSS ? 2 * c->cols : c->cols;
	const bool in_place = c->flags & IN_PLACE;
	struct tensor x = run_tensor(r, in_place ? CHANGED : INPUT, c->rows, cols),
		      out = in_place ? x : run_tensor(r, OUTPUT, c->rows, c->cols);

	r->ops->activate(r->dev, out, x, c->flags & NO_BIAS ? NULL : run_floats(r, INPUT, cols),
			 (enum activation)c->third, run_dropout(r));
}

static void run_activate_grad(struct run *r, const struct op_case *c)
{
	const int64_t cols = c->flags & CROSS ? 2 * c->cols : c->cols;
	const bool in_place = c->flags & IN_PLACE;
	struct tensor dout = run_tensor(r, in_place ? CHANGED : INPUT, c->rows, c->cols),
		      dx = in_place ? dout : run_tensor(r, OUTPUT, c->rows, cols),
		      x = run_tensor(r, INPUT, c->rows, cols);
	float *bias = c->flags & NO_BIAS ? NULL : run_floats(r, INPUT, cols),
	      *dbias = c->flags & NO_BIAS ? NULL : run_floats(r, CHANGED, cols);

	r->ops->activate_grad(r->dev, dx, dbias, dout, x, bias, (enum activation)c->third,
			      run_dropout(r));
}

static void run_column_sums(struct run *r, const struct op_case *c)
{
	float *sums = run_floats(r, CHANGED, c->cols);

	r->ops->column_sums(r->dev, sums, run_tensor(r, INPUT, c->rows, c->cols));
}

/* third heads, positions up to fourth */
static void run_rotate(struct run *r, const struct op_case *c)
{
	const int64_t width = c->cols / c->third;
	struct tensor x = run_tensor(r, CHANGED, c->rows, c->cols),
		      waves = tensor_f32(run_floats(r, INPUT, c->fourth * width), c->fourth, width);
	int32_t positions[MAX_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		positions[t] = (int32_t)(t * 7 % c->fourth);
	r->ops->rotate(r->dev, x, waves, run_ints(r, positions, c->rows), (int32_t)c->third,
		       c->flags & BACK);
}

/* GAPS: has sentence s no rows on this side (0: queries, 1: keys)? */
static bool is_gap(const struct op_case *c, int side, int64_t s)
{
	return c->flags & GAPS && (s % 5 == 4 || (c->flags & CROSS && s % 5 == 3 - side));
}

/* rows sentences of up to third tokens, fourth heads; the first sentence has one token. */
static struct attention_shape random_sentences(struct run *r, const struct op_case *c,
					       int64_t *q_rows, int64_t *k_rows)
{
	int32_t start[2][MAX_INTS] = { { 0 } }, longest[2] = { 0 }, *given[2];
	int64_t n = c->rows;

	for (int side = 0; side < 2; side++) {
		for (int64_t s = 0; s < n; s++) {
			int32_t length = (int32_t)run_random(r, (uint64_t)(side * n + s),
							     (uint32_t)c->third) +
					 1;

			length = s == 0 ? 1 : s == 1 ? (int32_t)c->third : length;
			if (side == 1 && !(c->flags & CROSS))
				length = start[0][s + 1] - start[0][s];
			if (is_gap(c, side, s))
				length = 0;
			start[side][s + 1] = start[side][s] + length;
			longest[side] = MAX(longest[side], length);
		}
		given[side] = run_ints(r, start[side], n + 1);
	}
	*q_rows = start[0][n];
	*k_rows = start[1][n];
	return (struct attention_shape){ .q_start = given[0],
					 .k_start = given[1],
					 .n = (int32_t)n,
					 .heads = (int32_t)c->fourth,
					 .max_q = longest[0],
					 .max_k = longest[1],
					 .causal = c->flags & CAUSAL };
}

/* rows sentences of up to third tokens, every fifth one without any */
static struct attention_shape ssru_sentences(struct run *r, const struct op_case *c, int64_t *rows)
{
	struct op_case as_attention = *c;
	int64_t keys;

	as_attention.flags = c->flags | GAPS;
	as_attention.fourth = 1;
	return random_sentences(r, &as_attention, rows, &keys);
}

static void run_ssru(struct run *r, const struct op_case *c)
{
	int64_t rows;
	const struct attention_shape s = ssru_sentences(r, c, &rows);
	struct tensor out = run_halves(r, OUTPUT, rows, c->cols),
		      x = run_halves(r, INPUT, rows, 2 * c->cols),
		      state = tensor_f32(run_floats(r, OUTPUT, rows * c->cols), rows, c->cols);

	r->ops->ssru(r->dev, out, state, x, run_floats(r, INPUT, c->cols), s.q_start, s.n, s.max_q);
}

static void run_ssru_grad(struct run *r, const struct op_case *c)
{
	int64_t rows;
	const struct attention_shape s = ssru_sentences(r, c, &rows);
	struct tensor dx = run_halves(r, OUTPUT, rows, 2 * c->cols),
		      dout = run_halves(r, INPUT, rows, c->cols),
		      x = run_halves(r, INPUT, rows, 2 * c->cols),
		      state = tensor_f32(run_floats(r, INPUT, rows * c->cols), rows, c->cols);
	float *dbias = run_floats(r, CHANGED, c->cols);

	r->ops->ssru_grad(r->dev, dx, dbias, dout, state, x, run_floats(r, INPUT, c->cols),
			  s.q_start, s.n, s.max_q);
}

/* The states: rows that are read, then rows that are written. Every third row has no state. */
static void run_ssru_step(struct run *r, const struct op_case *c)
{
	struct tensor out = run_halves(r, OUTPUT, c->rows, c->cols),
		      x = run_tensor(r, INPUT, c->rows, 2 * c->cols),
		      states = tensor_f32(run_floats(r, CHANGED, 2 * c->rows * (c->cols + 3)),
					  2 * c->rows, c->cols);
	int32_t from[MAX_INTS], to[MAX_INTS];

	states.stride += 3;
	for (int32_t i = 0; i < c->rows; i++) {
		from[i] = i % 3 == 2 ? -1 : (int32_t)(c->rows - 1 - i);
		to[i] = (int32_t)c->rows + i;
	}
	r->ops->ssru_step(r->dev, out, states, x, run_floats(r, INPUT, c->cols),
			  run_ints(r, from, c->rows), run_ints(r, to, c->rows));
}

static void run_attention(struct run *r, const struct op_case *c)
{
	int64_t q_rows, k_rows;
	struct attention_shape shape = random_sentences(r, c, &q_rows, &k_rows);
	struct tensor out = run_tensor(r, OUTPUT, q_rows, c->cols),
		      q = run_tensor(r, INPUT, q_rows, c->cols);
	struct tensor k = run_tensor(r, INPUT, k_rows, c->cols),
		      v = run_tensor(r, INPUT, k_rows, c->cols);

	r->ops->attention(r->dev, out, run_floats(r, OUTPUT, q_rows * c->fourth), q, k, v, shape,
			  run_dropout(r));
}

static void run_attention_grad(struct run *r, const struct op_case *c)
{
	int64_t q_rows, k_rows;
	struct attention_shape shape = random_sentences(r, c, &q_rows, &k_rows);
	struct tensor dq = run_tensor(r, OUTPUT, q_rows, c->cols),
		      dk = run_tensor(r, OUTPUT, k_rows, c->cols);
	struct tensor dv = run_tensor(r, OUTPUT, k_rows, c->cols),
		      dout = run_tensor(r, INPUT, q_rows, c->cols);
	struct tensor q = run_tensor(r, INPUT, q_rows, c->cols),
		      k = run_tensor(r, INPUT, k_rows, c->cols);
	struct tensor v = run_tensor(r, INPUT, k_rows, c->cols),
		      out = run_tensor(r, OUTPUT, q_rows, c->cols);
	float *lse = run_floats(r, OUTPUT, q_rows * c->fourth);

	struct dropout drop = run_dropout(r);

	r->ops->attention(r->dev, out, lse, q, k, v, shape, drop);
	r->ops->attention_grad(r->dev, dq, dk, dv, dout, out, lse, q, k, v, shape, drop);
}

/* third: real columns; without ACCUMULATE no gradient; HALF_CACHE: the gradient is not in place. */
static void run_cross_entropy(struct run *r, const struct op_case *c)
{
	const bool apart = c->flags & HALF_CACHE, gradient = c->flags & ACCUMULATE;
	const enum role role = gradient && !apart ? CHANGED : INPUT;
	struct tensor logits = run_tensor(r, role, c->rows, c->cols),
		      dlogits = apart ? run_halves(r, OUTPUT, c->rows, c->cols) : logits;
	float *loss = run_floats(r, OUTPUT, c->rows), *nll = run_floats(r, OUTPUT, c->rows);
	int32_t targets[MAX_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		targets[t] = c->flags & GAPS && t % 3 == 1
				     ? -1
				     : (int32_t)run_random(r, (uint64_t)t, (uint32_t)c->third);
	r->ops->cross_entropy(r->dev, dlogits, loss, nll, logits, run_ints(r, targets, c->rows),
			      c->third, c->dropout, gradient ? 100.0f : 0);
}

/* As run_cross_entropy(). */
static void run_cross_entropy_pairs(struct run *r, const struct op_case *c)
{
	const bool apart = c->flags & HALF_CACHE, gradient = c->flags & ACCUMULATE;
	const enum role role = gradient && !apart ? CHANGED : INPUT;
	struct tensor a = run_tensor(r, role, c->rows, c->cols),
		      b = run_tensor(r, role, c->rows, c->cols),
		      da = apart ? run_halves(r, OUTPUT, c->rows, c->cols) : a,
		      db = apart ? run_halves(r, OUTPUT, c->rows, c->cols) : b;
	float *loss = run_floats(r, OUTPUT, c->rows), *nll = run_floats(r, OUTPUT, c->rows);
	int32_t targets[MAX_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		targets[t] = c->flags & GAPS && t % 3 == 1
				     ? -1
				     : (int32_t)run_random(r, (uint64_t)t, (uint32_t)c->third);
	r->ops->cross_entropy_pairs(r->dev, da, db, loss, nll, a, b, run_ints(r, targets, c->rows),
				    c->third, c->dropout, 5, gradient ? 100.0f : 0);
}

/* HALF_CACHE: y is bf16; with CROSS x instead. */
static void run_add(struct run *r, const struct op_case *c)
{
	const bool x_is_half = c->flags & CROSS;
	struct tensor x = x_is_half ? run_halves(r, CHANGED, c->rows, c->cols)
				    : run_tensor(r, CHANGED, c->rows, c->cols);

	r->ops->add(r->dev, x,
		    x_is_half ? run_tensor(r, INPUT, c->rows, c->cols)
			      : run_halves(r, INPUT, c->rows, c->cols));
}

static void run_zero(struct run *r, const struct op_case *c)
{
	r->ops->zero(r->dev, run_floats(r, CHANGED, c->cols), (size_t)c->cols * sizeof(float));
}

static void run_sum_squares(struct run *r, const struct op_case *c)
{
	const double before = 7;
	double *out = run_doubles(r, &before, 1);

	r->ops->sum_squares(r->dev, out, run_floats(r, INPUT, c->cols), c->cols);
}

/* A number in device memory that is not compared. */
static const double *run_number(struct run *r, double x)
{
	int32_t bits[2];

	memcpy(bits, &x, sizeof(bits));
	return (const double *)(const void *)run_ints(r, bits, 2);
}

static void run_row_sums(struct run *r, const struct op_case *c)
{
	const double before[] = { 3, -5, 0.25, 1000 };

	r->ops->row_sums(r->dev, run_doubles(r, before, c->rows),
			 run_tensor(r, INPUT, c->rows, c->cols));
}

/* To bf16 with HALF_CACHE. */
static void run_copy(struct run *r, const struct op_case *c)
{
	struct tensor out = run_halves(r, OUTPUT, c->rows, c->cols);

	r->ops->copy(r->dev, out, run_tensor(r, INPUT, c->rows, c->cols));
}

/*
 * HALF_CACHE: with a bf16 copy. third: 0 no sums in device memory; 1 clip to a tenth of the norm; 2 clip
 * above the norm; 3, 4 squares, loss not finite; 5 as 2, divided by three tokens. fourth: weight decay.
 */
static void run_adam(struct run *r, const struct op_case *c)
{
	struct adam_step step = { .rate = 0.01f,
				  .beta1 = 0.9f,
				  .beta2 = 0.98f,
				  .epsilon = 1e-9f,
				  .correction1 = 0.271f,
				  .correction2 = 0.0588f,
				  .decay = c->fourth ? 0.02f : 0,
				  .grad_scale = 0.7 };
	const double squares = c->third == 3 ? INFINITY : (double)c->cols,
		     loss = c->third == 4 ? NAN : 2.5;
	float *param = run_floats(r, CHANGED, c->cols), *m = run_floats(r, CHANGED, c->cols);
	struct tensor v = run_tensor(r, CHANGED, 1, c->cols);

	if (c->flags & HALF_CACHE)
		step.bf16_params = run_halves(r, CHANGED, 1, c->cols).data;
	if (c->third) {
		step.clip = sqrt(squares) * (c->third == 2 || c->third == 5 ? 0.71 : 0.07);
		step.squares = run_number(r, squares);
		step.loss = run_number(r, loss);
		if (c->third == 5)
			step.tokens = run_number(r, 3);
	}
	/* second moments are squares: never negative */
	r->ops->zero(r->dev, v.data, (size_t)c->cols * sizeof(float));
	for (int i = 0; i < 3; i++)
		r->ops->adam(r->dev, param, m, v.data, run_floats(r, INPUT, c->cols), c->cols,
			     step);
}

static void run_scale(struct run *r, const struct op_case *c)
{
	r->ops->scale(r->dev, run_floats(r, CHANGED, c->cols), c->cols, 1.0f / 3);
}

static void run_blend(struct run *r, const struct op_case *c)
{
	float *x = run_floats(r, CHANGED, c->cols);

	r->ops->blend(r->dev, x, run_floats(r, INPUT, c->cols), c->cols, 0.125f);
}

/* rows rows attend to up to third of 3 * rows cache rows, fourth heads. */
static void run_attention_step(struct run *r, const struct op_case *c)
{
	int64_t n_cache = 3 * c->rows, stride = c->third + 3;
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols),
		      q = run_tensor(r, INPUT, c->rows, c->cols);
	struct tensor k = run_halves(r, INPUT, n_cache, c->cols),
		      v = run_halves(r, INPUT, n_cache, c->cols);
	float *weights = c->flags & NO_BIAS ? NULL : run_floats(r, OUTPUT, c->rows * stride);
	int32_t index[MAX_INTS], length[MAX_INTS];

	assert(c->rows * stride <= MAX_INTS);
	for (int64_t i = 0; i < c->rows * stride; i++)
		index[i] = (int32_t)run_random(r, (uint64_t)i, (uint32_t)n_cache);
	for (int64_t i = 0; i < c->rows; i++)
		length[i] = i == 0 ? (int32_t)c->third
				   : (int32_t)run_random(r, (uint64_t)i, (uint32_t)c->third) + 1;
	r->ops->attention_step(r->dev, out, weights, q, k, v, run_ints(r, index, c->rows * stride),
			       run_ints(r, length, c->rows), stride, (int32_t)c->fourth);
}

static void run_gather_rows(struct run *r, const struct op_case *c)
{
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols),
		      x = run_tensor(r, INPUT, c->third, c->cols);
	int32_t index[MAX_INTS];

	for (int64_t i = 0; i < c->rows; i++)
		index[i] = (int32_t)run_random(r, (uint64_t)i, (uint32_t)c->third);
	r->ops->gather_rows(r->dev, out, x, run_ints(r, index, c->rows));
}

/* Row i goes to row (7 i + 3) % third; third is no multiple of 7; other rows do not change. */
static void run_scatter_rows(struct run *r, const struct op_case *c)
{
	struct tensor out = run_halves(r, CHANGED, c->third, c->cols),
		      x = run_tensor(r, INPUT, c->rows, c->cols);
	int32_t index[MAX_INTS];

	for (int64_t i = 0; i < c->rows; i++)
		index[i] = (int32_t)((7 * i + 3) % c->third);
	r->ops->scatter_rows(r->dev, out, x, run_ints(r, index, c->rows));
}

/* third: real columns; k = fourth. */
static void run_top_k(struct run *r, const struct op_case *c)
{
	float *values = run_floats(r, OUTPUT, c->rows * c->fourth);
	int32_t *ids = run_ints(r, NULL, c->rows * c->fourth);

	r->ops->top_k(r->dev, values, ids, run_tensor(r, INPUT, c->rows, c->cols), c->third,
		      (int32_t)c->fourth);
}

const struct op_entry ops_list[] = {
#define OP(name, args, names) { #name, run_##name },
#include "kernels/ops/ops.def"
#undef OP
};

const size_t ops_n = ARRAY_LEN(ops_list);

op_function *ops_function(const char *op)
{
	for (size_t i = 0; i < ARRAY_LEN(ops_list); i++)
		if (strcmp(ops_list[i].name, op) == 0)
			return ops_list[i].run;
	return NULL;
}

/* ---- the cases ------------------------------------------------------------------ */

const struct op_case ops_cases[] = {
#include "tests/kernels/ops_cases.def"
};

const size_t ops_n_cases = ARRAY_LEN(ops_cases);

void ops_compare(const struct ops *ops, const char *who, const struct op_case *c)
{
	struct run want, got;

	if (run_case(&want, ops_ref(), 1, c, ops_function(c->op)))
		run_check_untouched(&want, "ref");
	if (run_case(&got, ops, 2, c, ops_function(c->op))) {
		run_check_untouched(&got, who);
		run_check_near(&want, &got, who);
	}
	run_free(&want);
	run_free(&got);
}

void ops_compare_all(const struct ops *ops, const char *who)
{
	for (size_t i = 0; i < ops_n_cases; i++)
		ops_compare(ops, who, &ops_cases[i]);
}
