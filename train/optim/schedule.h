/*
 * schedule.h - the learning rate of a step.
 *
 * Every schedule of schedules.def begins with a linear warm-up: step n, counted from 1, has n / warmup of
 * the largest rate until n is warmup. Then the rows differ:
 *
 *	noam		factor * D^-0.5 * min(n * warmup^-1.5, n^-0.5)	(Vaswani et al. 2017, section 5.3)
 *	inverse-sqrt	peak * sqrt(warmup / n)
 *	cosine		peak * (floor + (1 - floor) * (1 + cos(pi x)) / 2)
 *	linear		peak * (1 - (1 - floor) * x)
 *	constant	peak
 *
 * x = (n - 1 - warmup) / (end - warmup): the first step after the warm-up still has the peak, and the last
 * one is a step before the floor, so it is not lost where the floor is 0. A cosine with restart begins
 * again at the peak after this number of steps.
 *
 * In the last `cooldown` steps of the run, this rate is multiplied by a factor that falls linearly
 * from 1 to 1 / cooldown (Haegele et al. 2024, "Scaling laws and compute-optimal training beyond
 * fixed training durations").
 */
#ifndef WERKBANK_TRAIN_OPTIM_SCHEDULE_H
#define WERKBANK_TRAIN_OPTIM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * A cool-down that was decided during the run, because time will end it: after step `from` the rate is
 * multiplied by `factor`, which falls linearly to factor / (to - from) before step `to`.
 */
struct schedule_cooldown {
	int64_t from, to; /* steps done; to 0: none */
	double factor;
};

enum schedule_kind {
#define SCHEDULE(name, choice, rate_option, uses, fall, formula) SCHEDULE_##name,
#include "train/optim/schedules.def"
	N_SCHEDULES
};

struct rate_schedule {
	enum schedule_kind kind;
	double factor;	  /* noam */
	double peak;	  /* the others: the largest rate */
	double floor;	  /* cosine, linear: the least rate, as a share of the peak */
	int64_t restart;  /* cosine: steps; 0: none */
	int64_t warmup;	  /* steps, at least 1 */
	int64_t cooldown; /* steps; 0: none */
	int64_t steps;	  /* planned steps of the whole run */
	int64_t end;	  /* steps until the time limit ends the run, as planned last; 0: steps */
	int32_t d_model;
	struct schedule_cooldown decided; /* counts instead of cooldown and steps */
};

/* The schedule that the options describe, without a check. */
struct rate_schedule schedule_from_conf(const struct conf *c, int32_t d_model);

/* ERR_CONFIG: an option that the schedule needs is missing, or it does not use one that is given. */
int schedule_check_conf(const struct conf *c, struct err *e);

/* The learning rate of a step, counted from 0. */
double schedule_rate(const struct rate_schedule *s, int64_t step);

/* About the sum of the rates of the first steps. */
double schedule_sum(const struct rate_schedule *s, int64_t steps);

/* The largest rate where the option schedule_rate_option() is 1. */
double schedule_unit_peak(const struct rate_schedule *s);

/* Does the rate depend on the last step of the run, even without a cool-down? */
bool schedule_has_end(const struct rate_schedule *s);

/* Decide: the cool-down begins at `step`, or goes on from there, and ends at step `to`. No jump of the rate. */
void schedule_decide_cooldown(struct rate_schedule *s, int64_t step, int64_t to);

/* The value of the option schedule; NULL after the last row. Static, as the next two. */
const char *schedule_name(enum schedule_kind kind);
/* The option that sets the size of the rates, as in a recipe. */
const char *schedule_rate_option(enum schedule_kind kind);
/* A phrase: what the rate does after the warm-up. */
const char *schedule_fall(enum schedule_kind kind);
/* Append the formula of the rate, without the cool-down: with names, or with the numbers of s. */
void schedule_put_formula(const struct rate_schedule *s, bool has_numbers, struct buf *out);

#endif
