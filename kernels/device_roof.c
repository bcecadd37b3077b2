/* device_roof.c - see device_roof.h */
#include "kernels/device_roof.h"

#include <math.h>

#include "kernels/ops/bf16.h"
#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/util.h"

#define TRIES	     5
#define FILLING	     4096 /* random numbers, repeated */
#define ROW_ELEMENTS 1024

/* device_roof_measure(): the side doubles until a product takes this long. */
#define FIRST_SIDE	256
#define LAST_SIDE	8192
#define LONG_ENOUGH_S	0.01
#define HOST_ELEMENTS	((int64_t)1 << 24)
#define DEVICE_ELEMENTS ((int64_t)1 << 26) /* the caches of GPUs have up to 50 MB and more */

/* x[0] = x[1] x[2]^T, or x[0] += x[1]. */
struct operands {
	const struct ops *o;
	struct dev *d;
	struct tensor x[3];
};

/* Random numbers: a product of zeros needs less power and would run faster. */
static void fill_operands(const struct operands *q, enum dtype dtype)
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

		for (size_t at = 0; to && at < bytes; at += FILLING * size)
			q->o->to_device(q->d, to + at,
					dtype == DTYPE_BF16 ? (void *)half : (void *)full,
					MIN(bytes - at, FILLING * size));
	}
}

static void add_operands(const struct operands *q)
{
	q->o->add(q->d, q->x[0], q->x[1]);
}

static void multiply_operands(const struct operands *q)
{
	q->o->matmul(q->d, q->x[0], q->x[1], q->x[2], (struct matmul_how){ .b_transposed = true });
}

/* Seconds of one call, the best of some tries after a warm-up. */
static int find_best_seconds(const struct operands *q, void (*run)(const struct operands *),
			     int calls, double *best, struct err *e)
{
	*best = INFINITY;
	for (int i = 0; i <= TRIES; i++) {
		const double begun = clock_mono_s();

		for (int j = 0; j < calls; j++)
			run(q);
		if (q->o->sync(q->d, e))
			return e->code;
		if (i > 0) /* the first try warms up */
			*best = MIN(*best, MAX((clock_mono_s() - begun) / calls, 1e-9));
	}
	return 0;
}

/* Allocate and fill n operands of rows x cols, run, release. */
static int time_operands(struct operands *q, int n, enum dtype dtype, int64_t rows, int64_t cols,
			 void (*run)(const struct operands *), int calls, double *best,
			 struct err *e)
{
	size_t bytes;
	int rc = 0;

	if (!mem_mul((size_t)(rows * cols), dtype_bytes(dtype), &bytes))
		return err_set(e, ERR_NOMEM, "matrices of %lld rows are too large",
			       (long long)rows);
	for (int i = 0; !rc && i < n; i++) {
		q->x[i] = tensor_f32(q->o->alloc(q->d, bytes, e), rows, cols);
		q->x[i].dtype = dtype;
		rc = q->x[i].data ? 0 : e->code;
	}
	if (!rc) {
		fill_operands(q, dtype);
		rc = find_best_seconds(q, run, calls, best, e);
	}
	for (int i = 0; i < n; i++)
		if (q->x[i].data)
			q->o->release(q->d, q->x[i].data);
	return rc;
}

int device_roof_product(const struct ops *o, struct dev *d, enum dtype dtype, int64_t side,
			int calls, double *flops, struct err *e)
{
	struct operands q = { .o = o, .d = d };
	const double n = (double)side;
	double seconds;

	if (time_operands(&q, 3, dtype, side, side, multiply_operands, calls, &seconds, e))
		return e->code;
	*flops = 2 * n * n * n / seconds;
	return 0;
}

int device_roof_memory(const struct ops *o, struct dev *d, int64_t elements, int calls,
		       double *bytes, struct err *e)
{
	struct operands q = { .o = o, .d = d };
	const int64_t rows = elements / ROW_ELEMENTS;
	double seconds;

	if (time_operands(&q, 2, DTYPE_F32, rows, ROW_ELEMENTS, add_operands, calls, &seconds, e))
		return e->code;
	*bytes = 3 * sizeof(float) * (double)(rows * ROW_ELEMENTS) / seconds;
	return 0;
}

int device_roof_measure(const struct ops *o, const struct dev_options *options,
			struct device_roof *to, struct err *e)
{
	enum dtype dtype = o->has_device_memory && options->bf16 ? DTYPE_BF16 : DTYPE_F32;
	struct dev *d = o->open(options, e);
	int64_t side = FIRST_SIDE;
	double n;
	int rc;

	if (!d)
		return e->code;
	rc = device_roof_memory(o, d, o->has_device_memory ? DEVICE_ELEMENTS : HOST_ELEMENTS, 1,
				&to->bytes, e);
	for (to->flops = 0; !rc; side *= 2) {
		double flops;

		if ((rc = device_roof_product(o, d, dtype, side, 1, &flops, e)))
			break;
		to->flops = MAX(to->flops, flops);
		n = (double)side;
		if (side >= LAST_SIDE || 2 * n * n * n / flops >= LONG_ENOUGH_S)
			break;
	}
	o->close(d);
	return rc;
}
