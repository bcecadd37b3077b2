/*
 * series.h - a measured quantity over steps, decimated to bounded memory.
 *
 * A series keeps at most SERIES_POINTS points (or the number given to series_init_small()).
 * When it is full, each pair of neighbours is merged into one point, and a new point collects
 * twice as many samples from then on. A point keeps the smallest, the largest and the mean
 * value of its samples, so no spike is lost. A NaN sample is kept as a gap.
 */
#ifndef WERKBANK_TUI_PLOT_SERIES_H
#define WERKBANK_TUI_PLOT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SERIES_POINTS 2048 /* even */

struct series_point {
	double first, last; /* x of the first and the last sample */
	double sum;	    /* sum of the samples but NaN */
	float low, high;    /* range of the samples but NaN */
	uint32_t n;	    /* samples that are not NaN; 0: a gap */
	uint32_t samples;   /* all samples, gaps included */
};

struct series {
	struct series_point *points; /* owned, NULL before the first sample */
	size_t n;
	uint32_t samples_a_point; /* samples of a complete point: a power of two */
	uint32_t cap;		  /* capacity in points, even */
	double value;		  /* the latest sample that is not NaN; NaN: none */
};

/* An empty series with SERIES_POINTS points, or with a smaller capacity. */
void series_init(struct series *s);
void series_init_small(struct series *s, uint32_t points); /* capacity: even, at least 2 */
void series_free(struct series *s);			   /* leaves an empty, usable series */

/*
 * Add a sample. x must be finite and at least the last x (see series_truncate()), else the sample
 * is ignored. Values are clamped to ±1e30. ERR_NOMEM.
 */
int series_add(struct series *s, double x, double y, struct err *e);

/* Remove all samples from x on: a run that resumes at a step repeats the later steps. */
void series_truncate(struct series *s, double x);

/* The point nearest to x; NULL if the series is empty. Borrowed until the next change. */
const struct series_point *series_nearest(const struct series *s, double x);

/*
 * Exponential smoothing with bias correction (Kingma and Ba, 2015, section 3): after y[1..n]
 * the value is the sum of w^(n-i) (1-w) y[i], divided by 1 - w^n. Gaps are skipped. A point
 * of k samples counts as k equal values. TensorBoard shows the same for the same w.
 *
 *	struct smoother f = { .weight = 0.6 };
 *	for each point: shown = series_smooth(&f, point);
 */
struct smoother {
	double weight;	   /* 0 (raw points) up to below 1 */
	double last, left; /* private: the sum, and w^n */
	bool begun;
};
double series_smooth(struct smoother *f, const struct series_point *p); /* NaN: a gap */

/* Mean of a point; NaN for a gap. */
double series_mean(const struct series_point *p);

#endif
