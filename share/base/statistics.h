/*
 * statistics.h - means, quantiles, slopes and correlation of small samples.
 *
 * Every function returns NAN if there are too few numbers. None of them allocates memory.
 */
#ifndef WERKBANK_BASE_STATISTICS_H
#define WERKBANK_BASE_STATISTICS_H

#include <stddef.h>

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

#endif
