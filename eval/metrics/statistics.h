/*
 * statistics.h - what a few numbers say: quantiles, slopes, correlation.
 *
 * NAN where there are too few of them.
 */
#ifndef WERKBANK_EVAL_METRICS_STATISTICS_H
#define WERKBANK_EVAL_METRICS_STATISTICS_H

#include <stddef.h>

double stat_mean(const double *x, size_t n);
/* The q-quantile, 0..1, linear between order statistics. Sorts a copy. */
double stat_quantile(const double *x, size_t n, double q);
double stat_median(const double *x, size_t n);
/* Pearson's r. */
double stat_correlation(const double *x, const double *y, size_t n);

struct slope_estimate {
	double median;	  /* Theil-Sen: the median of the slopes of all pairs (Sen 1968) */
	double low, high; /* 95 % interval, by bootstrap over the points */
};

/* At most 64 points, spread evenly over more; the same numbers give the same interval. */
struct slope_estimate stat_slope(const double *x, const double *y, size_t n);

#endif
