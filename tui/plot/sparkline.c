/* sparkline.c - see sparkline.h. */
#include "tui/plot/sparkline.h"

#include <math.h>

#include "share/base/util.h"

#define SPARK_LEVELS 7 /* the highest leaves a gap to the row above */
#define SPARK_COLS   64

/* The mean of the points in each column; NaN: a gap. */
static void column_means(const struct series *s, int cols, double *means)
{
	double from = s->points[0].first, range = s->points[s->n - 1].last - from;
	double sums[SPARK_COLS] = { 0 };
	int counts[SPARK_COLS] = { 0 };

	for (int i = 0; i < cols; i++)
		means[i] = NAN;
	for (size_t i = 0; i < s->n; i++) {
		double middle = (s->points[i].first + s->points[i].last) / 2;
		int col = range > 0 ? (int)((middle - from) / range * cols) : 0;

		col = MIN(MAX(col, 0), cols - 1);
		if (isnan(series_mean(&s->points[i])))
			continue;
		sums[col] += series_mean(&s->points[i]);
		counts[col]++;
	}
	for (int i = 0; i < cols; i++)
		if (counts[i])
			means[i] = sums[i] / counts[i];
		else if (i && (size_t)cols > s->n)
			means[i] = means[i - 1];
}

static void draw_columns(struct grid *g, struct span at, const double *means, double low,
			 double high)
{
	for (int i = 0; i < at.width; i++) {
		double share = high > low ? (means[i] - low) / (high - low) : 0;
		int level = (int)(MIN(MAX(share, 0.0), 1.0) * (SPARK_LEVELS - 0.001));

		if (isfinite(means[i]))
			grid_put(g, at.row, at.col + i, at.style, (uint32_t)(0x2581 + level));
	}
}

void sparkline_draw(struct grid *g, struct span at, const struct series *s)
{
	double means[SPARK_COLS], low = INFINITY, high = -INFINITY;

	at.width = MIN(at.width, SPARK_COLS);
	if (s->n < 2 || at.width < 1)
		return;
	column_means(s, at.width, means);
	for (int i = 0; i < at.width; i++) {
		low = means[i] < low ? means[i] : low;
		high = means[i] > high ? means[i] : high;
	}
	draw_columns(g, at, means, low, high);
}

void sparkline_draw_share(struct grid *g, struct span at, const struct series *s)
{
	double means[SPARK_COLS];

	at.width = MIN(at.width, SPARK_COLS);
	if (s->n < 2 || at.width < 1)
		return;
	column_means(s, at.width, means);
	draw_columns(g, at, means, 0, 1);
}
