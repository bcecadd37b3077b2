/* product_rates.c - see product_rates.h */
#include "kernels/product_rates.h"

#include <math.h>

#include "kernels/ops/ops.h"
#include "share/base/clock.h"
#include "share/base/util.h"

#define SIDE	     256 /* the three matrices fit into a second-level cache */
#define SECONDS	     0.1 /* of all rounds; one round at least */
#define PRODUCTS     4	 /* in a round */
#define CLEARLY_MORE 1.2 /* ratio of rates; repeated measurements of one format differ by less */

/* Multiplies PRODUCTS times. best becomes the rate of these products if it is higher. */
static void time_products(const struct ops *o, struct dev *d, float *x, double *best)
{
	const struct matmul_how how = { .b_transposed = true };
	const struct tensor a = tensor_f32(x, SIDE, SIDE),
			    b = tensor_f32(x + SIDE * SIDE, SIDE, SIDE),
			    out = tensor_f32(x + 2 * SIDE * SIDE, SIDE, SIDE);
	const double start = clock_mono_s();
	double seconds;

	for (int i = 0; i < PRODUCTS; i++)
		o->matmul(d, out, a, b, how);
	seconds = fmax(clock_mono_s() - start, 1e-9);
	*best = fmax(*best, PRODUCTS * 2.0 * SIDE * SIDE * SIDE / seconds / 1e9);
}

int product_rates_measure(struct product_rates *r, struct err *e)
{
	const struct ops *o = ops_cpu();
	struct dev *d[2] = { NULL };
	float *x = NULL;
	double end;

	*r = (struct product_rates){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(d); i++) {
		d[i] = o->open(&(struct dev_options){ .threads = 1, .bf16 = i == 1 }, e);
		if (!d[i])
			goto done;
	}
	x = o->alloc(d[0], 3 * SIDE * SIDE * sizeof(*x), e);
	if (!x)
		goto done;
	for (int i = 0; i < 2 * SIDE * SIDE; i++)
		x[i] = (float)(i % 13 - 6) / 8;
	end = clock_mono_s() + SECONDS;
	do {
		time_products(o, d[0], x, &r->fp32);
		time_products(o, d[1], x, &r->bf16);
	} while (clock_mono_s() < end);
	if (o->sync(d[0], e) == 0)
		o->sync(d[1], e);
done:
	o->release(d[0], x);
	for (size_t i = 0; i < ARRAY_LEN(d); i++)
		o->close(d[i]);
	return e->code;
}

bool product_rates_prefer_fp32(const struct product_rates *r)
{
	return r->fp32 > CLEARLY_MORE * r->bf16;
}
