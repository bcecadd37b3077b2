/* time_limit.c - see time_limit.h and time_plan.h */
#include "train/trainer/time_limit.h"

#include <math.h>
#include <stdio.h>

#include "share/base/clock.h"
#include "share/base/number_format.h"
#include "train/trainer/time_plan.h"

#define KNOWN_STEPS 5 /* the mean of fewer steps is no pace */

double time_limit_seconds(const struct time_limit *x)
{
	return x->seconds_before + (clock_mono_s() - x->started_at);
}

static double pace_of_steps(const struct time_limit *x)
{
	return x->pace.steps >= KNOWN_STEPS ? step_pace_seconds(&x->pace) : NAN;
}

static struct time_plan plan_time(const struct time_limit *x, double seconds)
{
	const struct conf *c = x->conf;

	return (struct time_plan){
		.limit_s = c->max_minutes * 60,
		.elapsed_s = seconds,
		.step_s = pace_of_steps(x),
		.evaluation_s = x->lacks_evaluation ? 0 : x->state->evaluation_s,
		.save_s = x->save_s,
		.save_every = c->save_every,
		.eval_every = c->eval_every,
		.step = x->state->step,
		.steps = c->steps,
	};
}

void time_limit_step(struct time_limit *x, double step_s, double epoch)
{
	x->epoch = epoch;
	if (!x->pace.has_point) { /* the first step is longer: memory, threads, graphs */
		x->first_step = x->state->step;
		x->first_epoch = x->epoch;
	}
	x->stepped_s += step_s;
	step_pace_add(&x->pace, x->stepped_s, x->state->step);
}

void time_limit_ask(const struct time_limit *x, double seconds, int64_t asks[N_TIME_ASKS])
{
	const struct time_plan p = plan_time(x, seconds);
	const int64_t to = x->schedule->decided.to, end = to > 0 ? to : x->schedule->end;

	asks[TIME_IS_OVER] = time_plan_is_over(&p) || (end > 0 && p.step >= end);
	asks[TIME_IS_TIGHT] = !time_plan_has_evaluation(&p);
	asks[TIME_COOLDOWN_TO] = time_plan_cooldown_end(&p, x->schedule);
	asks[TIME_SCHEDULE_END] = time_plan_schedule_end(&p, x->schedule);
}

/* Does the limit hold one pass over the text? Said once, as soon as the pace is known. */
static void forecast_epochs(struct time_limit *x)
{
	const struct time_plan p = plan_time(x, time_limit_seconds(x));
	double epochs_a_step, epochs, minutes;
	int64_t last;

	if (x->has_forecast || p.limit_s <= 0 || isnan(p.step_s))
		return;
	x->has_forecast = true;
	last = time_plan_last_step(&p);
	epochs_a_step = (x->epoch - x->first_epoch) / (double)(p.step - x->first_step);
	epochs = x->epoch + epochs_a_step * (double)(last - p.step);
	if (last >= p.steps || !(epochs_a_step > 0) || epochs >= 1)
		return;
	minutes = (p.elapsed_s + p.evaluation_s + (1 - x->epoch) / epochs_a_step * p.step_s) / 60;
	run_records_event(
		x->records, "warning",
		"%.6g minutes hold about %.2g epochs (%s of %s steps at %.2g s a step), less than "
		"one pass over the text: give --max-minutes %.0f or more, or train a smaller "
		"model, on "
		"fewer pairs, or on a faster machine",
		x->conf->max_minutes, epochs, COUNT_TEXT(last), COUNT_TEXT(p.steps), p.step_s,
		ceil(minutes));
}

static void report_cooldown(struct time_limit *x, bool is_first, int64_t to)
{
	const struct schedule_cooldown *d = &x->state->cooldown;
	struct json_writer *w;
	char text[300];

	if (!x->records->journal)
		return;
	if (is_first)
		snprintf(text, sizeof(text),
			 "the cool-down begins at step %s and ends at step %s: at the present pace "
			 "%.6g minutes hold no more of the %s planned steps",
			 COUNT_TEXT(x->state->step), COUNT_TEXT(to), x->conf->max_minutes,
			 COUNT_TEXT(x->conf->steps));
	else
		snprintf(text, sizeof(text),
			 "the step time has changed: the cool-down now ends at step %s",
			 COUNT_TEXT(to));
	run_records_end_line(x->records);
	if (is_first && !x->conf->quiet)
		fprintf(stderr, "%s\n", text);
	w = run_records_begin(x->records, "event");
	json_put_str(w, "level", "info");
	json_put_str(w, "text", text);
	json_put_int(w, "cooldown_from", d->from);
	json_put_int(w, "cooldown_to", d->to);
	json_put_real(w, "cooldown_factor", d->factor);
	run_records_end(x->records);
}

/* The way to the floor ends with the run, not with the planned steps. */
static void move_schedule_end(struct time_limit *x, int64_t to)
{
	const bool is_first = x->schedule->end == 0;
	struct json_writer *w;
	char text[300];

	x->schedule->end = x->state->schedule_end = to;
	x->state->cooldown_minutes = x->conf->max_minutes;
	if (!x->records->journal)
		return;
	snprintf(text, sizeof(text),
		 "at the present pace %.6g minutes hold %s of the %s planned steps: the schedule "
		 "%s now ends at step %s",
		 x->conf->max_minutes, COUNT_TEXT(to), COUNT_TEXT(x->conf->steps),
		 schedule_name(x->schedule->kind), COUNT_TEXT(to));
	run_records_end_line(x->records);
	if (is_first && !x->conf->quiet)
		fprintf(stderr, "%s\n", text);
	w = run_records_begin(x->records, "event");
	json_put_str(w, "level", "info");
	json_put_str(w, "text", text);
	json_put_int(w, "schedule_from", x->state->step);
	json_put_int(w, "schedule_end", to);
	run_records_end(x->records);
}

void time_limit_obey(struct time_limit *x, const int64_t asks[N_TIME_ASKS])
{
	const bool is_first = x->schedule->decided.to == 0;
	const int64_t to = asks[TIME_COOLDOWN_TO];

	x->is_tight = asks[TIME_IS_TIGHT];
	if (x->records->journal)
		forecast_epochs(x);
	if (asks[TIME_SCHEDULE_END])
		move_schedule_end(x, asks[TIME_SCHEDULE_END]);
	if (!to)
		return;
	schedule_decide_cooldown(x->schedule, x->state->step, to);
	x->state->cooldown = x->schedule->decided;
	x->state->cooldown_minutes = x->conf->max_minutes;
	report_cooldown(x, is_first, to);
}

void time_limit_begin(struct time_limit *x)
{
	if (x->state->cooldown_minutes !=
	    x->conf->max_minutes) { /* another limit: another decision */
		x->state->cooldown = (struct schedule_cooldown){ 0 };
		x->state->schedule_end = 0;
	}
	x->schedule->decided = x->state->cooldown;
	x->schedule->end = x->state->schedule_end;
	x->seconds_before = x->state->seconds;
	x->started_at = clock_mono_s();
}

void time_limit_evaluated(struct time_limit *x, double seconds)
{
	const double limit = x->conf->max_minutes * 60, over = time_limit_seconds(x) - limit;
	const bool is_unknown = !(x->state->evaluation_s > 0);

	x->state->evaluation_s = seconds;
	if (limit > 0 && over > 0.1 * limit && over > 1)
		run_records_event(
			x->records, "info",
			"training took %.3g minutes longer than max_minutes: the evaluation "
			"of step "
			"%lld took %.3g minutes%s; --eval-sentences makes evaluations shorter",
			over / 60, (long long)x->state->step, seconds / 60,
			is_unknown ? ", and no earlier evaluation showed how long they take" : "");
}
