/* schedule.c - the learning rate of a step; see schedule.h */
#include "train/model/schedule.h"

#include <math.h>

double schedule_rate(const struct rate_schedule *s, int64_t step)
{
	double n = (double)step + 1, warmup = (double)s->warmup;

	return s->factor / sqrt(s->d_model) * fmin(n / (warmup * sqrt(warmup)), 1 / sqrt(n));
}
