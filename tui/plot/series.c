/* series.c - decimation and smoothing of a series; see series.h. */
#include "tui/plot/series.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/util.h"

#define LARGEST FORMAT_LARGEST

void series_init_small(struct series *s, uint32_t points)
{
	assert(points >= 2 && points % 2 == 0);
	*s = (struct series){ .samples_a_point = 1, .value = NAN, .cap = points };
}

void series_init(struct series *s)
{
	series_init_small(s, SERIES_POINTS);
}

void series_free(struct series *s)
{
	free(s->points);
	series_init_small(s, s->cap ? s->cap : SERIES_POINTS);
}

double series_mean(const struct series_point *p)
{
	return p->n ? p->sum / p->n : NAN;
}

static void merge_points(struct series_point *to, const struct series_point *from)
{
	assert(to->last <= from->first); /* points stay sorted */
	if (!to->n) {
		to->low = from->low;
		to->high = from->high;
	} else if (from->n) {
		to->low = MIN(to->low, from->low);
		to->high = MAX(to->high, from->high);
	}
	to->sum += from->sum;
	to->n += from->n;
	to->samples += from->samples;
	to->last = from->last;
}

static void halve_series(struct series *s)
{
	assert(s->n % 2 == 0);
	for (size_t i = 0; i < s->n / 2; i++) {
		s->points[i] = s->points[2 * i];
		merge_points(&s->points[i], &s->points[2 * i + 1]);
	}
	s->n /= 2;
	if (s->samples_a_point < UINT32_MAX / 2)
		s->samples_a_point *= 2;
}

int series_add(struct series *s, double x, double y, struct err *e)
{
	struct series_point p = { .first = x, .last = x, .low = NAN, .high = NAN, .samples = 1 };
	struct series_point *end;

	if (!isfinite(x) || (s->n && x < s->points[s->n - 1].last))
		return 0;
	if (!s->points && !(s->points = mem_alloc(s->cap, sizeof(*s->points), e)))
		return e->code;
	if (!isnan(y)) {
		y = MIN(MAX(y, -LARGEST), LARGEST);
		p.low = p.high = (float)y;
		p.sum = y;
		p.n = 1;
		s->value = y;
	}
	end = s->n ? &s->points[s->n - 1] : NULL;
	if (end && end->samples < s->samples_a_point) {
		merge_points(end, &p);
		return 0;
	}
	if (s->n == s->cap) {
		halve_series(s);
		/* cap is even, so every merged point is complete */
	}
	assert(s->n < s->cap);
	s->points[s->n++] = p;
	return 0;
}

void series_truncate(struct series *s, double x)
{
	while (s->n && s->points[s->n - 1].first >= x)
		s->n--;
	/*
	 * A merged point that spans x keeps the values of all its samples: an error of one point in
	 * two thousand.
	 */
	if (s->n && s->points[s->n - 1].last >= x)
		s->points[s->n - 1].last = nextafter(x, -INFINITY);
	s->value = NAN;
	for (size_t i = s->n; i-- > 0 && isnan(s->value);)
		s->value = series_mean(&s->points[i]);
}

const struct series_point *series_nearest(const struct series *s, double x)
{
	size_t low = 0, high = s->n;

	if (!s->n)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->points[middle].first < x)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->n || (low > 0 && x - s->points[low - 1].first < s->points[low].first - x))
		low--;
	return &s->points[low];
}

double series_smooth(struct smoother *f, const struct series_point *p)
{
	double w;

	if (!p->n)
		return NAN;
	assert(f->weight < 1);
	if (!(f->weight > 0))
		return series_mean(p);
	w = p->n == 1 ? f->weight : pow(f->weight, p->n);
	if (!f->begun) {
		f->begun = true;
		f->last = 0;
		f->left = 1;
	}
	f->last = f->last * w + (1 - w) * series_mean(p);
	f->left *= w;
	return f->last / (1 - f->left);
}
