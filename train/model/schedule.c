/* schedule.c - the learning rate of a step; see schedule.h */
#include "train/model/schedule.h"

#include <math.h>

double schedule_rate(const struct rate_schedule *s, int64_t step)
{
	const double n = (double)step + 1, warmup = (double)s->warmup;
	const double rate =
		s->factor / sqrt(s->d_model) * fmin(n / (warmup * sqrt(warmup)), 1 / sqrt(n));
	const int64_t left = s->steps - step; /* this step is one of them */

	if (!s->cooldown || left >= s->cooldown)
		return rate;
	return rate * (double)(left > 1 ? left : 1) / (double)s->cooldown;
}
