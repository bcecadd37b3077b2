/*
 * statistics.h - means, quantiles, slopes and correlation of small samples; the recent pace of a run.
 *
 * Every function returns NAN if there are too few numbers. None of them allocates memory.
 */
#ifndef WERKBANK_SHARE_BASE_STATISTICS_H
#define WERKBANK_SHARE_BASE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double stat_mean(const double *x, size_t n);
/* The q-quantile (q: 0 ... 1), linear between order statistics. x may be unsorted. */
double stat_quantile(const double *x, size_t n, double q);
double stat_median(const double *x, size_t n);
/* Pearson's r of n pairs. */
double stat_correlation(const double *x, const double *y, size_t n);

struct slope_estimate {
	double median;	  /* Theil-Sen: the median of the slopes of all pairs (Sen 1968) */
	double low, high; /* 95 % interval, by bootstrap over the points */
};

/* The median of the slopes of all pairs of points. Uses at most 64 points, spread evenly over all. */
double stat_median_slope(const double *x, const double *y, size_t n);
/* Uses at most 64 points, spread evenly over all. Deterministic: the bootstrap has a fixed seed. */
struct slope_estimate stat_slope(const double *x, const double *y, size_t n);

/*
 * The recent pace of a run in seconds a step. Wall time counts, with evaluations and checkpoints. The
 * weight of a second falls with its age: exp(-age / PACE_WINDOW_S). The progress line of training and
 * the workbench compute their "left" with these functions, so that both show the same.
 */
#define PACE_WINDOW_S 600.0

struct step_pace { /* all zero: no point yet */
	bool has_point;
	double t;	       /* of the last point, in seconds of any clock */
	int64_t step;	       /* of the last point */
	double seconds, steps; /* weighted sums between points */
};

/*
 * Add a point: the run finished `step` at the time t. A step below the last one (the run was rewound)
 * forgets all points before. A time before the last one (the clock was set back) adds no seconds.
 */
void step_pace_add(struct step_pace *p, double t, int64_t step);
/* Seconds a step; NaN before two points. */
double step_pace_seconds(const struct step_pace *p);

/*
 * Seconds until a run ends, by `steps` more steps of `pace` seconds or by its time limit, whichever
 * comes first. steps < 0, pace NaN: unknown; max_minutes 0: no limit; elapsed: seconds of training so
 * far, NaN: unknown. NaN if neither end is known.
 */
double step_pace_left(double pace, double steps, double max_minutes, double elapsed);

#endif
