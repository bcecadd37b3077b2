/*
 * time_plan.h - what still fits into the time limit of a run (max_minutes): steps, evaluations, and
 * where its cool-down must begin. Pure functions of measured times; the first rank decides by them.
 */
#ifndef WERKBANK_TRAIN_TRAINER_TIME_PLAN_H
#define WERKBANK_TRAIN_TRAINER_TIME_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "train/optim/schedule.h"

struct time_plan {
	double limit_s;	     /* of training, evaluations included; 0: none */
	double elapsed_s;    /* training time so far */
	double step_s;	     /* a step, recent mean; NaN: unknown */
	double evaluation_s; /* the last evaluation; 0: unknown, or nothing to evaluate */
	double save_s;	     /* the last checkpoint; 0: unknown */
	int64_t save_every, eval_every, step, steps; /* steps: planned for the whole run */
};

/* Must training end now, so that the last checkpoint and evaluation end within the limit? */
bool time_plan_is_over(const struct time_plan *p);

/* Is there time for an evaluation now, besides the last one? */
bool time_plan_has_evaluation(const struct time_plan *p);

/* The number of steps that the run will have made at its end, `steps` at most. step_s is known. */
int64_t time_plan_last_step(const struct time_plan *p);

/*
 * The step at which the way of the rate to its floor must end, because time ends the run there; 0: it
 * ends as planned before, or the schedule has no end. It is planned again when the pace changes, until a
 * cool-down begins.
 */
int64_t time_plan_schedule_end(const struct time_plan *p, const struct rate_schedule *s);

/*
 * The step at which a cool-down that begins now, or is under way, must end; 0: it need not begin, or
 * goes on as it is. The cool-down takes the same share of the run as the recipe plans:
 * cooldown / steps. One under way is planned again when the pace changes.
 */
int64_t time_plan_cooldown_end(const struct time_plan *p, const struct rate_schedule *s);

#endif
