/* link_speed.c - see link_speed.h */
#include "train/watch/link_speed.h"

#include <assert.h>
#include <math.h>

#define LEAST_PARTS 4

bool link_speeds_are_equal(double a, double b)
{
	return a > 0 && b > 0 && fmax(a, b) < LINK_SPEED_RATIO * fmin(a, b);
}

/*
 * Remove the parts that came late: keep (n) gets those of the upper concave hull, and returns their
 * number. Between two kept parts the link was no faster than a straight line.
 */
static size_t keep_prompt_parts(const double *arrived_s, size_t n, size_t *keep)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		while (kept && arrived_s[i] <= arrived_s[keep[kept - 1]])
			kept--;
		while (kept > 1) {
			const size_t a = keep[kept - 2], b = keep[kept - 1];
			const double until_b = arrived_s[b] - arrived_s[a],
				     until_i = arrived_s[i] - arrived_s[a];

			if ((double)(b - a) * until_i > (double)(i - a) * until_b)
				break;
			kept--;
		}
		keep[kept++] = i;
	}
	return kept;
}

/* Parts that had arrived at a time, on the lines between the kept ones. */
static double parts_at(const double *arrived_s, const size_t *keep, size_t kept, double at_s)
{
	size_t i = 1;

	while (i + 1 < kept && arrived_s[keep[i]] < at_s)
		i++;
	return (double)keep[i - 1] + (double)(keep[i] - keep[i - 1]) *
					     (at_s - arrived_s[keep[i - 1]]) /
					     (arrived_s[keep[i]] - arrived_s[keep[i - 1]]);
}

static size_t count_until(const double *arrived_s, size_t n, double at_s)
{
	size_t i = 0;

	while (i < n && arrived_s[i] <= at_s)
		i++;
	return i;
}

struct link_speed link_speed_of(const double *arrived_s, size_t n, double least_s)
{
	size_t keep[LINK_SPEED_PARTS], kept;
	double prompt[3], seen[3]; /* parts until the half, three quarters and all of the time */
	double quarter_s;
	struct link_speed s = { 0 };

	assert(n <= LINK_SPEED_PARTS);
	kept = keep_prompt_parts(arrived_s, n, keep);
	if (n < LEAST_PARTS || kept < 2)
		return s;
	quarter_s = (arrived_s[n - 1] - arrived_s[keep[0]]) / 4;
	for (int i = 0; i < 3; i++) {
		const double at_s = arrived_s[n - 1] - (2 - i) * quarter_s;

		prompt[i] = parts_at(arrived_s, keep, kept, at_s);
		seen[i] = (double)count_until(arrived_s, n, at_s) - 1;
	}
	s.parts_s = (prompt[2] - prompt[0]) / (2 * quarter_s);
	s.is_steady = quarter_s >= least_s &&
		      link_speeds_are_equal(prompt[1] - prompt[0], prompt[2] - prompt[1]);
	/* while TCP's window grows, more parts arrive in a quarter than the straight line predicts */
	for (int i = 1; i < 3; i++)
		s.is_steady =
			s.is_steady &&
			seen[i] - seen[i - 1] < LINK_SPEED_RATIO * (prompt[i] - prompt[i - 1]) + 1;
	return s;
}
