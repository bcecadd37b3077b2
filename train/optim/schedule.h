/*
 * schedule.h - the learning rate of a step.
 *
 * Linear warm-up, then the inverse square root of the step (Vaswani et al. 2017, section 5.3).
 * Steps are counted from 0, as in OpenSeq2Seq:
 *
 *	factor * D^-0.5 * min((s + 1) * warmup^-1.5, (s + 1)^-0.5)
 *
 * In the last `cooldown` steps of the run, this rate is multiplied by a factor that falls linearly
 * from 1 to 1 / cooldown (Haegele et al. 2024, "Scaling laws and compute-optimal training beyond
 * fixed training durations").
 */
#ifndef WERKBANK_TRAIN_OPTIM_SCHEDULE_H
#define WERKBANK_TRAIN_OPTIM_SCHEDULE_H

#include <stdint.h>

/*
 * A cool-down that was decided during the run, because time will end it: after step `from` the rate is
 * multiplied by `factor`, which falls linearly to factor / (to - from) before step `to`.
 */
struct schedule_cooldown {
	int64_t from, to; /* steps done; to 0: none */
	double factor;
};

struct rate_schedule {
	double factor;
	int64_t warmup;	  /* steps, at least 1 */
	int64_t cooldown; /* steps; 0: none */
	int64_t steps;	  /* planned steps of the whole run; unused without a cool-down */
	int32_t d_model;
	struct schedule_cooldown decided; /* counts instead of cooldown and steps */
};

/* The learning rate of a step, counted from 0. */
double schedule_rate(const struct rate_schedule *s, int64_t step);

/* Decide: the cool-down begins at `step`, or goes on from there, and ends at step `to`. No jump of the rate. */
void schedule_decide_cooldown(struct rate_schedule *s, int64_t step, int64_t to);

#endif
