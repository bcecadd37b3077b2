/*
 * schedule.c - the learning rate of a step; see schedule.h for the formulas
 *
 * Adam's second moments are unreliable in the first steps, so the rate rises linearly until `warmup`;
 * then it falls like 1 / sqrt(step). A cool-down multiplies it by a line that falls to almost 0: most
 * of the gain of a slowly falling rate, at an end that may be decided late.
 */
#include "train/optim/schedule.h"

#include <math.h>

/* x, a rate or 1, at a step of the cool-down. */
static double cool_down(const struct rate_schedule *s, int64_t step, double x)
{
	const struct schedule_cooldown *d = &s->decided;
	const int64_t all = d->to > 0 ? d->to - d->from : s->cooldown;
	const int64_t left = (d->to > 0 ? d->to : s->steps) - step; /* this step is one of them */

	if (d->to > 0)
		x *= d->factor;
	return all <= 0 || left >= all ? x : x * (double)(left > 1 ? left : 1) / (double)all;
}

void schedule_decide_cooldown(struct rate_schedule *s, int64_t step, int64_t to)
{
	const double factor = cool_down(s, step, 1);

	s->decided = (struct schedule_cooldown){ .from = step, .to = to, .factor = factor };
}

double schedule_rate(const struct rate_schedule *s, int64_t step)
{
	const double n = (double)step + 1, warmup = (double)s->warmup;

	return cool_down(s, step,
			 s->factor / sqrt(s->d_model) *
				 fmin(n / (warmup * sqrt(warmup)), 1 / sqrt(n)));
}
