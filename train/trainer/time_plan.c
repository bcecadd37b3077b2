/* time_plan.c - see time_plan.h */
#include "train/trainer/time_plan.h"

#include <math.h>

#include "share/base/util.h"

#define LAST_IS_LONGER 1.1 /* evaluations differ: reserve for the last one, of the one before */
#define LATE_SHARE     40  /* plan again if the cool-down ends this part of its rest too late */
#define EARLY_SHARE    10  /* the same, too early */

/* Seconds that the end of the run needs after its last step. */
static double plan_reserve(const struct time_plan *p)
{
	return LAST_IS_LONGER * p->evaluation_s + p->save_s;
}

bool time_plan_is_over(const struct time_plan *p)
{
	const double next = isnan(p->step_s) ? 0 : p->step_s;

	if (p->limit_s <= 0)
		return false;
	return p->elapsed_s >= p->limit_s || p->elapsed_s + next + plan_reserve(p) > p->limit_s;
}

bool time_plan_has_evaluation(const struct time_plan *p)
{
	return p->limit_s <= 0 || p->elapsed_s + p->evaluation_s + plan_reserve(p) <= p->limit_s;
}

int64_t time_plan_last_step(const struct time_plan *p)
{
	const double step_s = fmax(p->step_s + p->save_s / (double)MAX(p->save_every, 1), 1e-9);
	double left = p->limit_s - p->elapsed_s - plan_reserve(p);
	int64_t at = p->step;

	if (p->limit_s <= 0)
		return p->steps;
	while (left > 0 && at < p->steps) {
		const int64_t next = (at / p->eval_every + 1) * p->eval_every;
		const double needs = (double)(next - at) * step_s + p->evaluation_s;

		if (needs > left) { /* no time for that evaluation */
			at += (int64_t)fmin(left / step_s, (double)(p->steps - at));
			break;
		}
		left -= needs;
		at = next;
	}
	return MIN(at, p->steps);
}

/* Has the pace changed so much that `last`, not `planned`, ends the run? */
static bool is_another_end(const struct time_plan *p, int64_t last, int64_t planned)
{
	const int64_t left = planned - p->step;

	return last < planned - MAX(1, left / LATE_SHARE) ||
	       last > planned + MAX(2, left / EARLY_SHARE);
}

int64_t time_plan_schedule_end(const struct time_plan *p, const struct rate_schedule *s)
{
	const int64_t planned = s->end > 0 ? s->end : p->steps;
	int64_t last;

	if (!schedule_has_end(s) || s->decided.to > 0 || p->limit_s <= 0 || isnan(p->step_s))
		return 0;
	last = MAX(time_plan_last_step(p), p->step + 1);
	return is_another_end(p, last, planned) ? last : 0;
}

int64_t time_plan_cooldown_end(const struct time_plan *p, const struct rate_schedule *s)
{
	const int64_t last = s->cooldown && p->limit_s > 0 && !isnan(p->step_s)
				     ? MAX(time_plan_last_step(p), p->step + 1)
				     : 0;

	if (!last)
		return 0;
	if (s->decided.to > 0)
		return is_another_end(p, last, s->decided.to) ? last : 0;
	if (last >= p->steps) /* steps end the run, as planned */
		return 0;
	return (double)(last - p->step) <= (double)s->cooldown * (double)last / (double)p->steps
		       ? last
		       : 0;
}
