/*
 * ref_linear.c - products with packed weights, and packing; panels.h describes the layout.
 *
 *	pack:	packed (N, K) = b (N, K) as float, bf16 or int8, unit by unit in panels
 *	linear:	out (M, N) = a (M, K) packed^T + bias, then max(0, out) if relu
 *
 * The input is converted like the weights:
 *
 *	float	x w
 *	bf16	round(x) w			both bf16, the product and the sum exact
 *	int8	q(x) q(w), integers		the sum times scale(row of a) * scale(row of weights),
 *						q(x) = rint(x * 127 / amax), scale = amax / 127
 *
 * The fast backends sum int8 products in int32, which is exact, so they differ from this file only
 * by the rounding of the scales. linear_top_k passes linear_element() to best_of_row()
 * (ref_decode.c) and so needs no buffer of logits.
 */
#include "kernels/ops/panels.h"
#include "kernels/ref/ref.h"

/* Address of the first byte of element (n, k). */
static unsigned char *packed_address(struct tensor packed, int64_t n, int64_t k)
{
	int64_t elements = panel_unit(packed.dtype);
	int64_t unit = k / elements * PANEL_WIDTH + n % PANEL_WIDTH;

	return (unsigned char *)(panel_data(packed, n / PANEL_WIDTH) + unit) +
	       k % elements * (4 / elements);
}

/* The greatest magnitude of a row. */
static float row_max_abs(struct tensor t, int64_t row)
{
	float amax = 0;

	for (int64_t k = 0; k < t.cols; k++)
		amax = fmaxf(amax, fabsf((float)ref_get(t, row, k)));
	return amax;
}

/* x as a multiple of amax / 127, to nearest, ties to even: symmetric, 0 stays 0, -128 is not used. */
static int8_t quantise_element(float x, float amax)
{
	float y = amax > 0 ? rintf(x * (127 / amax)) : 0;

	return (int8_t)fminf(fmaxf(y, -127), 127);
}

/* Store x as element (n, k), converted to the dtype of packed; int8: add it to the row's sum. */
static void put_packed_element(struct tensor packed, int64_t n, int64_t k, float x, float amax)
{
	unsigned char *to = packed_address(packed, n, k);

	if (packed.dtype == DTYPE_PACKED_INT8) {
		int8_t q = quantise_element(x, amax);

		memcpy(to, &q, sizeof(q));
		panel_sums(packed)[n] += q;
	} else if (packed.dtype == DTYPE_PACKED_BF16) {
		uint16_t half = bf16_from_float(x);

		memcpy(to, &half, sizeof(half));
	} else {
		memcpy(to, &x, sizeof(x));
	}
}

void REF(pack)(struct dev *d, struct tensor packed, struct tensor b)
{
	size_t bytes;

	(void)d;
	if (!panel_bytes(packed, &bytes))
		return;
	memset(packed.data, 0, bytes);
	for (int64_t n = 0; n < packed.rows; n++) {
		float amax = row_max_abs(b, n);

		if (packed.dtype == DTYPE_PACKED_INT8)
			panel_scales(packed)[n] = amax / 127;
		for (int64_t k = 0; k < packed.cols; k++)
			put_packed_element(packed, n, k, (float)ref_get(b, n, k), amax);
	}
}

/* The value of element (n, k); for int8 the integer, not scaled. */
static double packed_weight(struct tensor packed, int64_t n, int64_t k)
{
	const unsigned char *from;
	uint16_t half;
	int8_t q;
	float x;

	if (!tensor_is_packed(packed))
		return ref_get(packed, n, k);
	from = packed_address(packed, n, k);
	if (packed.dtype == DTYPE_PACKED_INT8) {
		memcpy(&q, from, sizeof(q));
		return q;
	}
	if (packed.dtype == DTYPE_PACKED_BF16) {
		memcpy(&half, from, sizeof(half));
		return bf16_to_float(half);
	}
	memcpy(&x, from, sizeof(x));
	return x;
}

static double as_bf16(double x)
{
	return bf16_to_float(bf16_from_float((float)x));
}

static double linear_input(enum dtype packed, float x, float amax)
{
	return packed == DTYPE_PACKED_INT8   ? quantise_element(x, amax)
	       : packed == DTYPE_PACKED_BF16 ? as_bf16(x)
					     : x;
}

/* Row m of a, and the weights it is multiplied by. */
struct row {
	struct tensor a, packed;
	int64_t m;
	float amax;	   /* greatest magnitude of the row */
	const float *bias; /* of op linear_top_k; NULL: none */
	bool rounded; /* weights that are not packed: round both factors to bf16, as matmul does */
};

/* Element n of the output row: sum over k, for int8 of integers, then times both scales. */
static double linear_element(const struct row *r, int64_t n)
{
	double sum = 0;

	for (int64_t k = 0; k < r->a.cols; k++) {
		double x = linear_input(r->packed.dtype, (float)ref_get(r->a, r->m, k), r->amax),
		       w = packed_weight(r->packed, n, k);

		sum += r->rounded ? as_bf16(x) * as_bf16(w) : x * w;
	}
	if (r->packed.dtype == DTYPE_PACKED_INT8)
		sum *= r->amax / 127 * panel_scales(r->packed)[n];
	return sum;
}

void REF(linear)(struct dev *d, struct tensor out, struct tensor a, struct tensor packed,
		 const float *bias, bool relu)
{
	const bool rounded = !tensor_is_packed(packed) && ((struct ref_dev *)d)->bf16;

	for (int64_t m = 0; m < out.rows; m++) {
		struct row r = { a, packed, m, row_max_abs(a, m), NULL, rounded };

		for (int64_t n = 0; n < out.cols; n++) {
			double x = linear_element(&r, n) + (bias ? bias[n] : 0);

			ref_set(out, m, n, relu ? fmax(x, 0) : x);
		}
	}
}

static float logit_of_row(const void *row, int64_t n)
{
	const struct row *r = row;

	return (float)(linear_element(r, n) + (r->bias ? r->bias[n] : 0));
}

void REF(linear_top_k)(struct dev *d, float *values, int32_t *ids, struct tensor a,
		       struct tensor packed, const float *bias, int64_t n_real, int32_t k)
{
	(void)d;
	for (int64_t m = 0; m < a.rows; m++) {
		struct row r = { a, packed, m, row_max_abs(a, m), bias, false };

		REF(best_of_row)(values + m * k, ids + m * k, logit_of_row, &r, n_real, k);
	}
}
