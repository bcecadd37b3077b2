/* trainer_time.c - the time limit of a run (max_minutes); see trainer_internal.h and time_plan.h */
#include "train/trainer/trainer_internal.h"

#include <math.h>
#include <stdio.h>

#include "share/base/number_format.h"
#include "train/trainer/time_plan.h"

#define KNOWN_STEPS 5 /* the mean of fewer steps is no pace */

static double pace_of_steps(const struct trainer *t)
{
	return t->time.pace.steps >= KNOWN_STEPS ? step_pace_seconds(&t->time.pace) : NAN;
}

static struct time_plan plan_time(const struct trainer *t, double seconds)
{
	const struct conf *c = t->conf;

	return (struct time_plan){
		.limit_s = c->max_minutes * 60,
		.elapsed_s = seconds,
		.step_s = pace_of_steps(t),
		.evaluation_s = t->progress.lacks_dev_set ? 0 : t->state.evaluation_s,
		.save_s = t->time.save_s,
		.save_every = c->save_every,
		.eval_every = c->eval_every,
		.step = t->state.step,
		.steps = c->steps,
	};
}

void trainer_time_step(struct trainer *t)
{
	struct trainer_time *x = &t->time;

	if (!x->pace.has_point) { /* the first step is longer: memory, threads, graphs */
		x->first_step = t->state.step;
		x->first_epoch = t->progress.epoch;
	}
	x->stepped_s += t->last_step.times.step;
	step_pace_add(&x->pace, x->stepped_s, t->state.step);
}

void trainer_time_ask(const struct trainer *t, double seconds, int64_t asks[N_TIME_ASKS])
{
	const struct time_plan p = plan_time(t, seconds);
	const struct schedule_cooldown *d = &t->rate_schedule.decided;

	asks[TIME_IS_OVER] = time_plan_is_over(&p) || (d->to > 0 && p.step >= d->to);
	asks[TIME_IS_TIGHT] = !time_plan_has_evaluation(&p);
	asks[TIME_COOLDOWN_TO] = time_plan_cooldown_end(&p, &t->rate_schedule);
}

/* Does the limit hold one pass over the text? Said once, as soon as the pace is known. */
static void forecast_epochs(struct trainer *t)
{
	struct trainer_time *x = &t->time;
	const struct time_plan p = plan_time(t, trainer_seconds(t));
	double epochs_a_step, epochs, minutes;
	int64_t last;

	if (x->has_forecast || p.limit_s <= 0 || isnan(p.step_s))
		return;
	x->has_forecast = true;
	last = time_plan_last_step(&p);
	epochs_a_step = (t->progress.epoch - x->first_epoch) / (double)(p.step - x->first_step);
	epochs = t->progress.epoch + epochs_a_step * (double)(last - p.step);
	if (last >= p.steps || !(epochs_a_step > 0) || epochs >= 1)
		return;
	minutes = (p.elapsed_s + p.evaluation_s +
		   (1 - t->progress.epoch) / epochs_a_step * p.step_s) /
		  60;
	report_event(
		t, "warning",
		"%.6g minutes hold about %.2g epochs (%s of %s steps at %.2g s a step), less than "
		"one pass over the text: give --max-minutes %.0f or more, or train a smaller "
		"model, on "
		"fewer pairs, or on a faster machine",
		t->conf->max_minutes, epochs, COUNT_TEXT(last), COUNT_TEXT(p.steps), p.step_s,
		ceil(minutes));
}

int trainer_time_obey(struct trainer *t, const int64_t asks[N_TIME_ASKS], struct err *e)
{
	const bool is_first = t->rate_schedule.decided.to == 0;
	const int64_t to = asks[TIME_COOLDOWN_TO];
	char text[300];

	(void)e;
	t->time.is_tight = asks[TIME_IS_TIGHT];
	if (trainer_is_first(t))
		forecast_epochs(t);
	if (!to)
		return 0;
	schedule_decide_cooldown(&t->rate_schedule, t->state.step, to);
	t->state.cooldown = t->rate_schedule.decided;
	t->state.cooldown_minutes = t->conf->max_minutes;
	if (is_first)
		snprintf(text, sizeof(text),
			 "the cool-down begins at step %s and ends at step %s: at the present pace "
			 "%.6g minutes hold no more of the %s planned steps",
			 COUNT_TEXT(t->state.step), COUNT_TEXT(to), t->conf->max_minutes,
			 COUNT_TEXT(t->conf->steps));
	else
		snprintf(text, sizeof(text), "the pace has changed: the cool-down ends at step %s",
			 COUNT_TEXT(to));
	return report_cooldown(t, is_first, text);
}

void trainer_time_resume(struct trainer *t)
{
	if (t->state.cooldown_minutes != t->conf->max_minutes) /* another limit: another decision */
		t->state.cooldown = (struct schedule_cooldown){ 0 };
	t->rate_schedule.decided = t->state.cooldown;
}

void trainer_time_evaluated(struct trainer *t, double seconds)
{
	const double limit = t->conf->max_minutes * 60, over = trainer_seconds(t) - limit;
	const bool is_unknown = !(t->state.evaluation_s > 0);

	t->state.evaluation_s = seconds;
	if (limit > 0 && over > 0.1 * limit && over > 1)
		report_event(t, "info",
			     "training took %.3g minutes longer than max_minutes: the evaluation "
			     "of step "
			     "%lld took %.3g minutes%s; --eval-sentences makes evaluations shorter",
			     over / 60, (long long)t->state.step, seconds / 60,
			     is_unknown ? ", and no earlier one had told how long they take" : "");
}
