/* roof_device.c - the roof of a GPU; see roof.h */
#include <math.h>
#include <stdlib.h>

#include "kernels/ops/bf16.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/util.h"
#include "tests/bench/roof.h"

#define CALLS	8 /* calls between two readings of the clock */
#define TRIES	5
#define FILLING 4096 /* random numbers, repeated */

/* Square matrices: x[0] = x[1] x[2]^T, or x[0] += x[1]. */
struct squares {
	const struct ops *o;
	struct dev *d;
	struct tensor x[3];
};

/* Random numbers: a product of zeros needs less power and would run faster. */
static void fill(const struct squares *q, enum dtype dtype)
{
	const size_t size = dtype_bytes(dtype);
	float full[FILLING];
	uint16_t half[FILLING];

	for (int i = 0; i < FILLING; i++) {
		full[i] = rng_unit(rng_key_make(1, RNG_TEST, 0, 0), (uint64_t)i) - 0.5f;
		half[i] = bf16_from_float(full[i]);
	}
	for (int i = 0; i < 3; i++) {
		const size_t bytes = (size_t)(q->x[i].rows * q->x[i].cols) * size;
		char *to = q->x[i].data;

		for (size_t at = 0; at < bytes; at += FILLING * size)
			q->o->to_device(q->d, to + at,
					dtype == DTYPE_BF16 ? (void *)half : (void *)full,
					MIN(bytes - at, FILLING * size));
	}
}

static void add(const struct squares *q)
{
	q->o->add(q->d, q->x[0], q->x[1]);
}

static void multiply(const struct squares *q)
{
	q->o->matmul(q->d, q->x[0], q->x[1], q->x[2], (struct matmul_how){ .b_transposed = true });
}

/* Seconds of one call, the best of some tries after a warm-up. */
static int best_seconds(const struct squares *q, void (*run)(const struct squares *), double *best,
			struct err *e)
{
	*best = INFINITY;
	for (int i = 0; i <= TRIES; i++) {
		const double begun = clock_mono_s();
		double s;

		for (int j = 0; j < CALLS; j++)
			run(q);
		if (q->o->sync(q->d, e))
			return e->code;
		s = MAX((clock_mono_s() - begun) / CALLS, 1e-9);
		if (i > 0) /* the first try warms up */
			*best = MIN(*best, s);
	}
	return 0;
}

static int measure(struct roof *r, struct squares *q, struct dev *const d[2], struct err *e)
{
	const double n = (double)q->x[0].rows;
	double s;
	int rc;

	fill(q, DTYPE_F32);
	if ((rc = best_seconds(q, add, &s, e)))
		return rc;
	r->memory = 3 * sizeof(float) * n * n / s;
	if ((rc = best_seconds(q, multiply, &s, e)))
		return rc;
	r->fp32 = 2 * n * n * n / s;
	q->d = d[1];
	for (int i = 0; i < 3; i++)
		q->x[i].dtype = DTYPE_BF16;
	fill(q, DTYPE_BF16);
	if ((rc = best_seconds(q, multiply, &s, e)))
		return rc;
	r->bf16 = 2 * n * n * n / s;
	return 0;
}

int roof_of_device(struct roof *r, const struct ops *o, struct dev *const d[2], int64_t side,
		   struct err *e)
{
	struct squares q = { .o = o, .d = d[0] };
	size_t bytes;
	int rc = 0;

	*r = (struct roof){ .threads = 1, .units = o->name };
	if (side < 1 || side > 65536 || !mem_mul((size_t)(side * side), sizeof(float), &bytes))
		return err_set(e, ERR_USAGE, "the roof's side must be 1 to 65536");
	for (int i = 0; !rc && i < 3; i++) {
		q.x[i] = tensor_f32(o->alloc(d[0], bytes, e), side, side);
		rc = q.x[i].data ? 0 : e->code;
	}
	if (!rc)
		rc = measure(r, &q, d, e);
	for (int i = 0; i < 3; i++)
		if (q.x[i].data)
			o->release(d[0], q.x[i].data);
	return rc;
}
