/* statistics.c - quantiles, robust slopes, correlation; see statistics.h */
#include "share/base/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/rng.h"
#include "share/base/util.h"

#define SLOPE_POINTS 64
#define SLOPE_PAIRS  (SLOPE_POINTS * (SLOPE_POINTS - 1) / 2)
#define RESAMPLES    400
#define SEED	     12345

double stat_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

static int by_double_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The q-quantile of n >= 1 sorted values. */
static double quantile_of(const double *x, size_t n, double q)
{
	double at = q * (double)(n - 1), low = floor(at);
	size_t i = (size_t)low;

	assert(n > 0 && q >= 0 && q <= 1);
	return i + 1 < n ? x[i] + (at - low) * (x[i + 1] - x[i]) : x[n - 1];
}

/* A whole number for each double, in the same order. */
static uint64_t key_of_double(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double double_of_key(uint64_t key)
{
	const uint64_t bits = key >> 63 ? key ^ UINT64_C(1) << 63 : ~key;
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* The number at place k (from 0) of the sorted x: by bisection, so it needs no memory. */
static double smallest_at(const double *x, size_t n, size_t k)
{
	uint64_t low = 0, high = UINT64_MAX;

	assert(k < n);
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		size_t at_most = 0;

		for (size_t i = 0; i < n; i++)
			at_most += key_of_double(x[i]) <= middle;
		if (at_most > k)
			high = middle;
		else
			low = middle + 1;
	}
	return double_of_key(low);
}

double stat_quantile(const double *x, size_t n, double q)
{
	const double at = n ? q * (double)(n - 1) : 0, low = floor(at);
	const size_t i = (size_t)low;
	double v;

	assert(q >= 0 && q <= 1);
	if (!n)
		return NAN;
	v = smallest_at(x, n, i);
	return at > low ? v + (at - low) * (smallest_at(x, n, i + 1) - v) : v;
}

double stat_median(const double *x, size_t n)
{
	return stat_quantile(x, n, 0.5);
}

double stat_correlation(const double *x, const double *y, size_t n)
{
	double mx = stat_mean(x, n), my = stat_mean(y, n), xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return n > 2 && xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* The median slope over all pairs of the n points in pick. room: n (n - 1) / 2 elements. */
static double median_slope(const double *x, const double *y, const size_t *pick, size_t n,
			   double *room)
{
	size_t pairs = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (x[pick[i]] != x[pick[j]])
				room[pairs++] =
					(y[pick[j]] - y[pick[i]]) / (x[pick[j]] - x[pick[i]]);
	if (!pairs)
		return NAN;
	qsort(room, pairs, sizeof(*room), by_double_value);
	return quantile_of(room, pairs, 0.5);
}

/* Chooses up to SLOPE_POINTS of n points, spread evenly over all; returns how many. */
static size_t pick_evenly(size_t pick[SLOPE_POINTS], size_t n)
{
	const size_t m = MIN(n, SLOPE_POINTS);

	for (size_t i = 0; i < m; i++)
		pick[i] = i * n / m;
	return m;
}

double stat_median_slope(const double *x, const double *y, size_t n)
{
	double slopes[SLOPE_PAIRS];
	size_t pick[SLOPE_POINTS];

	if (n < 2)
		return NAN;
	return median_slope(x, y, pick, pick_evenly(pick, n), slopes);
}

struct slope_estimate stat_slope(const double *x, const double *y, size_t n)
{
	struct slope_estimate s = { stat_median_slope(x, y, n), NAN, NAN };
	const struct rng_key key = rng_key_make(SEED, RNG_BOOTSTRAP, 0, 0);
	size_t pick[SLOPE_POINTS], again[SLOPE_POINTS], found = 0;
	const size_t m = pick_evenly(pick, n);
	double slopes[RESAMPLES], room[SLOPE_PAIRS];

	for (size_t k = 0; k < RESAMPLES && m > 1; k++) {
		double v;

		for (size_t i = 0; i < m; i++)
			again[i] = pick[rng_u32(key, k * m + i) % m];
		v = median_slope(x, y, again, m, room);
		if (!isnan(v))
			slopes[found++] = v;
	}
	if (found) {
		qsort(slopes, found, sizeof(*slopes), by_double_value);
		s.low = quantile_of(slopes, found, 0.025);
		s.high = quantile_of(slopes, found, 0.975);
	}
	return s;
}

void step_pace_add(struct step_pace *p, double t, int64_t step)
{
	double seconds = t - p->t, x = seconds / PACE_WINDOW_S, gain;

	if (!isfinite(t))
		return;
	if (!p->has_point || step < p->step)
		*p = (struct step_pace){ .has_point = true };
	else if (seconds >= 0) {
		/* the mean of exp(-age / window) over the new span */
		gain = x > 1e-9 ? -expm1(-x) / x : 1;
		p->seconds = p->seconds * exp(-x) + seconds * gain;
		p->steps = p->steps * exp(-x) + ((double)step - (double)p->step) * gain;
	}
	p->t = t;
	p->step = step;
}

double step_pace_seconds(const struct step_pace *p)
{
	return p->steps > 0 && p->seconds > 0 ? p->seconds / p->steps : NAN;
}

double step_pace_left(double pace, double steps, double max_minutes, double elapsed)
{
	double left = steps >= 0 ? pace * steps : NAN, by_time = max_minutes * 60 - elapsed;

	if (max_minutes > 0 && isfinite(by_time) && !(left <= by_time))
		left = by_time;
	return left < 0 ? 0 : left;
}
