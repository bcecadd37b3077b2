/*
 * schedule.h - the learning rate of a step.
 *
 * Linear warm-up, then the inverse square root of the step (Vaswani et al. 2017, section 5.3).
 * Steps are counted from 0, as in OpenSeq2Seq:
 *
 *	factor * D^-0.5 * min((s + 1) * warmup^-1.5, (s + 1)^-0.5)
 */
#ifndef WERKBANK_TRAIN_MODEL_SCHEDULE_H
#define WERKBANK_TRAIN_MODEL_SCHEDULE_H

#include <stdint.h>

struct rate_schedule {
	double factor;
	int64_t warmup; /* steps, at least 1 */
	int32_t d_model;
};

/* The learning rate of a step, counted from 0. */
double schedule_rate(const struct rate_schedule *s, int64_t step);

#endif
