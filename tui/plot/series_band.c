/* series_band.c - see series_band.h. */
#include "tui/plot/series_band.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/util.h"

static double middle_of_point(const struct series_point *p)
{
	return p->first + (p->last - p->first) / 2;
}

/* The range of x where all curves have points; from > to: there is none. */
struct common_range {
	double from, to;
};

static struct common_range find_common_range(const struct series *const *curves, size_t n)
{
	struct common_range r = { -INFINITY, INFINITY };

	for (size_t i = 0; i < n; i++) {
		const struct series *s = curves[i];

		if (!s->n)
			return (struct common_range){ INFINITY, -INFINITY };
		r.from = MAX(r.from, middle_of_point(&s->points[0]));
		r.to = MIN(r.to, middle_of_point(&s->points[s->n - 1]));
	}
	return r;
}

/* Set the x of band to the points of s within the range; returns their number. */
static size_t take_band_points(struct series_point *to, const struct series *s,
			       struct common_range r)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		double x = middle_of_point(&s->points[i]);

		if (x < r.from || x > r.to)
			continue;
		if (to)
			to[n] = (struct series_point){ .first = x, .last = x, .samples = 1 };
		n++;
	}
	return n;
}

/* A curve, smoothed, read at growing x. */
struct curve_reader {
	const struct series *series;
	double *values; /* of each point */
	size_t at;
};

/* The value at x, which must lie within the curve; between points it is interpolated. NaN: a gap. */
static double read_curve_at(struct curve_reader *r, double x)
{
	const struct series *s = r->series;
	double a, b;

	while (r->at + 1 < s->n && middle_of_point(&s->points[r->at + 1]) <= x)
		r->at++;
	a = middle_of_point(&s->points[r->at]);
	if (!(x > a) || r->at + 1 == s->n)
		return r->values[r->at];
	b = middle_of_point(&s->points[r->at + 1]);
	return r->values[r->at] + (x - a) / (b - a) * (r->values[r->at + 1] - r->values[r->at]);
}

/* Add the k-th curve to the running means, squares (Welford) and ranges of the points. */
static void add_curve_to_band(struct series *band, double *squares, struct curve_reader *r,
			      size_t k)
{
	for (size_t i = 0; i < band->n; i++) {
		struct series_point *p = &band->points[i];
		double y = read_curve_at(r, p->first), before = p->sum;

		p->sum += (y - before) / (double)(k + 1); /* NaN from the first gap on */
		squares[i] += (y - before) * (y - p->sum);
		p->low = k ? MIN(p->low, (float)y) : (float)y;
		p->high = k ? MAX(p->high, (float)y) : (float)y;
	}
}

static void finish_band(struct series *band, const double *squares, size_t n)
{
	band->value = NAN;
	for (size_t i = 0; i < band->n; i++) {
		struct series_point *p = &band->points[i];
		double deviation;

		if (isnan(p->sum)) {
			p->sum = 0;
			continue; /* n is 0: a gap */
		}
		p->n = 1;
		band->value = p->sum;
		if (n < SERIES_BAND_MANY)
			continue;
		deviation = sqrt(MAX(squares[i], 0) / (double)(n - 1));
		p->low = (float)(p->sum - deviation);
		p->high = (float)(p->sum + deviation);
	}
}

int series_band_make(struct series *band, const struct series *const *curves, size_t n,
		     double weight, struct err *e)
{
	struct common_range range = find_common_range(curves, n);
	const struct series *coarsest = curves[0];
	double *values = NULL, *squares = NULL;
	size_t least = SIZE_MAX, most_points = 0;

	assert(n);
	series_free(band);
	for (size_t i = 0; i < n; i++) {
		size_t points = take_band_points(NULL, curves[i], range);

		if (points && points < least) {
			least = points;
			coarsest = curves[i];
		}
		most_points = MAX(most_points, curves[i]->n);
	}
	if (least == SIZE_MAX)
		return 0;
	values = mem_alloc(most_points, sizeof(*values), e);
	squares = mem_alloc(least, sizeof(*squares), e);
	band->points = mem_alloc(least, sizeof(*band->points), e);
	if (!values || !squares || !band->points) {
		series_free(band);
		free(values);
		free(squares);
		return e->code;
	}
	band->n = take_band_points(band->points, coarsest, range);
	for (size_t k = 0; k < n; k++) {
		struct curve_reader reader = { .series = curves[k], .values = values };
		struct smoother f = { .weight = weight };

		for (size_t i = 0; i < curves[k]->n; i++)
			values[i] = series_smooth(&f, &curves[k]->points[i]);
		add_curve_to_band(band, squares, &reader, k);
	}
	finish_band(band, squares, n);
	free(values);
	free(squares);
	return 0;
}

static void add_tail_point(struct series *tail, double x, double y)
{
	tail->points[tail->n++] =
		isnan(y) ? (struct series_point){ .first = x, .last = x, .samples = 1 }
			 : (struct series_point){ x, x, y, (float)y, (float)y, 1, 1 };
	tail->value = isnan(y) ? tail->value : y;
}

/* The curve that ends last; NULL: none has a point. */
static const struct series *find_longest_curve(const struct series *const *curves, size_t n)
{
	const struct series *longest = NULL;
	double end = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		const struct series *s = curves[i];

		if (s->n && middle_of_point(&s->points[s->n - 1]) > end) {
			longest = s;
			end = middle_of_point(&s->points[s->n - 1]);
		}
	}
	return longest;
}

int series_band_tail(struct series *tail, const struct series *const *curves, size_t n,
		     double weight, struct err *e)
{
	double from = find_common_range(curves, n).to, x = NAN, y = NAN;
	const struct series *longest = find_longest_curve(curves, n);
	struct smoother f = { .weight = weight };

	assert(n);
	series_free(tail);
	if (!longest || !(middle_of_point(&longest->points[longest->n - 1]) > from))
		return 0;
	if (!(tail->points = mem_alloc(longest->n, sizeof(*tail->points), e)))
		return e->code;
	for (size_t i = 0; i < longest->n; i++) {
		double before = x, y_before = y;

		x = middle_of_point(&longest->points[i]);
		y = series_smooth(&f, &longest->points[i]);
		/* between two points the curve is read where the band ends */
		if (x > from && before < from)
			add_tail_point(tail, from,
				       y_before + (from - before) / (x - before) * (y - y_before));
		if (x >= from)
			add_tail_point(tail, x, y);
	}
	return 0;
}
