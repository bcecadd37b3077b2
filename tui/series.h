/*
 * series.h - a measured quantity over steps, in bounded memory.
 *
 * However long a run, a series keeps at most SERIES_POINTS points: when it is
 * full, neighbours are joined two by two, and each point keeps the smallest,
 * the largest and the mean value of the samples it stands for, so that a spike
 * is never lost. A sample that is not a number is kept as a gap.
 */
#ifndef WERKBANK_TUI_SERIES_H
#define WERKBANK_TUI_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

#define SERIES_POINTS 2048	/* even */

struct series_point {
	double   first, last;	/* x of its first and last sample */
	double   sum;		/* of the samples that are numbers */
	float    low, high;	/* of them */
	uint32_t n;		/* how many they are; 0: a gap */
	uint32_t samples;	/* all of them, gaps included */
};

struct series {
	struct series_point *points;	/* owned, NULL before the first sample */
	size_t   n;
	uint32_t samples_a_point;	/* how many samples a full point holds */
	double value; /* the latest sample that is a number; set NaN by series_init() */
};

void series_init(struct series *s);
void series_free(struct series *s);

/*
 * Add a sample. x must be finite and not below the last one (see series_cut());
 * else the sample is ignored. Values beyond ±1e30 are taken as ±1e30.
 */
int series_add(struct series *s, double x, double y, struct err *e);

/* Forget all samples from x on: a run that resumes at a step does those steps again. */
void series_cut(struct series *s, double x);

/* Mean of a point; NaN for a gap. */
double series_mean(const struct series_point *p);

#endif
