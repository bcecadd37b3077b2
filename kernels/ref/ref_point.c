/*
 * ref_point.c - elementwise ops: embedding, ReLU, dropout, sums, Adam, moving averages.
 *
 *	embed		out = dropout(scale * table[id] + encoding(position))
 *	embed_grad	dtable[id] += scale * dropout'(dout)
 *	relu_dropout	x = dropout(max(0, x + bias))
 *	adam		m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
 *			param -= rate * sqrt(c2) / c1 * m / (sqrt(v) + epsilon),  c_i = 1 - b_i^t
 *	blend		x += share * (y - x)
 *
 * The backward pass of relu_dropout needs neither the mask nor the input: an element of the output y
 * is positive exactly where ReLU and dropout let the value pass, so dx = y > 0 ? dx * scale : 0.
 * adam takes its factor of the gradient (1 / tokens and clipping) from adam_factor.h.
 */
#include "kernels/ref/ref.h"

#include <string.h>

#include "kernels/ops/adam_factor.h"

/* Column col of the position encoding: sines in the first half of d_model, cosines in the second. */
static double position_sinusoid(int32_t position, int64_t col, int64_t d_model)
{
	int64_t half = d_model / 2, i = col < half ? col : col - half;
	double angle = position * exp(-log(10000.0) * (double)i / (double)MAX(half - 1, 1));

	if (col == 2 * half)
		return 0; /* the last column if d_model is odd */
	return col < half ? sin(angle) : cos(angle);
}

static double ref_position_encoding(const struct embed_how *how, int32_t position, int64_t col,
				    int64_t d_model)
{
	switch (how->kind) {
	case POSITION_SINUSOID:
		return position_sinusoid(position, col, d_model);
	case POSITION_TABLE:
		return ref_get(how->positions, position, col);
	case POSITION_NONE:
		break;
	}
	return 0;
}

void REF(embed)(struct dev *d, struct tensor out, struct tensor table, const int32_t *ids,
		const int32_t *positions, struct embed_how how, struct dropout drop)
{
	(void)d;
	for (int64_t t = 0; t < out.rows; t++) {
		for (int64_t c = 0; c < out.cols; c++) {
			double x = ids[t] < 0 ? 0 : ref_get(table, ids[t], c);

			x = how.scale * x + ref_position_encoding(&how, positions[t], c, out.cols);
			ref_set(out, t, c, x * ref_dropout_at(drop, out, t, c));
		}
	}
}

/* Tokens that occur several times add to the same row of the table. */
void REF(embed_grad)(struct dev *d, struct tensor dtable, struct tensor dout, const int32_t *ids,
		     float scale, struct dropout drop)
{
	(void)d;
	for (int64_t t = 0; t < dout.rows; t++)
		for (int64_t c = 0; c < dout.cols && ids[t] >= 0; c++)
			ref_increase(dtable, ids[t], c,
				     scale * ref_get(dout, t, c) *
					     ref_dropout_at(drop, dout, t, c));
}

void REF(relu_dropout)(struct dev *d, struct tensor x, const float *bias, struct dropout drop)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++) {
		for (int64_t c = 0; c < x.cols; c++) {
			double y = ref_get(x, t, c) + bias[c];

			ref_set(x, t, c, y > 0 ? y * ref_dropout_at(drop, x, t, c) : 0);
		}
	}
}

/* y > 0 exactly where the value passed ReLU and dropout. */
void REF(relu_dropout_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor y,
			    struct dropout drop)
{
	double scale = drop.rate > 0 ? dropout_scale(drop.rate) : 1;

	(void)d;
	for (int64_t c = 0; c < dx.cols; c++) {
		double sum = 0;

		for (int64_t t = 0; t < dx.rows; t++) {
			double g = ref_get(y, t, c) > 0 ? scale * ref_get(dx, t, c) : 0;

			ref_set(dx, t, c, g);
			sum += g;
		}
		dbias[c] = (float)(dbias[c] + sum);
	}
}

void REF(add)(struct dev *d, struct tensor x, struct tensor y)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++)
		for (int64_t c = 0; c < x.cols; c++)
			ref_increase(x, t, c, ref_get(y, t, c));
}

void REF(copy)(struct dev *d, struct tensor out, struct tensor x)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++)
		for (int64_t c = 0; c < x.cols; c++)
			ref_set(out, t, c, ref_get(x, t, c));
}

void REF(zero)(struct dev *d, void *p, size_t bytes)
{
	(void)d;
	if (bytes)
		memset(p, 0, bytes);
}

void REF(sum_squares)(struct dev *d, double *out, const float *x, int64_t n)
{
	double sum = 0;

	(void)d;
	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	*out += sum;
}

void REF(row_sums)(struct dev *d, double *out, struct tensor x)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++) {
		double sum = 0;

		for (int64_t c = 0; c < x.cols; c++)
			sum += ref_get(x, t, c);
		out[t] += sum;
	}
}

void REF(adam)(struct dev *d, float *param, float *m, float *v, const float *grad, int64_t n,
	       struct adam_step s)
{
	double rate = s.rate * sqrt(s.correction2) / s.correction1, factor = adam_factor(&s);

	(void)d;
	if (isnan(factor))
		return;
	for (int64_t i = 0; i < n; i++) {
		double g = (double)grad[i] * factor;
		double m_new = s.beta1 * (double)m[i] + (1.0 - s.beta1) * g;
		double v_new = s.beta2 * (double)v[i] + (1.0 - s.beta2) * g * g;

		m[i] = (float)m_new;
		v[i] = (float)v_new;
		param[i] = (float)(param[i] - (rate * m_new / (sqrt(v_new) + s.epsilon) +
					       (double)s.decay * (double)param[i]));
		if (s.bf16_params)
			s.bf16_params[i] = bf16_from_float((float)param[i]);
	}
}

void REF(scale)(struct dev *d, float *x, int64_t n, float by)
{
	(void)d;
	for (int64_t i = 0; i < n; i++)
		x[i] *= by;
}

void REF(blend)(struct dev *d, float *x, const float *y, int64_t n, float share)
{
	(void)d;
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)(x[i] + (double)share * ((double)y[i] - x[i]));
}
