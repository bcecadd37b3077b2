/*
 * series.h - a measured quantity over steps, in bounded memory.
 *
 * However long a run, a series keeps at most SERIES_POINTS points (or as many as
 * series_init_small() was told): when it is
 * full, neighbours are joined two by two, and each point keeps the smallest,
 * the largest and the mean value of the samples it stands for, so that a spike
 * is never lost. A sample that is not a number is kept as a gap.
 */
#ifndef WERKBANK_TUI_PLOT_SERIES_H
#define WERKBANK_TUI_PLOT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SERIES_POINTS 2048 /* even */

struct series_point {
	double first, last; /* x of its first and last sample */
	double sum;	    /* of the samples that are numbers */
	float low, high;    /* of them */
	uint32_t n;	    /* how many they are; 0: a gap */
	uint32_t samples;   /* all of them, gaps included */
};

struct series {
	struct series_point *points; /* owned, NULL before the first sample */
	size_t n;
	uint32_t samples_a_point; /* how many samples a full point holds */
	uint32_t cap;		  /* the most points, even */
	double value;		  /* the latest sample that is a number; set NaN by series_init() */
};

void series_init(struct series *s);
void series_init_small(struct series *s, uint32_t points); /* even, 2 at least */
void series_free(struct series *s); /* it is then empty, and may be filled again */

/*
 * Add a sample. x must be finite and not below the last one (see series_truncate());
 * else the sample is ignored. Values beyond ±1e30 are taken as ±1e30.
 */
int series_add(struct series *s, double x, double y, struct err *e);

/* Forget all samples from x on: a run that resumes at a step does those steps again. */
void series_truncate(struct series *s, double x);

/* The point nearest to x; NULL: there is none. Borrowed. */
const struct series_point *series_nearest(const struct series *s, double x);

/*
 * Exponential smoothing without bias (Kingma and Ba, 2015, section 3): after y[1..n] the value is
 * sum of w^(n-i) (1-w) y[i], divided by 1 - w^n. Gaps are left out and not counted, a point that
 * stands for k samples counts as k of them. What TensorBoard shows for the same w.
 *
 *	struct smoother f = { .weight = 0.6 };
 *	for each point: shown = series_smooth(&f, point);
 */
struct smoother {
	double weight;	   /* 0 (the points as they are) up to below 1 */
	double last, left; /* private: the sum, and w^n */
	bool begun;
};
double series_smooth(struct smoother *f, const struct series_point *p); /* NaN: a gap */

/* Mean of a point; NaN for a gap. */
double series_mean(const struct series_point *p);

#endif
