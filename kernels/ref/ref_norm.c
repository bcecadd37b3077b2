/*
 * ref_norm.c - normalisation of rows, alone and fused with a residual connection.
 *
 * For each row x of D columns:
 *
 *	mean = sum x / D,  rstd = 1 / sqrt(sum (x - mean)^2 / D + epsilon)
 *	n = (x - mean) * rstd,  out = n * scale + shift
 *
 * That is layer normalisation (Ba et al. 2016). RMS normalisation (Zhang and Sennrich 2019) has mean = 0
 * and no shift. mean and rstd are stored for the backward pass, which needs x but not out. With
 * g = dout * scale and avg() the average over the row (RMS: without avg(g), because nothing subtracts a mean):
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
			  const float *scale, const float *shift, struct norm_how how)
{
	double sum = 0, squares = 0, m, r;

	if (how.kind == NORM_NONE) {
		for (int64_t c = 0; c < x.cols; c++)
			ref_set(out, t, c, ref_get(x, t, c));
		return;
	}

	for (int64_t c = 0; c < x.cols && how.kind == NORM_LAYER; c++)
		sum += ref_get(x, t, c);
	m = sum / (double)x.cols;
	for (int64_t c = 0; c < x.cols; c++)
		squares += (ref_get(x, t, c) - m) * (ref_get(x, t, c) - m);
	r = 1 / sqrt(squares / (double)x.cols + how.epsilon);
	for (int64_t c = 0; c < x.cols; c++)
		ref_set(out, t, c, (ref_get(x, t, c) - m) * r * scale[c] + (shift ? shift[c] : 0));
	mean[t] = (float)m;
	rstd[t] = (float)r;
}

void REF(norm)(struct dev *d, struct tensor out, float *mean, float *rstd, struct tensor x,
	       const float *scale, const float *shift, struct norm_how how)
{
	(void)d;
	for (int64_t t = 0; t < x.rows; t++)
		normalise_row(out, mean, rstd, x, t, scale, shift, how);
}

/* Of NORM_NONE. */
static void pass_grad(struct tensor dx, struct tensor dout, bool accumulate)
{
	for (int64_t t = 0; t < dx.rows; t++)
		for (int64_t c = 0; c < dx.cols; c++)
			ref_set(dx, t, c,
				ref_get(dout, t, c) + (accumulate ? ref_get(dx, t, c) : 0));
}

void REF(norm_grad)(struct dev *d, struct tensor dx, float *dscale, float *dshift,
		    struct tensor dout, struct tensor x, const float *mean, const float *rstd,
		    const float *scale, struct norm_how how, bool accumulate)
{
	(void)d;
	if (how.kind == NORM_NONE) {
		pass_grad(dx, dout, accumulate);
		return;
	}
	for (int64_t t = 0; t < x.rows; t++) {
		double g_sum = 0, gn_sum = 0;

		for (int64_t c = 0; c < x.cols; c++) {
			double n = ((double)ref_get(x, t, c) - mean[t]) * rstd[t],
			       g = (double)ref_get(dout, t, c) * scale[c];

			g_sum += how.kind == NORM_LAYER ? g : 0;
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
		double scale_sum = dscale[c], shift_sum = dshift ? dshift[c] : 0;

		for (int64_t t = 0; t < x.rows; t++) {
			scale_sum += (double)ref_get(dout, t, c) *
				     ((double)ref_get(x, t, c) - mean[t]) * rstd[t];
			shift_sum += ref_get(dout, t, c);
		}
		dscale[c] = (float)scale_sum;
		if (dshift)
			dshift[c] = (float)shift_sum;
	}
}

void REF(add_norm)(struct dev *d, struct tensor sum, struct tensor out, float *mean, float *rstd,
		   struct tensor residual, struct tensor branch, const float *bias,
		   const float *scale, const float *shift, struct norm_how how, struct dropout drop)
{
	(void)d;
	for (int64_t t = 0; t < sum.rows; t++) {
		for (int64_t c = 0; c < sum.cols; c++) {
			double b = ref_get(branch, t, c) + (double)(bias ? bias[c] : 0);

			ref_set(sum, t, c,
				ref_get(residual, t, c) + b * ref_dropout_at(drop, sum, t, c));
		}
		normalise_row(out, mean, rstd, sum, t, scale, shift, how);
	}
}

void REF(add_norm_grad)(struct dev *d, struct tensor dsum, struct tensor dbranch, float *dbias,
			float *dscale, float *dshift, struct tensor dout, struct tensor sum,
			const float *mean, const float *rstd, const float *scale,
			struct norm_how how, struct dropout drop)
{
	REF(norm_grad)(d, dsum, dscale, dshift, dout, sum, mean, rstd, scale, how, true);
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
