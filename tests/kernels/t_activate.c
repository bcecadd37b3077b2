/*
 * t_activate.c - the vector functions of activations.def on every machine level: their errors over a wide
 * range, infinities, numbers that are not numbers.
 */
#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"
#include "tests/test.h"

#define N 40003 /* odd: rows that end within a vector */

static const char *const names[N_ACTIVATIONS] = {
#define ACTIVATION(name, text) text,
#include "share/base/activations.def"
};

/* y = act(x), slope = act'(x), of n numbers. */
static void activate_by(const struct ops *o, enum activation act, float *y, float *slope, float *x,
			int64_t n)
{
	const struct dev_options options = { .threads = 1 };
	const struct dropout none = { 0 };
	struct err e = { 0 };
	struct dev *d = o->open(&options, &e);

	if (!check(d))
		return;
	for (int64_t i = 0; i < n; i++)
		slope[i] = 1;
	o->activate(d, tensor_f32(y, 1, n), tensor_f32(x, 1, n), NULL, act, none);
	o->activate_grad(d, tensor_f32(slope, 1, n), NULL, tensor_f32(slope, 1, n),
			 tensor_f32(x, 1, n), NULL, act, none);
	o->close(d);
}

/* act is off by at most 3e-7 (1 + |act|), the slope by 2e-6, from -20 to 20. */
TEST(activate_errors)
{
	static float x[N], y[N], slope[N], want[N], want_slope[N];

	for (int i = 0; i < N; i++)
		x[i] = (float)(i - N / 2) * (20.0f / (N / 2));
	for (int a = 0; a < N_ACTIVATIONS; a++) {
		activate_by(ops_ref(), a, want, want_slope, x, N);
		for (int v = 0; v < CPU_VARIANTS; v++) {
			double worst = 0, worst_slope = 0;

			if (!cpu_variant(v))
				continue;
			activate_by(cpu_variant(v), a, y, slope, x, N);
			for (int i = 0; i < N; i++) {
				double y_error = fabs((double)y[i] - want[i]) / (1 + fabs(want[i])),
				       s_error = fabs((double)slope[i] - want_slope[i]);

				worst = fmax(worst, y_error);
				worst_slope = fmax(worst_slope, s_error);
			}
			if (worst > 3e-7 || worst_slope > 2e-6)
				test_fail(__FILE__, __LINE__, "%s, level %d: errors %g and %g",
					  names[a], v, worst, worst_slope);
		}
	}
}

/* Far from 0 act(x) is x or 0, and its slope 1 or 0; NaN stays NaN, so that training notices it. */
TEST(activate_far)
{
	float x[] = { 100, 1e10f, 3e38f, -100, -1e10f, -3e38f, NAN, -NAN }, y[ARRAY_LEN(x)],
	      slope[ARRAY_LEN(x)];

	for (int a = 0; a < N_ACTIVATIONS; a++)
		for (int v = 0; v < CPU_VARIANTS; v++) {
			if (!cpu_variant(v))
				continue;
			activate_by(cpu_variant(v), a, y, slope, x, ARRAY_LEN(x));
			for (int i = 0; i < 6; i++) {
				const bool is_good =
					y[i] == fmaxf(x[i], 0) && slope[i] == (x[i] > 0);

				if (!is_good)
					test_fail(__FILE__, __LINE__,
						  "%s, level %d: act(%g) is %g, its slope %g",
						  names[a], v, (double)x[i], (double)y[i],
						  (double)slope[i]);
			}
			check(isnan(y[6]) && isnan(y[7]));
			check(a == ACTIVATION_relu || (isnan(slope[6]) && isnan(slope[7])));
		}
}

/* The state of an SSRU, its output and all gradients of that column are NaN from a NaN on. */
TEST(ssru_passes_nan)
{
	enum { ROWS = 4, D = 9 };
	const int32_t start[] = { 0, ROWS };
	const struct dev_options options = { .threads = 1 };
	struct err e = { 0 };

	for (int v = 0; v < CPU_VARIANTS; v++) {
		float x[ROWS * 2 * D] = { 0 }, out[ROWS * D], state[ROWS * D], bias[D] = { 0 };
		struct dev *d;

		if (!cpu_variant(v))
			continue;
		d = cpu_variant(v)->open(&options, &e);
		x[1 * 2 * D + D + 8] = NAN;
		cpu_variant(v)->ssru(d, tensor_f32(out, ROWS, D), tensor_f32(state, ROWS, D),
				     tensor_f32(x, ROWS, 2 * D), bias, start, 1, ROWS);
		for (int t = 0; t < ROWS; t++)
			for (int c = 0; c < D; c++)
				check(isnan(out[t * D + c]) == (t >= 1 && c == 8));
		cpu_variant(v)->close(d);
	}
}
