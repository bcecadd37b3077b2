/*
 * t_ops.c - every backend against the definition (kernels/ref.h), one list of
 * cases for all ops. An op of kernels/ops.def without a function here does not
 * link, one without a case fails.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu.h"
#include "kernels/dropout.h"
#include "kernels/panels.h"
#include "kernels/profile.h"
#include "tests/ops_run.h"
#include "tests/test.h"

#define MOST_INTS 5000

/* ---- how each op is called ---------------------------------------------------- */

/* out (rows, cols), inner dimension third. */
static void run_matmul(struct run *r, const struct op_case *c)
{
	struct matmul_how how = { c->flags & A_TRANSPOSED, c->flags & B_TRANSPOSED,
				  c->flags & ACCUMULATE };
	struct tensor out = run_tensor(r, how.accumulate ? CHANGED : OUTPUT, c->rows, c->cols);
	struct tensor a = how.a_transposed ? run_tensor(r, INPUT, c->third, c->rows)
					   : run_tensor(r, INPUT, c->rows, c->third);
	struct tensor b = how.b_transposed ? run_tensor(r, INPUT, c->cols, c->third)
					   : run_tensor(r, INPUT, c->third, c->cols);

	r->ops->matmul(r->dev, out, a, b, how);
}

/* What a case packs into; fourth is its elements a unit. */
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

/* out (rows, cols), inner dimension third; ACCUMULATE here stands for relu. */
static void run_linear(struct run *r, const struct op_case *c)
{
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols);
	struct tensor a = run_tensor(r, INPUT, c->rows, c->third);
	struct tensor b = run_tensor(r, INPUT, c->cols, c->third), packed = packed_tensor(r, c);
	float *bias = c->flags & NO_BIAS ? NULL : run_floats(r, INPUT, c->cols);

	r->ops->pack(r->dev, packed, b);
	r->ops->linear(r->dev, out, a, packed, bias, c->flags & ACCUMULATE);
}

/* cols outputs, of which all but two are real; the 7 best (or all) are wanted. */
static void run_linear_top_k(struct run *r, const struct op_case *c)
{
	int64_t n_real = MAX(1, c->cols - 2), k = MIN(7, n_real);
	float *values = run_floats(r, OUTPUT, c->rows * k);
	int32_t *ids = run_ints(r, NULL, c->rows * k);
	struct tensor a = run_tensor(r, INPUT, c->rows, c->third);
	struct tensor b = run_tensor(r, INPUT, c->cols, c->third), packed = packed_tensor(r, c);

	r->ops->pack(r->dev, packed, b);
	r->ops->linear_top_k(r->dev, values, ids, a, packed, n_real, (int32_t)k);
}

/* rows tokens of a vocabulary of third, some of them -1; positions up to fourth. */
static int32_t *random_ids(struct run *r, const struct op_case *c)
{
	int32_t ids[MOST_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		ids[t] = (int32_t)run_random(r, (uint64_t)t, (uint32_t)c->third + 1) - 1;
	return run_ints(r, ids, c->rows);
}

static void run_embed(struct run *r, const struct op_case *c)
{
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols),
		      table = run_tensor(r, INPUT, c->third, c->cols);
	int32_t *ids = random_ids(r, c), positions[MOST_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		positions[t] = (int32_t)(t % c->fourth);
	r->ops->embed(r->dev, out, table, ids, run_ints(r, positions, c->rows),
		      sqrtf((float)c->cols), run_dropout(r));
}

static void run_embed_grad(struct run *r, const struct op_case *c)
{
	struct tensor dtable = run_tensor(r, CHANGED, c->third, c->cols),
		      dout = run_tensor(r, INPUT, c->rows, c->cols);

	r->ops->embed_grad(r->dev, dtable, dout, random_ids(r, c), 2.5f, run_dropout(r));
}

static void run_norm(struct run *r, const struct op_case *c)
{
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols),
		      x = run_tensor(r, INPUT, c->rows, c->cols);
	float *mean = run_floats(r, OUTPUT, c->rows), *rstd = run_floats(r, OUTPUT, c->rows);

	r->ops->norm(r->dev, out, mean, rstd, x, run_floats(r, INPUT, c->cols),
		     run_floats(r, INPUT, c->cols));
}

static void run_norm_grad(struct run *r, const struct op_case *c)
{
	bool accumulate = c->flags & ACCUMULATE;
	struct tensor dx = run_tensor(r, accumulate ? CHANGED : OUTPUT, c->rows, c->cols);
	struct tensor dout = run_tensor(r, INPUT, c->rows, c->cols),
		      x = run_tensor(r, INPUT, c->rows, c->cols);
	float *dscale = run_floats(r, CHANGED, c->cols), *dshift = run_floats(r, CHANGED, c->cols);
	float *mean = run_floats(r, INPUT, c->rows), *rstd = run_floats(r, INPUT, c->rows);

	r->ops->norm_grad(r->dev, dx, dscale, dshift, dout, x, mean, rstd,
			  run_floats(r, INPUT, c->cols), accumulate);
}

static void run_add_norm(struct run *r, const struct op_case *c)
{
	bool in_place = c->flags & IN_PLACE;
	struct tensor sum = run_tensor(r, in_place ? CHANGED : OUTPUT, c->rows, c->cols);
	struct tensor out = run_tensor(r, OUTPUT, c->rows, c->cols);
	struct tensor residual = in_place ? sum : run_tensor(r, INPUT, c->rows, c->cols);
	struct tensor branch = run_tensor(r, INPUT, c->rows, c->cols);
	float *mean = run_floats(r, OUTPUT, c->rows), *rstd = run_floats(r, OUTPUT, c->rows);
	float *bias = c->flags & NO_BIAS ? NULL : run_floats(r, INPUT, c->cols);

	r->ops->add_norm(r->dev, sum, out, mean, rstd, residual, branch, bias,
			 run_floats(r, INPUT, c->cols), run_floats(r, INPUT, c->cols),
			 run_dropout(r));
}

static void run_add_norm_grad(struct run *r, const struct op_case *c)
{
	struct tensor dsum = run_tensor(r, CHANGED, c->rows, c->cols),
		      dbranch = run_tensor(r, OUTPUT, c->rows, c->cols);
	struct tensor dout = run_tensor(r, INPUT, c->rows, c->cols),
		      sum = run_tensor(r, INPUT, c->rows, c->cols);
	float *dbias = c->flags & NO_BIAS ? NULL : run_floats(r, CHANGED, c->cols);
	float *dscale = run_floats(r, CHANGED, c->cols), *dshift = run_floats(r, CHANGED, c->cols);
	float *mean = run_floats(r, INPUT, c->rows), *rstd = run_floats(r, INPUT, c->rows);

	r->ops->add_norm_grad(r->dev, dsum, dbranch, dbias, dscale, dshift, dout, sum, mean, rstd,
			      run_floats(r, INPUT, c->cols), run_dropout(r));
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

/* rows sentences of up to third tokens, fourth heads; the first has one token. */
static struct attention_shape random_sentences(struct run *r, const struct op_case *c,
					       int64_t *q_rows, int64_t *k_rows)
{
	int32_t start[2][MOST_INTS] = { { 0 } }, longest[2] = { 0 }, *given[2];
	int64_t n = c->rows;

	for (int side = 0; side < 2; side++) {
		for (int64_t s = 0; s < n; s++) {
			int32_t length = (int32_t)run_random(r, (uint64_t)(side * n + s),
							     (uint32_t)c->third) +
					 1;

			length = s == 0 ? 1 : s == 1 ? (int32_t)c->third : length;
			if (side == 1 && !(c->flags & CROSS))
				length = start[0][s + 1] - start[0][s];
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

	r->ops->attention(r->dev, out, lse, q, k, v, shape, run_dropout(r));
	r->ops->attention_grad(r->dev, dq, dk, dv, dout, out, lse, q, k, v, shape, run_dropout(r));
}

/* third of the columns are real; without ACCUMULATE there is no gradient. */
static void run_cross_entropy(struct run *r, const struct op_case *c)
{
	struct tensor logits = run_tensor(r, c->flags & ACCUMULATE ? CHANGED : INPUT, c->rows,
					  c->cols);
	float *loss = run_floats(r, OUTPUT, c->rows), *nll = run_floats(r, OUTPUT, c->rows);
	int32_t targets[MOST_INTS];

	for (int64_t t = 0; t < c->rows; t++)
		targets[t] = (int32_t)run_random(r, (uint64_t)t, (uint32_t)c->third);
	r->ops->cross_entropy(r->dev, logits, loss, nll, run_ints(r, targets, c->rows), c->third,
			      c->dropout, c->flags & ACCUMULATE ? 100.0f : 0);
}

static void run_add(struct run *r, const struct op_case *c)
{
	struct tensor x = run_tensor(r, CHANGED, c->rows, c->cols);

	r->ops->add(r->dev, x, run_tensor(r, INPUT, c->rows, c->cols));
}

static void run_zero(struct run *r, const struct op_case *c)
{
	r->ops->zero(r->dev, run_floats(r, CHANGED, c->cols), (size_t)c->cols * sizeof(float));
}

static void run_sum_squares(struct run *r, const struct op_case *c)
{
	double *out = run_double(r);

	r->ops->sum_squares(r->dev, out, run_floats(r, INPUT, c->cols), c->cols);
}

static void run_adam(struct run *r, const struct op_case *c)
{
	struct adam_step step = { .rate = 0.01f,
				  .beta1 = 0.9f,
				  .beta2 = 0.98f,
				  .epsilon = 1e-9f,
				  .correction1 = 0.271f,
				  .correction2 = 0.0588f,
				  .grad_scale = 0.7f };
	float *param = run_floats(r, CHANGED, c->cols), *m = run_floats(r, CHANGED, c->cols);
	struct tensor v = run_tensor(r, CHANGED, 1, c->cols);

	/* second moments are never negative: the squares of random numbers */
	r->ops->zero(r->dev, v.data, (size_t)c->cols * sizeof(float));
	for (int i = 0; i < 3; i++)
		r->ops->adam(r->dev, param, m, v.data, run_floats(r, INPUT, c->cols), c->cols,
			     step);
}

static void run_blend(struct run *r, const struct op_case *c)
{
	r->ops->blend(r->dev, run_floats(r, CHANGED, c->cols), run_floats(r, INPUT, c->cols),
		      c->cols, 0.125f);
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
	int32_t index[MOST_INTS], length[MOST_INTS];

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
	int32_t index[MOST_INTS];

	for (int64_t i = 0; i < c->rows; i++)
		index[i] = (int32_t)run_random(r, (uint64_t)i, (uint32_t)c->third);
	r->ops->gather_rows(r->dev, out, x, run_ints(r, index, c->rows));
}

/* Row i goes to row (7 i + 3) of third, which is no multiple of 7; the other rows stay. */
static void run_scatter_rows(struct run *r, const struct op_case *c)
{
	struct tensor out = run_halves(r, CHANGED, c->third, c->cols),
		      x = run_tensor(r, INPUT, c->rows, c->cols);
	int32_t index[MOST_INTS];

	for (int64_t i = 0; i < c->rows; i++)
		index[i] = (int32_t)((7 * i + 3) % c->third);
	r->ops->scatter_rows(r->dev, out, x, run_ints(r, index, c->rows));
}

/* third columns are real, the fourth best of them wanted. */
static void run_top_k(struct run *r, const struct op_case *c)
{
	float *values = run_floats(r, OUTPUT, c->rows * c->fourth);
	int32_t *ids = run_ints(r, NULL, c->rows * c->fourth);

	r->ops->top_k(r->dev, values, ids, run_tensor(r, INPUT, c->rows, c->cols), c->third,
		      (int32_t)c->fourth);
}

static const struct {
	const char *name;
	op_function *run;
} functions[] = {
#define OP(name, args, names) { #name, run_##name },
#include "kernels/ops.def"
#undef OP
};

static op_function *function_of(const char *op)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (strcmp(functions[i].name, op) == 0)
			return functions[i].run;
	return NULL;
}

/* ---- the cases ------------------------------------------------------------------ */

static const struct op_case cases[] = {
#include "tests/ops_cases.def"
};

TEST(ops_every_op_has_a_case)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		int n = 0;

		for (size_t j = 0; j < ARRAY_LEN(cases); j++)
			n += strcmp(functions[i].name, cases[j].op) == 0;
		if (n == 0)
			test_fail(__FILE__, __LINE__, "no case for %s", functions[i].name);
	}
	for (size_t j = 0; j < ARRAY_LEN(cases); j++)
		if (!function_of(cases[j].op))
			test_fail(__FILE__, __LINE__, "there is no op %s", cases[j].op);
}

static void compare_with_definition(const struct ops *ops, const char *who)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct run want, got;

		if (run_case(&want, ops_ref(), 1, &cases[i], function_of(cases[i].op)))
			run_check_untouched(&want, "ref");
		if (run_case(&got, ops, 2, &cases[i], function_of(cases[i].op))) {
			run_check_untouched(&got, who);
			run_check_near(&want, &got, who);
		}
		run_free(&want);
		run_free(&got);
	}
}

TEST(ops_cpu_plain)
{
	compare_with_definition(cpu_variant(0), "cpu for any machine");
}

TEST(ops_cpu_v3)
{
	if (cpu_variant(1))
		compare_with_definition(cpu_variant(1), "cpu for x86-64-v3");
	else
		test_skip("no x86-64-v3 here");
}

TEST(ops_cpu_v4)
{
	if (cpu_variant(2))
		compare_with_definition(cpu_variant(2), "cpu for x86-64-v4");
	else
		test_skip("no x86-64-v4 here");
}

static struct dev *open_with_onednn(const struct dev_options *options, struct err *e)
{
	struct dev *d = cpu_open(options, e);

	if (d && !d->onednn)
		d->onednn = cpu_onednn_open();
	return d;
}

/* oneDNN, also where our own products are preferred. */
TEST(ops_onednn)
{
	struct ops table = *ops_cpu();
	struct cpu_onednn *o = cpu_onednn_open();

	table.open = open_with_onednn;
	if (o)
		compare_with_definition(&table, "cpu with oneDNN");
	else
		test_skip("built without oneDNN");
	cpu_onednn_close(o);
}

TEST(ops_cuda)
{
	if (ops_cuda() && ops_cuda()->usable())
		compare_with_definition(ops_cuda(), "cuda");
	else
		test_skip("no GPU here");
}

static struct profile *watching;

static struct dev *open_watched(const struct dev_options *options, struct err *e)
{
	struct dev_options all = *options;

	all.profile = watching;
	return profile_ops(watching)->open(&all, e);
}

/* A profiled backend gives the bits of the one below, and has noted every op. */
TEST(ops_profiled)
{
	const struct profile_entry *list;
	struct err e = { 0 };
	struct ops table;
	size_t n;

	watching = profile_new(ops_cpu(), &e);
	if (!check_err(e.code, 0))
		return;
	table = *profile_ops(watching);
	table.open = open_watched;
	check_str(table.name, "cpu");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct run plain, watched;

		run_case(&plain, ops_cpu(), 2, &cases[i], function_of(cases[i].op));
		run_case(&watched, &table, 2, &cases[i], function_of(cases[i].op));
		run_check_same(&plain, &watched, "the profiled backend");
		run_free(&plain);
		run_free(&watched);
	}
	list = profile_entries(watching, &n);
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		int64_t wanted = 0, calls = 0;

		for (size_t j = 0; j < ARRAY_LEN(cases); j++)
			wanted += !strcmp(cases[j].op, functions[i].name);
		for (size_t j = 0; j < n; j++)
			calls += !strcmp(list[j].op, functions[i].name) ? list[j].calls : 0;
		check(calls >= wanted && calls > 0); /* some cases need others first */
	}
	for (size_t j = 0; j + 1 < n; j++)
		check(list[j].seconds >= list[j + 1].seconds);
	profile_free(watching);
}

/* The same bits again, and with another number of threads. */
TEST(ops_cpu_bits)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		op_function *f = function_of(cases[i].op);
		struct run first, again, alone;

		run_case(&first, ops_cpu(), 3, &cases[i], f);
		run_case(&again, ops_cpu(), 3, &cases[i], f);
		run_case(&alone, ops_cpu(), 1, &cases[i], f);
		run_check_same(&first, &again, "a second run");
		run_check_same(&first, &alone, "one thread");
		run_free(&first);
		run_free(&again);
		run_free(&alone);
	}
}

/* A row gives the same bits alone and among others, in each kind of unit. */
TEST(ops_linear_rows)
{
	enum { ROWS = 14, COLS = 70, INNER = 130 };
	static const enum dtype kinds[] = { DTYPE_PACKED_F32, DTYPE_PACKED_BF16,
					    DTYPE_PACKED_INT8 };
	static float a[ROWS * INNER], b[COLS * INNER], together[ROWS * COLS], alone[COLS];
	static int32_t block[3 * PANEL_WIDTH * (INNER + 2)];
	struct rng_key key = rng_key_make(1, RNG_TEST, 0, 0);
	struct dev_options options = { .threads = 2 };
	struct err e = { 0 };

	for (int i = 0; i < ROWS * INNER; i++)
		a[i] = rng_unit(key, (uint64_t)i) - 0.5f;
	for (int i = 0; i < COLS * INNER; i++)
		b[i] = rng_unit(key, (uint64_t)(ROWS * INNER + i)) - 0.5f;
	for (int v = 0; v < CPU_VARIANTS; v++) {
		const struct ops *o = cpu_variant(v);
		struct dev *d = o ? o->open(&options, &e) : NULL;

		for (size_t i = 0; i < ARRAY_LEN(kinds) && o; i++) {
			struct tensor packed = { block, COLS, INNER, 0, kinds[i] };

			o->pack(d, packed, tensor_f32(b, COLS, INNER));
			o->linear(d, tensor_f32(together, ROWS, COLS), tensor_f32(a, ROWS, INNER),
				  packed, NULL, false);
			for (int r = 0; r < ROWS; r++) {
				o->linear(d, tensor_f32(alone, 1, COLS),
					  tensor_f32(a + r * INNER, 1, INNER), packed, NULL, false);
				check(!memcmp(alone, together + r * COLS, sizeof(alone)));
			}
		}
		if (o)
			o->close(d);
	}
}

TEST(ops_find_backend)
{
	struct err e = { 0 };

	check(ops_find("ref", &e) == ops_ref());
	check(ops_find("cpu", &e) == ops_cpu());
	check(ops_find("auto", &e) != ops_ref());
	check(ops_find("abacus", &e) == NULL);
	check_int(e.code, ERR_UNAVAILABLE);
	if (!ops_cuda()) {
		e.code = 0;
		check(ops_find("cuda", &e) == NULL);
		check_int(e.code, ERR_UNAVAILABLE);
	}
}

TEST(ops_memory_runs_out)
{
	const struct ops *all[] = { ops_ref(), ops_cpu() };
	struct dev_options options = { .threads = 1 };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct err e = { 0 };
		struct dev *d = all[i]->open(&options, &e);

		check(all[i]->alloc(d, SIZE_MAX, &e) == NULL);
		check_int(e.code, ERR_NOMEM);
		all[i]->close(d);
	}
}

/* The known answers of Random123 for Philox4x32-10. */
TEST(ops_philox)
{
	static const uint32_t zeros[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
	static const uint32_t ones[4] = { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd };
	struct rng_key key = { 0 }, all = { .seed_low = 0xFFFFFFFFu ^ (0xFFFFFFFFu * 0x9E3779B1u),
					    .seed_high = 0xFFFFFFFFu,
					    .purpose = 0xFFFFFFFFu,
					    .step = 0xFFFFFFFFu };

	for (int i = 0; i < 4; i++) {
		check_int(rng_block_at(key, 0).v[i], zeros[i]);
		check_int(rng_block_at(all, UINT64_MAX).v[i], ones[i]);
	}
}

TEST(ops_dropout_share)
{
	struct rng_key key = rng_key_make(7, RNG_DROPOUT, 3, 1);
	int kept = 0, n = 100000;

	for (int i = 0; i < n; i++)
		kept += dropout_keep(key, (uint64_t)i, dropout_threshold(0.3f));
	check_near(kept / (double)n, 0.7, 0.005);
	check_near(dropout_scale(0.3f) * 0.7, 1, 1e-4);
	check_near(dropout_scale(0), 1, 0);
}

TEST(ops_cpu_memory)
{
	const struct ops *o = ops_cpu();
	struct dev_options options = { .threads = 1 };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);
	static const size_t sizes[] = { 0, 1, 4095, 5 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && check(d); i++) {
		unsigned char *p = o->alloc(d, sizes[i], &e), sum = 0;

		if (!check(p && (uintptr_t)p % 64 == 0))
			continue;
		for (size_t k = 0; k < sizes[i]; k++)
			sum |= p[k];
		check_int(sum, 0);
		memset(p, 1, sizes[i]);
		o->release(d, p);
	}
	check(!o->alloc(d, SIZE_MAX - 100, &e));
	check_int(e.code, ERR_NOMEM);
	check(!o->alloc(d, SIZE_MAX / 2, &e));
	o->release(d, NULL);
	o->close(d);
}
