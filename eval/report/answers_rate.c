/* answers_rate.c - did training diverge, was it stable, is the learning rate too large or too low */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "train/optim/schedule.h"

#define RISE_LIKELY   0.3 /* nats that the NLL rose while the rate still rose */
#define LEARNED	      0.5 /* times ln V: a model below this has learned */
#define STABLE_RECORD 5	  /* training records that "stable" needs */

static void add_training_facts(struct answer *a, const struct learning_signs *s)
{
	answer_add_fact(a, "training NLL at the start", s->start, "nats");
	answer_add_fact(a, "lowest training NLL (median of 5 records)", s->lowest, "nats");
	answer_add_fact(a, "step of the lowest training NLL", s->lowest_step, "");
	answer_add_fact(a, "training NLL at the end (median of 5 records)", s->end, "nats");
	answer_add_fact(a, "NLL of a uniform guess, ln V", s->ln_vocabulary, "nats");
}

void answer_diverged(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;

	add_training_facts(a, s);
	answer_add_fact(a, "records with a number that is not finite", (double)v->nonfinite, "");
	answer_add_fact(a, "skipped steps", (double)v->skipped, "");
	if (answer_if_diverged(a, VERDICT_YES, s))
		return;
	if (s->n_train < STABLE_RECORD)
		answer_open(a,
			    "The journal holds %zu training record%s with a finite loss; at least "
			    "%d are needed.",
			    s->n_train, text_plural(s->n_train), STABLE_RECORD);
	else
		answer_no(a, s->n_train >= SIGNS_MIN_RECORDS,
			  "The training NLL began at %.3f and ends at %.3f, %.3f nats above its "
			  "minimum.",
			  s->start, s->end, MAX(s->end - s->lowest, 0));
}

/* ---- stable? ----------------------------------------------------------- */

static void judge_stability(struct answer *a, const struct evidence *v,
			    const struct learning_signs *s)
{
	if (v->nonfinite || v->skipped)
		answer_no(a, CLEAR,
			  "%lld records hold a loss or gradient that is not finite, and %lld steps "
			  "were skipped. A lower learning rate, a longer warm-up or gradient "
			  "clipping would help.",
			  (long long)v->nonfinite, (long long)v->skipped);
	else if (s->spikes)
		answer_no(a, CLEAR,
			  "The training NLL jumped %zu time%s, to %.3f at worst (first at step "
			  "%s); %s. A lower learning rate, a longer warm-up or gradient clipping "
			  "would help.",
			  s->spikes, text_plural(s->spikes), s->spike_top,
			  COUNT_TEXT(s->spike_step),
			  s->open_spikes ? "the last jump did not recover" : "it recovered");
	else if (s->rise_with_rate >= RISE_LIKELY)
		answer_no(a, LIKELY,
			  "While the learning rate rose, the training NLL rose by %.3f nats (at "
			  "step %s).",
			  s->rise_with_rate, COUNT_TEXT(s->rise_step));
	else if (s->n_train < STABLE_RECORD)
		answer_open(a, "The journal holds %zu training record%s; at least %d are needed.",
			    s->n_train, text_plural(s->n_train), STABLE_RECORD);
	else
		answer_yes(a, s->n_train >= SIGNS_MIN_RECORDS,
			   "Every recorded loss and gradient was finite, and the loss never jumped "
			   "by more than 20 %%, 0.5 nats and 5 times its scatter.");
}

void answer_stable(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;

	answer_add_fact(a, "records with a number that is not finite", (double)v->nonfinite, "");
	answer_add_fact(a, "skipped steps", (double)v->skipped, "");
	answer_add_fact(a, "jumps of the loss", (double)s->spikes, "");
	answer_add_fact(a, "largest loss of a jump", s->spike_top, "nats");
	if (!answer_if_diverged(a, VERDICT_NO, s))
		judge_stability(a, v, s);
}

/* ---- the size of the learning rate ------------------------------------- */

static void judge_large_rate(struct answer *a, const struct evidence *v,
			     const struct learning_signs *s)
{
	const double scaled_peak = s->scaled_peak;
	const bool is_stuck = learning_is_on_plateau(s) && s->travel > SIGNS_TRAVEL_LARGE;

	if (s->diverged != DIVERGENCE_NONE)
		answer_yes(a, scaled_peak > SIGNS_PEAK_LARGE || s->rise_with_rate >= RISE_LIKELY,
			   "Training diverged: %s.", s->divergence);
	else if (is_stuck && (scaled_peak > SIGNS_PEAK_LARGE || s->rise_with_rate >= RISE_LIKELY))
		answer_yes(a, CLEAR,
			   "The training NLL stays at %.3f, %.0f %% of a uniform guess, and the "
			   "largest rate times sqrt(d_model) is %.3g, above %.2g.",
			   s->end, 100 * s->end / s->ln_vocabulary, scaled_peak, SIGNS_PEAK_LARGE);
	else if (s->rise_with_rate >= RISE_LIKELY || v->skipped >= 3)
		answer_yes(a, LIKELY,
			   "While the rate rose to its peak, the training NLL rose by %.3f nats "
			   "above an earlier minimum; %lld steps were skipped.",
			   MAX(s->rise_with_rate, 0), (long long)v->skipped);
	else if (is_stuck && scaled_peak > SIGNS_PEAK_USUAL)
		answer_open(a,
			    "The training NLL stays at %.3f, %.0f %% of a uniform guess: a rate "
			    "that is too large is one of the possible causes.",
			    s->end, 100 * s->end / s->ln_vocabulary);
	else
		answer_no(a, s->end < LEARNED * s->ln_vocabulary,
			  "The training NLL fell from %.3f to %.3f and never rose by more than "
			  "%.2g nats while the rate rose.",
			  s->start, s->end, RISE_LIKELY);
	if (a->verdict == VERDICT_YES)
		answer_append(a, " A smaller %s or a longer warm-up would help.",
			      schedule_rate_option((enum schedule_kind)v->recipe.schedule));
}

static void add_rate_facts(struct answer *a, const struct learning_signs *s)
{
	add_training_facts(a, s);
	answer_add_fact(a, "largest rise of the NLL while the rate rose", s->rise_with_rate,
			"nats");
	answer_add_fact(a, "change of the training NLL per doubling of steps", s->trend.median,
			"nats");
	answer_add_fact(a, "largest rate times sqrt(d_model)", s->scaled_peak, "");
	answer_add_fact(a, "sum of all rates times sqrt(d_model)", s->travel, "");
}

void answer_rate_too_large(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;

	add_rate_facts(a, s);
	if (s->diverged == DIVERGENCE_NONE &&
	    (s->n_train < SIGNS_MIN_RECORDS || isnan(s->scaled_peak)))
		answer_open(a,
			    "The journal holds %zu training record%s with a finite loss; at least "
			    "%d, with the learning rate, are needed.",
			    s->n_train, text_plural(s->n_train), SIGNS_MIN_RECORDS);
	else
		judge_large_rate(a, v, s);
}

static void judge_small_rate(struct answer *a, const struct evidence *v,
			     const struct learning_signs *s)
{
	if (s->end < LEARNED * s->ln_vocabulary || s->travel > SIGNS_TRAVEL_LARGE)
		answer_no(a, CLEAR,
			  "The training NLL fell from %.3f to %.3f; the sum of all rates times "
			  "sqrt(d_model) is %.3g.",
			  s->start, s->end, s->travel);
	else if (s->last_step < 2 * (double)v->recipe.warmup)
		answer_open(a,
			    "The run ended at step %s; twice the warm-up (%s step%s) is needed to "
			    "judge the rate.",
			    COUNT_TEXT(s->last_step), COUNT_TEXT(v->recipe.warmup),
			    text_plural(v->recipe.warmup));
	else
		answer_yes(a, s->travel < SIGNS_TRAVEL_SMALL,
			   "The training NLL is still %.3f (uniform guess: %.3f), and the sum of "
			   "all rates times sqrt(d_model) is only %.3g: the weights hardly moved. "
			   "A larger %s or more steps would help.",
			   s->end, s->ln_vocabulary, s->travel,
			   schedule_rate_option((enum schedule_kind)v->recipe.schedule));
}

void answer_rate_too_small(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;

	add_rate_facts(a, s);
	if (answer_if_diverged(a, VERDICT_UNKNOWN, s))
		return;
	if (s->n_train < SIGNS_MIN_RECORDS || isnan(s->travel) || isnan(s->ln_vocabulary))
		answer_open(a,
			    "At least %d training records, the learning rate and the size of the "
			    "vocabulary are needed.",
			    SIGNS_MIN_RECORDS);
	else
		judge_small_rate(a, v, s);
}

/* ---- the learning rate ------------------------------------------------- */

/* Was the rate of a step computed by the formula that held at the end of the run? */
static bool has_last_formula(const struct evidence *v, const struct rate_schedule *s, double step)
{
	return !(v->cooldown_to > 0 && step > v->cooldown_from) &&
	       !(s->end > 0 && step > (double)s->warmup && step <= v->schedule_from);
}

/* The largest relative deviation from the schedule. Returns the number of rates that were compared. */
static size_t compare_rates(const struct evidence *v, const struct rate_schedule *s,
			    double *deviation)
{
	size_t known = 0;

	*deviation = 0;
	for (size_t i = 0; i < v->n_train; i++) {
		const struct train_point *p = &v->train[i];
		double expected = s->d_model > 0 && p->step > 0
					  ? schedule_rate(s, (int64_t)p->step - 1)
					  : NAN;

		if (!isfinite(p->lr) || !(expected > 0) || !has_last_formula(v, s, p->step))
			continue;
		*deviation = MAX(*deviation, fabs(p->lr / expected - 1));
		known++;
	}
	return known;
}

static void add_formula(struct answer *a, const struct rate_schedule *s)
{
	struct buf formula = { 0 };

	schedule_put_formula(s, false, &formula);
	if (s->cooldown)
		buf_add_str(&formula, " * min(1, (steps + 1 - step) / cooldown)");
	answer_add_text(a, "formula", "%s", buf_text(&formula));
	buf_free(&formula);
}

/* Facts of the options that the schedule uses. */
static void add_schedule_facts(struct answer *a, const struct rate_schedule *s)
{
	if (s->kind == SCHEDULE_noam) {
		answer_add_fact(a, "factor", s->factor, "");
		answer_add_fact(a, "d_model", s->d_model, "");
	}
	if (s->floor > 0)
		answer_add_fact(a, "floor", s->floor, "of the peak");
	if (s->restart > 0)
		answer_add_fact(a, "restart", (double)s->restart, "steps");
	answer_add_fact(a, "warm-up", (double)s->warmup, "steps");
	if (s->cooldown)
		answer_add_fact(a, "cool-down", (double)s->cooldown, "steps");
}

static void explain_limit(struct answer *a, const struct evidence *v, const struct rate_schedule *s)
{
	if (s->end > 0)
		answer_append(a,
			      " The time limit holds fewer steps than planned: from step %s on the "
			      "schedule ends at step %s.",
			      COUNT_TEXT(v->schedule_from), COUNT_TEXT(s->end));
	if (v->cooldown_to > 0)
		answer_append(a,
			      " The time limit asked for an earlier cool-down: from step %s the "
			      "rate falls to its end at step %s, whatever the formula says.",
			      COUNT_TEXT(v->cooldown_from), COUNT_TEXT(v->cooldown_to));
}

static void explain_schedule(struct answer *a, const struct evidence *v,
			     const struct rate_schedule *s, double peak)
{
	struct buf formula = { 0 };

	schedule_put_formula(s, true, &formula);
	answer_append(a, "The rate rises linearly for %s step%s to %.4g, then %s: %s.",
		      COUNT_TEXT(s->warmup), text_plural(s->warmup), peak, schedule_fall(s->kind),
		      buf_text(&formula));
	buf_free(&formula);
	if (s->cooldown)
		answer_append(a,
			      " The last %s of %s planned step%s multiply this rate by a factor "
			      "that falls linearly from 1 to 0.",
			      COUNT_TEXT(s->cooldown), COUNT_TEXT(s->steps), text_plural(s->steps));
	explain_limit(a, v, s);
}

void answer_learning_rate(struct answer *a, const struct evidence *v)
{
	struct rate_schedule s = schedule_from_conf(&v->recipe, (int32_t)v->recipe.d_model);
	double deviation, peak;

	s.end = v->schedule_end > 0 ? (int64_t)v->schedule_end : 0;
	peak = s.d_model > 0 ? schedule_rate(&s, s.warmup - 1) : NAN;
	if (!compare_rates(v, &s, &deviation)) {
		answer_open(
			a,
			"No training record holds a learning rate, or the recipe has no d_model.");
		return;
	}
	add_formula(a, &s);
	add_schedule_facts(a, &s);
	answer_add_fact(a, "peak", peak, "");
	answer_add_fact(a, "last recorded rate", v->train[v->n_train - 1].lr, "");
	answer_add_fact(a, "largest relative deviation from the formula", deviation, "");
	explain_schedule(a, v, &s, peak);
	answer_append(a, " The recorded rates differ from this formula by at most %.3g %%%s.",
		      100 * deviation, v->cooldown_to > 0 ? " before" : "");
}
