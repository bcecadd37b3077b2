/*
 * ref_ssru.c - the simpler simple recurrent unit (Kim et al. 2019), a decoder without self attention.
 *
 *	f_t = sigmoid(gate_t + bias)
 *	state_t = f_t state_(t-1) + (1 - f_t) z_t	out_t = max(0, state_t)
 *
 * The backward pass goes from the last row of a sentence to the first one; s is the gradient of state_t:
 *
 *	s = (state_t > 0) dout_t + f_(t+1) s_(t+1)
 *	dz_t = (1 - f_t) s	dgate_t = f_t (1 - f_t) (state_(t-1) - z_t) s
 */
#include "kernels/ref/ref.h"

static double forget_gate(struct tensor x, const float *bias, int64_t t, int64_t c)
{
	return 1 / (1 + exp(-(ref_get(x, t, x.cols / 2 + c) + (double)bias[c])));
}

void REF(ssru)(struct dev *d, struct tensor out, struct tensor state, struct tensor x,
	       const float *bias, const int32_t *start, int32_t n, int32_t longest)
{
	(void)d, (void)longest;
	for (int32_t s = 0; s < n; s++)
		for (int64_t c = 0; c < out.cols; c++) {
			double now = 0;

			for (int64_t t = start[s]; t < start[s + 1]; t++) {
				double f = forget_gate(x, bias, t, c);

				now = f * now + (1 - f) * ref_get(x, t, c);
				ref_set(state, t, c, now);
				ref_set(out, t, c, fmax(now, 0));
			}
		}
}

void REF(ssru_grad)(struct dev *d, struct tensor dx, float *dbias, struct tensor dout,
		    struct tensor state, struct tensor x, const float *bias, const int32_t *start,
		    int32_t n, int32_t longest)
{
	const int64_t D = dout.cols;

	(void)d, (void)longest;
	for (int32_t s = 0; s < n; s++)
		for (int64_t c = 0; c < D; c++) {
			double later = 0; /* f_(t+1) s_(t+1) */

			for (int64_t t = start[s + 1] - 1; t >= start[s]; t--) {
				double f = forget_gate(x, bias, t, c),
				       before = t > start[s] ? ref_get(state, t - 1, c) : 0,
				       g = later +
					   (ref_get(state, t, c) > 0 ? ref_get(dout, t, c) : 0);

				later = f * g;
				ref_set(dx, t, D + c,
					f * (1 - f) * (before - ref_get(x, t, c)) * g);
				ref_set(dx, t, c, (1 - f) * g);
			}
		}
	for (int64_t c = 0; c < D; c++) {
		double sum = dbias[c];

		for (int64_t t = 0; t < dx.rows; t++)
			sum += ref_get(dx, t, D + c);
		dbias[c] = (float)sum;
	}
}

void REF(ssru_step)(struct dev *d, struct tensor out, struct tensor states, struct tensor x,
		    const float *bias, const int32_t *from, const int32_t *to)
{
	(void)d;
	for (int64_t r = 0; r < out.rows; r++)
		for (int64_t c = 0; c < out.cols; c++) {
			double f = forget_gate(x, bias, r, c),
			       before = from[r] < 0 ? 0 : ref_get(states, from[r], c),
			       now = f * before + (1 - f) * ref_get(x, r, c);

			ref_set(states, to[r], c, now);
			ref_set(out, r, c, fmax(now, 0));
		}
}
