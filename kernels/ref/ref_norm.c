/*
 * ref_norm.c - layer normalisation (Ba et al. 2016), alone and fused with a residual connection.
 *
 * For each row x of D columns:
 *
 *	mean = sum x / D,  rstd = 1 / sqrt(sum (x - mean)^2 / D + NORM_EPSILON)
 *	n = (x - mean) * rstd,  out = n * scale + shift
 *
 * mean and rstd are stored for the backward pass, which needs x but not out. With g = dout * scale
 * and avg() the average over the row:
 *
 *	dx = rstd * (g - avg(g) - n * avg(g * n))
 *	dscale += sum over rows of dout * n,  dshift += sum over rows of dout
 *
 * add_norm makes x itself: sum = residual + dropout(branch + bias), the end of a sublayer of the
 * transformer. Its backward pass adds the norm's gradient to the gradient that arrives through
 * the residual connection, and passes it on through dropout to the branch.
 */
#include "kernels/ref/ref.h"

/* Two passes: squares around the mean lose no digits when the mean is large. */
static void normalise_row(struct tensor out, float *mean, float *rstd, struct tensor x, int64_t t,
			  const float *scale, const float *shift)
{
	double sum = 0, squares = 0, m, r;

	for (int64_t c = 0; c < x.cols; c++)
		sum += ref_get(x, t, c);
	m = sum / (double)x.cols;
	for (int64_t c = 0; c < x.cols; c++)
		squares += (ref_get(x, t, c) - m) * (ref_get(x, t, c) - m);
	r = 1 / sqrt(squares / (double)x.cols + NORM_EPSILON);
	for (int64_t c = 0; c < x.cols; c++)
		ref_set(out, t, c, (ref_get(x, t, c) - m) * r * scale[c] + shift[c]);
	mean[t] = (float)m;
	rstd[t] = (float)r;
}

void REF(norm)(struct dev *d, struct tensor out, float *mean, float *rstd, struct tensor x,
	       const float *scale, const float *shift)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++)
		normalise_row(out, mean, rstd, x, t, scale, shift);
}

void REF(norm_grad)(struct dev *d, struct tensor dx, float *dscale, float *dshift,
		    struct tensor dout, struct tensor x, const float *mean, const float *rstd,
		    const float *scale, bool accumulate)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++) {
		double g_sum = 0, gn_sum = 0;

		for (int64_t c = 0; c < x.cols; c++) {
			double n = ((double)ref_get(x, t, c) - mean[t]) * rstd[t],
			       g = (double)ref_get(dout, t, c) * scale[c];

			g_sum += g;
			gn_sum += g * n;
		}
		for (int64_t c = 0; c < x.cols; c++) {
			double n = ((double)ref_get(x, t, c) - mean[t]) * rstd[t],
			       g = (double)ref_get(dout, t, c) * scale[c];
			double grad = rstd[t] *
				      (g - g_sum / (double)x.cols - n * gn_sum / (double)x.cols);

			ref_set(dx, t, c, grad + (accumulate ? ref_get(dx, t, c) : 0));
		}
	}
	for (int64_t c = 0; c < x.cols; c++) {
		double scale_sum = dscale[c], shift_sum = dshift[c];

		for (int64_t t = 0; t < x.rows; t++) {
			scale_sum += (double)ref_get(dout, t, c) *
				     ((double)ref_get(x, t, c) - mean[t]) * rstd[t];
			shift_sum += ref_get(dout, t, c);
		}
		dscale[c] = (float)scale_sum;
		dshift[c] = (float)shift_sum;
	}
}

void REF(add_norm)(struct dev *d, struct tensor sum, struct tensor out, float *mean, float *rstd,
		   struct tensor residual, struct tensor branch, const float *bias,
		   const float *scale, const float *shift, struct dropout drop)
{
	(void)d;
	for (int64_t t = 0; t < sum.rows; t++) {
		for (int64_t c = 0; c < sum.cols; c++) {
			double b = ref_get(branch, t, c) + (double)(bias ? bias[c] : 0);

			ref_set(sum, t, c,
				ref_get(residual, t, c) + b * ref_dropout_at(drop, sum, t, c));
		}
		normalise_row(out, mean, rstd, sum, t, scale, shift);
	}
}

void REF(add_norm_grad)(struct dev *d, struct tensor dsum, struct tensor dbranch, float *dbias,
			float *dscale, float *dshift, struct tensor dout, struct tensor sum,
			const float *mean, const float *rstd, const float *scale,
			struct dropout drop)
{
	REF(norm_grad)(d, dsum, dscale, dshift, dout, sum, mean, rstd, scale, true);
	for (int64_t c = 0; c < dsum.cols; c++) {
		double total = dbias ? dbias[c] : 0;

		for (int64_t t = 0; t < dsum.rows; t++) {
			double g = ref_get(dsum, t, c) * ref_dropout_at(drop, dsum, t, c);

			ref_set(dbranch, t, c, g);
			total += g;
		}
		if (dbias)
			dbias[c] = (float)total;
	}
}
