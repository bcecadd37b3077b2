/* bench_ops_options.c - calls of ops of other architectures; see bench_ops_options.h */
#include "tests/bench/bench_ops_options.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/ops/bf16.h"
#include "kernels/ops/dropout.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define MAX_BUFFERS 40

struct caller {
	const struct ops *o;
	struct dev *d;
	const struct option_sizes *s;
	void *buffer[MAX_BUFFERS]; /* device memory, owned */
	int n;
	struct err *e; /* code not 0: a call before has failed */
};

/* Device memory with a copy of n * size bytes. NULL: out of memory. */
static void *copy_to_device(struct caller *c, const void *from, size_t n, size_t size)
{
	void *p = NULL;
	size_t bytes;

	if (c->n == MAX_BUFFERS || !mem_mul(n, size, &bytes))
		err_set(c->e, ERR_NOMEM, "too many buffers");
	else
		p = c->o->alloc(c->d, bytes, c->e);
	if (!p)
		return NULL;
	c->buffer[c->n++] = p;
	c->o->to_device(c->d, p, from, bytes);
	return p;
}

/* A tensor of random numbers in [-1, 1). data NULL: out of memory. */
static struct tensor random_tensor(struct caller *c, int64_t rows, int64_t cols, bool half)
{
	const size_t n = (size_t)(rows * cols);
	const struct rng_key key = rng_key_make((uint64_t)c->n, RNG_TEST, 0, 0);
	struct tensor t = tensor_f32(NULL, rows, cols);
	float *x = c->e->code ? NULL : mem_alloc(n, sizeof(*x), c->e);

	if (!x)
		return t;
	for (size_t i = 0; i < n; i++)
		x[i] = 2 * rng_unit(key, i) - 1;
	for (size_t i = 0; half && i < n; i++) {
		uint16_t y = bf16_from_float(x[i]);

		memcpy((char *)x + 2 * i, &y,
		       sizeof(y)); /* the place of numbers already converted */
	}
	t.dtype = half ? DTYPE_BF16 : DTYPE_F32;
	t.data = copy_to_device(c, x, n, half ? 2 : 4);
	free(x);
	return t;
}

static float *random_floats(struct caller *c, int64_t n)
{
	return random_tensor(c, 1, n, false).data;
}

/* 0, step, 2 step, … modulo limit */
static int32_t *counted_ints(struct caller *c, int64_t n, int32_t step, int32_t limit)
{
	int32_t *x = c->e->code ? NULL : mem_alloc((size_t)n, sizeof(*x), c->e), *p;

	if (!x)
		return NULL;
	for (int64_t i = 0; i < n; i++)
		x[i] = (int32_t)(i * step % limit);
	p = copy_to_device(c, x, (size_t)n, sizeof(*x));
	free(x);
	return p;
}

static void call_activations(struct caller *c)
{
	const int64_t T = c->s->tokens, F = c->s->d_ff;
	const bool half = c->s->bf16;
	struct tensor one = random_tensor(c, T, F, half), two = random_tensor(c, T, 2 * F, half),
		      out = random_tensor(c, T, F, half), wide = random_tensor(c, T, 2 * F, half);
	float *bias = random_floats(c, 2 * F), *dbias = random_floats(c, 2 * F);
	const struct dropout none = { 0 };

	if (c->e->code)
		return;
	for (int act = 0; act < N_ACTIVATIONS; act++) {
		c->o->activate(c->d, out, one, bias, act, none);
		c->o->activate(c->d, out, two, NULL, act, none);
		c->o->activate_grad(c->d, out, dbias, out, one, bias, act, none);
		c->o->activate_grad(c->d, wide, NULL, out, two, NULL, act, none);
	}
	c->o->column_sums(c->d, dbias, one);
}

static void call_norms(struct caller *c, enum norm_kind kind)
{
	const int64_t T = c->s->tokens, D = c->s->d_model;
	const struct norm_how how = { kind, 1e-6f };
	const struct dropout none = { 0 };
	struct tensor sum = random_tensor(c, T, D, false), out = random_tensor(c, T, D, c->s->bf16),
		      branch = random_tensor(c, T, D, c->s->bf16);
	float *mean = random_floats(c, T), *rstd = random_floats(c, T),
	      *scale = random_floats(c, D), *dscale = random_floats(c, D),
	      *shift = kind == NORM_LAYER ? random_floats(c, D) : NULL,
	      *dshift = kind == NORM_LAYER ? random_floats(c, D) : NULL;

	if (c->e->code)
		return;
	c->o->norm(c->d, out, mean, rstd, sum, scale, shift, how);
	c->o->add_norm(c->d, sum, out, mean, rstd, out, branch, NULL, scale, shift, how, none);
	c->o->norm_grad(c->d, sum, dscale, dshift, out, sum, mean, rstd, scale, how, true);
	c->o->add_norm_grad(c->d, sum, branch, NULL, dscale, dshift, out, sum, mean, rstd, scale,
			    how, none);
	c->o->add(c->d, sum, branch);
	c->o->add(c->d, branch, sum);
}

static void call_positions(struct caller *c)
{
	const int64_t T = c->s->tokens, D = c->s->d_model, width = D / c->s->heads;
	const int32_t n = (int32_t)c->s->sentence;
	struct tensor x = random_tensor(c, T, D, c->s->bf16), out = random_tensor(c, T, D, false),
		      words = random_tensor(c, 1000, D, false),
		      waves = random_tensor(c, n, width, false);
	struct embed_how how = { 1, POSITION_TABLE, random_tensor(c, n, D, false) };
	int32_t *positions = counted_ints(c, T, 1, n), *ids = counted_ints(c, T, 7, 1000);
	const struct dropout none = { 0 };

	if (c->e->code)
		return;
	c->o->rotate(c->d, x, waves, positions, (int32_t)c->s->heads, false);
	c->o->embed(c->d, out, words, ids, positions, how, none);
	how = (struct embed_how){ 1, POSITION_NONE, { 0 } };
	c->o->embed(c->d, out, words, ids, positions, how, none);
}

static void call_ssru(struct caller *c)
{
	const int64_t n = c->s->tokens / c->s->sentence, T = n * c->s->sentence, D = c->s->d_model,
		      R = c->s->rows;
	const int32_t longest = (int32_t)c->s->sentence;
	struct tensor x = random_tensor(c, T, 2 * D, c->s->bf16),
		      dx = random_tensor(c, T, 2 * D, c->s->bf16),
		      out = random_tensor(c, T, D, c->s->bf16),
		      state = random_tensor(c, T, D, false),
		      step = random_tensor(c, R, 2 * D, false),
		      states = random_tensor(c, R, D, false),
		      step_out = random_tensor(c, R, D, false);
	float *bias = random_floats(c, D), *dbias = random_floats(c, D);
	int32_t *start = counted_ints(c, n + 1, longest, INT32_MAX),
		*rows = counted_ints(c, R, 1, INT32_MAX);

	if (c->e->code)
		return;
	c->o->ssru(c->d, out, state, x, bias, start, (int32_t)n, longest);
	c->o->ssru_grad(c->d, dx, dbias, out, state, x, bias, start, (int32_t)n, longest);
	c->o->ssru_step(c->d, step_out, states, step, bias, rows, rows);
}

int bench_ops_call_options(const struct ops *o, const struct option_sizes *s, struct err *e)
{
	const struct dev_options options = { .threads = s->threads, .bf16 = s->bf16 };
	struct caller c = { .o = o, .s = s, .e = e };
	int rc;

	if (!(c.d = o->open(&options, e)))
		return e->code;
	e->code = 0;
	call_activations(&c);
	call_norms(&c, NORM_LAYER);
	call_norms(&c, NORM_RMS);
	call_positions(&c);
	call_ssru(&c);
	rc = e->code;
	if (!rc)
		rc = o->sync(c.d, e);
	for (int i = 0; i < c.n; i++)
		o->release(c.d, c.buffer[i]);
	o->close(c.d);
	return rc;
}
