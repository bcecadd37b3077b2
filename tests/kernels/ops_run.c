/* ops_run.c - buffers with guards, and their comparison; see ops_run.h */
#include "tests/kernels/ops_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/ops/bf16.h"
#include "kernels/ops/dropout.h"
#include "share/base/mem.h"
#include "tests/test.h"

/* Bytes of a guard: a multiple of a double only, not of a vector; ALIGNED: of everything. */
static size_t guard_of(const struct op_case *c)
{
	return c->flags & ALIGNED ? 128 : 72;
}

static bool is_long_product(const struct op_case *c)
{
	return c->flags & ROUNDED && c->third > 512 &&
	       (!strcmp(c->op, "matmul") || !strncmp(c->op, "linear", 6));
}

/*
 * The table of tolerances: |got - want| <= limit * (1 + |want|). With bf16 products attention may round
 * its inputs and weights; the definition does not. Tensor cores truncate when they add: a model of
 * them is off by 2.1e-5 in sums of 1,101 products.
 */
static double tolerance(char type, const struct op_case *c)
{
	if (type == 'f' && c->flags & ROUNDED && strncmp(c->op, "attention", 9) == 0)
		type = 'h';
	switch (type) {
	case 'f':
		return is_long_product(c) ? 1e-4 : 2e-5;
	case 'h':
		return 1.0 / 128;
	case 'd':
		return 1e-9;
	default:
		return 0;
	}
}

static size_t type_bytes(char type)
{
	return type == 'h' ? 2 : type == 'd' ? 8 : 4;
}

static void describe(const struct run *r, char text[200])
{
	const struct op_case *c = r->op_case;

	snprintf(text, 200, "%s rows %lld cols %lld third %lld fourth %lld dropout %g flags 0x%x",
		 c->op, (long long)c->rows, (long long)c->cols, (long long)c->third,
		 (long long)c->fourth, (double)c->dropout, (unsigned)c->flags);
}

static struct rng_key key_of(const struct run *r, uint32_t which)
{
	const struct op_case *c = r->op_case;
	uint64_t seed =
		(uint64_t)(c->rows * 1000003 + c->cols * 10007 + c->third * 101 + c->fourth);

	return rng_key_make(seed, RNG_TEST, which, 0);
}

uint32_t run_random(const struct run *r, uint64_t i, uint32_t below)
{
	return rng_u32(key_of(r, 1000), i) % below;
}

struct dropout run_dropout(struct run *r)
{
	struct rng_key key = key_of(r, 2000);
	const int32_t rng_step[2] = { (int32_t)key.step, (int32_t)key.sub };
	struct dropout drop = { .rate = r->op_case->dropout, .key = key };

	if (r->op_case->flags & RNG_STEP) {
		drop.rng_step = (const uint32_t *)run_ints(r, rng_step, 2);
		drop.key.step += 17; /* the op must not use these values */
		drop.key.sub += 5;
	}
	return drop;
}

/* Random values in [-1, 1]; run_ints() sets integers. */
static void fill(const struct run *r, struct run_buffer *b, uint32_t number)
{
	for (int64_t row = 0; row < b->rows; row++) {
		for (int64_t col = 0; col < b->cols; col++) {
			float x = rng_unit(key_of(r, number), (uint64_t)(row * b->cols + col)) * 2 -
				  1;
			float y = r->op_case->flags & COARSE ? rintf(4 * x) / 4 : x;
			unsigned char *to = b->before + b->guard +
					    (size_t)(row * b->stride + col) * type_bytes(b->type);
			uint16_t half = bf16_from_float(y);

			if (b->type == 'h')
				memcpy(to, &half, sizeof(half));
			else
				memcpy(to, &y, sizeof(y));
		}
	}
}

static struct run_buffer *new_buffer(struct run *r, enum role role, char type, int64_t rows,
				     int64_t cols, int64_t stride)
{
	struct run_buffer *b = &r->buffer[r->n++];
	const size_t guard = guard_of(r->op_case);
	struct err e;

	*b = (struct run_buffer){ .role = role,
				  .type = type,
				  .rows = rows,
				  .cols = cols,
				  .stride = stride,
				  .guard = guard };
	b->bytes = (size_t)(rows * stride) * type_bytes(type) + 2 * guard;
	b->before = malloc(b->bytes);
	b->after = malloc(b->bytes);
	b->device = r->ops->alloc(r->dev, b->bytes, &e);
	if (!b->before || !b->after || !b->device || r->n == RUN_BUFFERS)
		abort();
	memset(b->before, 0xFF, b->bytes); /* NaN in every type */
	if (role != OUTPUT && type != 'i')
		fill(r, b, (uint32_t)r->n);
	r->ops->to_device(r->dev, b->device, b->before, b->bytes);
	return b;
}

static unsigned char *place_of(const struct run_buffer *b)
{
	return b->device + b->guard;
}

static struct tensor new_tensor(struct run *r, enum role role, int64_t rows, int64_t cols,
				bool bf16)
{
	bool wide = r->op_case->flags & WIDE, aligned = r->op_case->flags & ALIGNED;
	int64_t stride = !wide ? cols : aligned ? CEIL_DIV(cols, 8) * 8 + 8 : cols + 5;
	struct run_buffer *b = new_buffer(r, role, bf16 ? 'h' : 'f', rows, cols, stride);

	return (struct tensor){ b->device + b->guard, rows, cols, stride,
				bf16 ? DTYPE_BF16 : DTYPE_F32 };
}

struct tensor run_tensor(struct run *r, enum role role, int64_t rows, int64_t cols)
{
	return new_tensor(r, role, rows, cols, r->op_case->flags & BF16);
}

struct tensor run_halves(struct run *r, enum role role, int64_t rows, int64_t cols)
{
	return new_tensor(r, role, rows, cols, r->op_case->flags & (BF16 | HALF_CACHE));
}

float *run_floats(struct run *r, enum role role, int64_t n)
{
	return (float *)(void *)place_of(new_buffer(r, role, 'f', 1, n, n));
}

double *run_doubles(struct run *r, const double *values, int64_t n)
{
	struct run_buffer *b = new_buffer(r, OUTPUT, 'd', 1, n, n);

	if (values)
		r->ops->to_device(r->dev, place_of(b), values, (size_t)n * sizeof(*values));
	return (double *)(void *)place_of(b);
}

int32_t *run_ints(struct run *r, const int32_t *values, int64_t n)
{
	struct run_buffer *b = new_buffer(r, values ? INPUT : OUTPUT, 'i', 1, n, n);

	if (values)
		memcpy(b->before + b->guard, values, (size_t)n * sizeof(*values));
	r->ops->to_device(r->dev, b->device, b->before, b->bytes);
	return (int32_t *)(void *)(b->device + b->guard);
}

bool run_case(struct run *r, const struct ops *ops, int threads, const struct op_case *c,
	      op_function *f)
{
	struct dev_options options = { .threads = threads,
				       .bf16 = c->flags & ROUNDED,
				       .ways.dependent_launch = c->flags & DEPENDENT,
				       .few_rows = 15 };
	struct err e = { 0 };
	bool good;

	*r = (struct run){ .ops = ops, .op_case = c, .dev = ops->open(&options, &e) };
	if (!r->dev) {
		test_fail(__FILE__, __LINE__, "%s does not open: %s", ops->name, e.text);
		return false;
	}
	f(r, c);
	for (int i = 0; i < r->n; i++)
		ops->to_host(r->dev, r->buffer[i].after, r->buffer[i].device, r->buffer[i].bytes);
	good = ops->sync(r->dev, &e) == 0;
	if (!good)
		test_fail(__FILE__, __LINE__, "%s: %s: %s", ops->name, c->op, e.text);
	return good;
}

void run_free(struct run *r)
{
	for (int i = 0; i < r->n; i++) {
		free(r->buffer[i].before);
		free(r->buffer[i].after);
		r->ops->release(r->dev, r->buffer[i].device);
	}
	if (r->dev)
		r->ops->close(r->dev);
	*r = (struct run){ .n = 0 };
}

/* Is this byte part of an element, not of a guard or of a gap between rows? */
static bool is_element(const struct run_buffer *b, size_t at)
{
	size_t size = type_bytes(b->type), i;

	if (at < b->guard || at >= b->bytes - b->guard)
		return false;
	i = (at - b->guard) / size;
	return (int64_t)(i % (size_t)b->stride) < b->cols;
}

bool run_check_untouched(const struct run *r, const char *who)
{
	char text[200];

	describe(r, text);
	for (int i = 0; i < r->n; i++) {
		const struct run_buffer *b = &r->buffer[i];

		for (size_t at = 0; at < b->bytes; at++) {
			if (b->before[at] == b->after[at] ||
			    (b->role != INPUT && is_element(b, at)))
				continue;
			test_fail(__FILE__, __LINE__,
				  "%s: %s: operand %d: byte %zu of %zu must not change", who, text,
				  i, at, b->bytes);
			return false;
		}
	}
	return true;
}

static double element(const struct run_buffer *b, const unsigned char *from, int64_t row,
		      int64_t col)
{
	const unsigned char *p =
		from + b->guard + (size_t)(row * b->stride + col) * type_bytes(b->type);
	uint16_t half;
	int32_t whole;
	double number;
	float x;

	switch (b->type) {
	case 'h':
		memcpy(&half, p, sizeof(half));
		return bf16_to_float(half);
	case 'i':
		memcpy(&whole, p, sizeof(whole));
		return whole;
	case 'd':
		memcpy(&number, p, sizeof(number));
		return number;
	default:
		memcpy(&x, p, sizeof(x));
		return x;
	}
}

bool run_check_near(const struct run *want, const struct run *got, const char *who)
{
	char text[200];

	describe(want, text);
	for (int i = 0; i < want->n; i++) {
		const struct run_buffer *b = &want->buffer[i];

		if (b->role == INPUT)
			continue;
		for (int64_t row = 0; row < b->rows; row++) {
			for (int64_t col = 0; col < b->cols; col++) {
				double x = element(b, b->after, row, col);
				double y = element(&got->buffer[i], got->buffer[i].after, row, col);

				/* equal infinities: their difference is NaN */
				if (y == x || fabs(y - x) <= tolerance(b->type, want->op_case) *
								     (1 + fabs(x)))
					continue;
				test_fail(__FILE__, __LINE__,
					  "%s: %s: operand %d at (%lld, %lld): %.9g, not %.9g", who,
					  text, i, (long long)row, (long long)col, y, x);
				return false;
			}
		}
	}
	return true;
}

bool run_check_same(const struct run *want, const struct run *got, const char *who)
{
	char text[200];

	describe(want, text);
	for (int i = 0; i < want->n; i++) {
		if (memcmp(want->buffer[i].after, got->buffer[i].after, want->buffer[i].bytes) == 0)
			continue;
		test_fail(__FILE__, __LINE__, "%s: %s: operand %d has other bits", who, text, i);
		return false;
	}
	return true;
}
