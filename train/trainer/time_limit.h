/*
 * time_limit.h - the time limit of a run (max_minutes): end of the schedule, cool-down, evaluations, forecast.
 *
 * The first rank measures and decides, all ranks do what it decides.
 */
#ifndef WERKBANK_TRAIN_TRAINER_TIME_LIMIT_H
#define WERKBANK_TRAIN_TRAINER_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/statistics.h"
#include "share/conf/conf.h"
#include "train/ckpt/ckpt.h"
#include "train/optim/schedule.h"
#include "train/trainer/run_records.h"

struct time_limit {
	const struct conf *conf;	/* borrowed, as the next three */
	struct rate_schedule *schedule; /* gets its end and the cool-down */
	struct ckpt_state *state;	/* keeps both, and the time of an evaluation */
	struct run_records *records;
	double seconds_before; /* training time of earlier attempts */
	double started_at;     /* clock_mono_s() when this attempt began */

	struct step_pace pace; /* of training alone */
	double stepped_s;      /* in the steps of this attempt */
	double save_s;	       /* the last checkpoint; 0: unknown */
	bool lacks_evaluation; /* the corpus has no development set */
	bool has_forecast;     /* of the epochs that fit, once an attempt */
	double epoch;	       /* passes over the text until the end of the last step */
	double first_epoch;    /* after the first step of this attempt */
	int64_t first_step;
	bool is_tight; /* all ranks: no time for an evaluation besides the last one */
};

/* After the state is loaded: what was decided for this limit stays. */
void time_limit_begin(struct time_limit *x);
/* Training time so far, of all attempts. */
double time_limit_seconds(const struct time_limit *x);
/* After each step of step_s seconds; epoch: passes over the text until its end. */
void time_limit_step(struct time_limit *x, double step_s, double epoch);

/*
 * time_limit_ask(): first rank, seconds of training so far; asks by time_limit_obey(): all ranks,
 * with the same asks, before a step.
 */
enum { TIME_IS_OVER, TIME_IS_TIGHT, TIME_COOLDOWN_TO, TIME_SCHEDULE_END, N_TIME_ASKS };
void time_limit_ask(const struct time_limit *x, double seconds, int64_t asks[N_TIME_ASKS]);
void time_limit_obey(struct time_limit *x, const int64_t asks[N_TIME_ASKS]);
/* After an evaluation: was the limit kept? */
void time_limit_evaluated(struct time_limit *x, double seconds);

#endif
