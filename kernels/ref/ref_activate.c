/*
 * ref_activate.c - activations, gates, rotary positions, sums of columns.
 *
 *	activate	out = dropout(act(x + bias)), or dropout(act(a) g) with a and g the halves of x + bias
 *	activate_grad	da = act'(a) g dout',  dg = act(a) dout',  dout' = dropout'(dout)
 *
 * The gradient needs the input x, not the output: most activations are not monotonous. An activation is a
 * row of activations.def, ref_act_NAME() and ref_slope_NAME(), its derivative.
 */
#include <assert.h>

#include "kernels/ref/ref.h"

static double ref_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* The normal distribution: its density, and the area below x. */
static double normal_density(double x)
{
	return exp(-x * x / 2) / sqrt(2 * M_PI);
}

static double ref_normal_area(double x)
{
	return 0.5 * erfc(-x / M_SQRT2);
}

static double ref_act_relu(double x)
{
	return fmax(x, 0);
}

static double ref_slope_relu(double x)
{
	return x > 0;
}

static double ref_act_gelu(double x)
{
	return x * ref_normal_area(x);
}

static double ref_slope_gelu(double x)
{
	return ref_normal_area(x) + x * normal_density(x);
}

#define GELU_CUBE   0.044715
#define GELU_FACTOR 0.79788456080286535588 /* sqrt(2 / pi) */

static double ref_act_gelu_tanh(double x)
{
	return 0.5 * x * (1 + tanh(GELU_FACTOR * (x + GELU_CUBE * x * x * x)));
}

static double ref_slope_gelu_tanh(double x)
{
	double t = tanh(GELU_FACTOR * (x + GELU_CUBE * x * x * x));

	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * GELU_FACTOR * (1 + 3 * GELU_CUBE * x * x);
}

#define GELU_SIGMOID 1.702

static double ref_act_gelu_sigmoid(double x)
{
	return x * ref_sigmoid(GELU_SIGMOID * x);
}

static double ref_slope_gelu_sigmoid(double x)
{
	double s = ref_sigmoid(GELU_SIGMOID * x);

	return s + GELU_SIGMOID * x * s * (1 - s);
}

static double ref_act_silu(double x)
{
	return x * ref_sigmoid(x);
}

static double ref_slope_silu(double x)
{
	double s = ref_sigmoid(x);

	return s + x * s * (1 - s);
}

static const struct {
	double (*act)(double x);
	double (*slope)(double x);
} activations[N_ACTIVATIONS] = {
#define ACTIVATION(name, text) [ACTIVATION_##name] = { ref_act_##name, ref_slope_##name },
#include "share/base/activations.def"
};

static double biased(struct tensor x, const float *bias, int64_t t, int64_t c)
{
	return ref_get(x, t, c) + (double)(bias ? bias[c] : 0);
}

void REF(activate)(struct dev *d, struct tensor out, struct tensor x, const float *bias,
		   enum activation act, struct dropout drop)
{
	const bool is_gated = x.cols == 2 * out.cols;

	(void)d;
	assert(is_gated || x.cols == out.cols);
	for (int64_t t = 0; t < out.rows; t++)
		for (int64_t c = 0; c < out.cols; c++) {
			double y = activations[act].act(biased(x, bias, t, c));

			if (is_gated)
				y *= biased(x, bias, t, out.cols + c);
			ref_set(out, t, c, y * ref_dropout_at(drop, out, t, c));
		}
}

void REF(activate_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
			struct tensor x, const float *bias, enum activation act,
			struct dropout drop)
{
	const int64_t F = dout.cols;
	const bool is_gated = x.cols == 2 * F;

	(void)d;
	assert(is_gated || x.cols == F);
	for (int64_t t = 0; t < dout.rows; t++)
		for (int64_t c = 0; c < F; c++) {
			double g = ref_get(dout, t, c) * ref_dropout_at(drop, dout, t, c),
			       a = biased(x, bias, t, c),
			       gate = is_gated ? biased(x, bias, t, F + c) : 1;

			ref_set(dx, t, c, g * gate * activations[act].slope(a));
			if (is_gated)
				ref_set(dx, t, F + c, g * activations[act].act(a));
		}
	if (dbias)
		REF(column_sums)(d, dbias, dx);
}

void REF(column_sums)(struct dev *d, float *sums, struct tensor x)
{
	(void)d;
	for (int64_t c = 0; c < x.cols; c++) {
		double sum = sums[c];

		for (int64_t t = 0; t < x.rows; t++)
			sum += ref_get(x, t, c);
		sums[c] = (float)sum;
	}
}

void REF(rotate)(struct dev *d, struct tensor x, struct tensor waves, const int32_t *positions,
		 int32_t heads, bool back)
{
	const int64_t W = x.cols / heads, half = W / 2;

	(void)d;
	assert(x.cols % heads == 0 && waves.cols == W && W % 2 == 0);
	for (int64_t t = 0; t < x.rows; t++)
		for (int64_t c = 0; c < x.cols; c++) {
			const int64_t i = c % W;
			double cosine, sine, a, b;

			if (i >= half)
				continue;
			cosine = ref_get(waves, positions[t], i);
			sine = ref_get(waves, positions[t], half + i) * (back ? -1 : 1);
			a = ref_get(x, t, c);
			b = ref_get(x, t, c + half);
			ref_set(x, t, c, a * cosine - b * sine);
			ref_set(x, t, c + half, b * cosine + a * sine);
		}
}
