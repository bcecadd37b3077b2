/* answers_learning.c - is the model fully trained, does it overfit, did the run end early */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "share/base/number_format.h"
#include "share/base/text.h"

#define PATIENCE   10	 /* evaluations without a gain that end a training, as in Marian */
#define LOSS_GAIN  0.001 /* smallest relative fall of the development NLL that counts */
#define TAIL_EVALS 5	 /* evaluations of the tail, at least */
#define FLAT	   0.05	 /* nats per doubling of the steps: a smaller fall counts as none */
#define STEEP	   0.1	 /* nats per doubling: the training NLL clearly falls */

bool answer_if_diverged(struct answer *a, enum answer_verdict v, const struct learning_signs *s)
{
	const bool is_clear = s->diverged == DIVERGENCE_CLEAR;
	const char *word = is_clear ? "Training" : "Training probably";

	if (s->diverged == DIVERGENCE_NONE)
		return false;
	if (v == VERDICT_UNKNOWN)
		answer_open(a, "%s diverged: %s. For a diverged run this question has no answer.",
			    word, s->divergence);
	else
		(v == VERDICT_YES ? answer_yes : answer_no)(a, is_clear, "%s diverged: %s.", word,
							    s->divergence);
	return true;
}

/* ---- fully trained? ---------------------------------------------------- */

/* Evaluations since the development NLL last fell by more than LOSS_GAIN. */
static size_t evals_since_gain(const struct eval_point *p, size_t n)
{
	double best = INFINITY;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		if (p[i].dev_nll < best * (1 - LOSS_GAIN)) {
			best = p[i].dev_nll;
			at = i;
		}
	return n ? n - 1 - at : 0;
}

/* Slopes over the last third of the evaluations, per doubling of the steps (log2 of the step). */
struct tail {
	struct slope_estimate nll, bleu;
	double bleu_noise; /* half width of the central 95 % of the residuals of the BLEU slope */
	size_t n;	   /* evaluations of the tail: the last third, at least TAIL_EVALS */
};

static int find_tail(struct tail *t, const struct evidence *v, struct err *e)
{
	const size_t n = v->n_evals, from = n - MAX(n / 3, MIN(n, TAIL_EVALS));
	struct evidence_series nll = { 0 }, bleu = { 0 };
	int rc;

	assert(from < n);

	*t = (struct tail){ .n = n - from, .bleu_noise = NAN };
	rc = evidence_get_series(&nll, v->evals + from, t->n, sizeof(*v->evals),
				 offsetof(struct eval_point, step),
				 offsetof(struct eval_point, dev_nll), e);
	if (!rc)
		rc = evidence_get_series(&bleu, v->evals + from, t->n, sizeof(*v->evals),
					 offsetof(struct eval_point, step),
					 offsetof(struct eval_point, bleu), e);
	for (size_t i = 0; !rc && i < nll.n; i++)
		nll.x[i] = log2(MAX(nll.x[i], 1));
	for (size_t i = 0; !rc && i < bleu.n; i++)
		bleu.x[i] = log2(MAX(bleu.x[i], 1));
	if (!rc) {
		t->nll = stat_slope(nll.x, nll.y, nll.n);
		t->bleu = stat_slope(bleu.x, bleu.y, bleu.n);
		for (size_t i = 0; i < bleu.n; i++)
			bleu.y[i] -= t->bleu.median * bleu.x[i];
		t->bleu_noise = (stat_quantile(bleu.y, bleu.n, 0.975) -
				 stat_quantile(bleu.y, bleu.n, 0.025)) /
				2;
	}
	free(nll.x);
	free(bleu.x);
	return rc;
}

/* BLEU points gained over the last third, from the slope. */
static double bleu_gain(const struct evidence *v, const struct tail *t)
{
	const struct eval_point *last = &v->evals[v->n_evals - 1], *first = last - (t->n - 1);

	assert(t->n >= 1 && t->n <= v->n_evals);

	return t->bleu.median * log2(last->step / MAX(first->step, 1));
}

/*
 * Upper bound of the BLEU gain from another doubling of the steps. The gain of each doubling is
 * smaller than that of the one before. So the bound is the least of: the gain of the last
 * doubling (if evaluations reach back so far), the slope of the last third, and the distance to
 * 100. NAN if BLEU was not measured.
 */
static double bound_bleu_gain(const struct evidence *v, const struct tail *t)
{
	const struct eval_point *last = NULL, *half = NULL;

	for (size_t i = v->n_evals; i > 0 && !last; i--)
		if (isfinite(v->evals[i - 1].bleu))
			last = &v->evals[i - 1];
	if (!last || isnan(t->bleu.median))
		return NAN;
	for (const struct eval_point *p = v->evals; p < last && p->step <= last->step / 2; p++)
		if (isfinite(p->bleu))
			half = p;
	return MAX(fmin(fmin(t->bleu.median, 100 - last->bleu),
			half ? last->bleu - half->bleu : INFINITY),
		   0);
}

static void write_gain_outlook(char *text, size_t n, double gain)
{
	if (isnan(gain))
		snprintf(text, n, "no evaluation measured BLEU");
	else
		snprintf(text, n, "doubling the steps would gain at most about %.2f BLEU", gain);
}

static void add_slope_facts(struct answer *a, const struct evidence *v, const struct tail *t)
{
	answer_add_fact(a, "development NLL, change per doubling of steps", t->nll.median, "nats");
	answer_add_fact(a, "lower end of its 95 % interval", t->nll.low, "nats");
	answer_add_fact(a, "upper end of its 95 % interval", t->nll.high, "nats");
	answer_add_fact(a, "BLEU per doubling of steps", t->bleu.median, "BLEU");
	answer_add_fact(a, "BLEU gain of another doubling, upper bound", bound_bleu_gain(v, t),
			"BLEU");
	answer_add_fact(a, "BLEU gain in the last third of the run", bleu_gain(v, t), "BLEU");
	answer_add_fact(a, "BLEU noise there (95 %, half width)", t->bleu_noise, "BLEU");
}

/* Too few evaluations for a slope: the training NLL may still answer "no". */
static void answer_from_training_nll(struct answer *a, const struct evidence *v,
				     const struct learning_signs *s)
{
	const bool has_trend = s->n_train >= SIGNS_MIN_RECORDS && s->trend.high < -STEEP;

	if (has_trend && s->last_step < (double)v->recipe.warmup)
		answer_no(a, CLEAR,
			  "The run ended at step %s, before the end of the warm-up (%s step%s), "
			  "and the training NLL (%.3f) still falls.",
			  COUNT_TEXT(s->last_step), COUNT_TEXT(v->recipe.warmup),
			  text_plural(v->recipe.warmup), s->end);
	else if (has_trend)
		answer_no(
			a, LIKELY,
			"The journal holds only %zu evaluation%s, but the training NLL still falls "
			"by %.3f nats per doubling of the steps (95 %% interval: %.3f to %.3f).",
			s->n_evals, text_plural(s->n_evals), -s->trend.median, -s->trend.high,
			-s->trend.low);
	else
		answer_open(a,
			    "The journal holds %zu evaluation%s with a development NLL; at least "
			    "%d are needed to see whether the loss still falls.",
			    s->n_evals, text_plural(s->n_evals), SIGNS_MIN_EVALS);
}

/* Answers by the slopes of NLL and BLEU over the last evaluations, and their intervals. */
static void answer_from_tail(struct answer *a, const struct evidence *v, const struct tail *t)
{
	const bool is_bleu_rising = bleu_gain(v, t) > t->bleu_noise && t->bleu.low > 0;
	char outlook[96];

	write_gain_outlook(outlook, sizeof(outlook), bound_bleu_gain(v, t));
	if (t->nll.high < 0 && t->nll.median < -FLAT / 2)
		answer_no(a, t->nll.high < -FLAT,
			  "The development NLL still falls by %.3f nats per doubling of the steps "
			  "(95 %% interval: %.3f to %.3f); %s.",
			  -t->nll.median, -t->nll.high, -t->nll.low, outlook);
	else if (t->nll.low > 0)
		answer_yes(a, LIKELY,
			   "The development NLL rises in the last %zu evaluations, by %.3f nats "
			   "per doubling of the steps (95 %% interval: %.3f to %.3f): its minimum "
			   "is passed.",
			   t->n, t->nll.median, t->nll.low, t->nll.high);
	else if (t->nll.low > -FLAT && !is_bleu_rising)
		answer_yes(a, LIKELY,
			   "In the last %zu evaluations, the development NLL falls by at most %.3f "
			   "nats per doubling of the steps, and BLEU gains no more than its noise; "
			   "%s.",
			   t->n, MAX(-t->nll.low, 0), outlook);
	else
		answer_open(
			a,
			"The development NLL has no clear trend: %+.3f nats per doubling of the "
			"steps, and the 95 %% interval (%+.3f to %+.3f) allows a fall and a rise.",
			t->nll.median, t->nll.low, t->nll.high);
}

int answer_fully_trained(struct answer *a, const struct evidence *v, struct err *e)
{
	const size_t waited = evals_since_gain(v->evals, v->n_evals);
	const struct learning_signs *s = &v->signs;
	struct tail t;

	answer_add_fact(a, "evaluations", (double)s->n_evals, "");
	if (answer_if_diverged(a, VERDICT_NO, s))
		return 0;
	if (s->n_evals < SIGNS_MIN_EVALS) {
		answer_from_training_nll(a, v, s);
		return 0;
	}
	if (find_tail(&t, v, e))
		return e->code;
	answer_add_fact(a, "evaluations since the loss fell by more than 0.1 %", (double)waited,
			"");
	add_slope_facts(a, v, &t);
	if (s->end > SIGNS_UNIGRAM * s->ln_vocabulary)
		answer_no(a, CLEAR,
			  "The training NLL is still %.3f, which is %.0f %% of a uniform guess (ln "
			  "V = %.3f): the model knows little more than token frequencies.",
			  s->end, 100 * s->end / s->ln_vocabulary, s->ln_vocabulary);
	else if (waited >= PATIENCE)
		answer_yes(a, CLEAR,
			   "The development NLL has not fallen by more than 0.1 %% for %zu "
			   "evaluations.",
			   waited);
	else
		answer_from_tail(a, v, &t);
	return 0;
}

/* ---- overfitting? ------------------------------------------------------ */

static void describe_no_overfitting(struct answer *a, const struct learning_signs *s)
{
	const double rise = s->dev_last / s->dev_lowest - 1;
	const bool is_small = s->gap <= SIGNS_OVERFIT_GAP;
	const bool is_clear = is_small && s->n_evals >= SIGNS_MIN_EVALS;

	if (rise < 0.0005) /* would print as 0.0 % */
		answer_no(a, is_clear, "The development NLL is at its minimum (%.3f)", s->dev_last);
	else
		answer_no(a, is_clear,
			  "The development NLL (%.3f) is only %.1f %% above its minimum",
			  s->dev_last, 100 * rise);
	answer_append(a, "; the gap to the NLL of training sentences is %.3f nats.",
		      s->dev_last - s->train_last);
	if (!is_small)
		answer_append(a, " This gap is large: watch the next evaluations.");
}

static void judge_overfitting(struct answer *a, const struct learning_signs *s)
{
	bool is_clear;
	char early[60] = "";
	const enum overfitting found = learning_judge_overfitting(s, &is_clear);

	if (isfinite(s->early_gap) && isfinite(s->early_epoch))
		snprintf(early, sizeof(early), ", and was %.3f in epoch %.1f", s->early_gap,
			 s->early_epoch);

	if (found == OVERFIT_UNKNOWN)
		answer_open(a,
			    "%zu evaluation%s measured the NLL of development sentences, and the "
			    "NLL of training sentences is %s; at least %d evaluations with both "
			    "are needed.",
			    s->n_evals, text_plural(s->n_evals),
			    isnan(s->gap) ? "missing" : "known", SIGNS_OVERFIT_AFTER);
	else if (found == OVERFIT_FOREIGN)
		answer_open(a,
			    "The gap between development and training NLL was %.3f nats already in "
			    "epoch %.1f, before the model could memorise pairs: the two sets "
			    "differ, so their gap (%.3f) does not show overfitting.",
			    s->early_gap, s->early_epoch, s->gap);
	else if (found == OVERFIT_RISES)
		answer_yes(a, is_clear,
			   "The development NLL was lowest (%.3f) at step %s; the %zu evaluations "
			   "after that step have a median of %.3f, while the NLL of training "
			   "sentences fell from %.3f to %.3f. The gap is %.3f nats. The checkpoint "
			   "with the best BLEU is kept; more dropout or more data would help.",
			   s->dev_lowest, COUNT_TEXT(s->dev_lowest_step), s->n_after, s->after,
			   s->train_at_lowest, s->train_last, s->gap);
	else if (found == OVERFIT_GAP)
		answer_yes(a, is_clear,
			   "The NLL of training sentences is %.3f, of development sentences %.3f: "
			   "the gap is %.3f nats%s. The development NLL "
			   "was lowest (%.3f) at step %s. The model memorises its training pairs; "
			   "more dropout or more data would help.",
			   s->train_last, s->dev_last, s->gap, early, s->dev_lowest,
			   COUNT_TEXT(s->dev_lowest_step));
	else
		describe_no_overfitting(a, s);
}

void answer_overfitting(struct answer *a, const struct evidence *v)
{
	const struct learning_signs *s = &v->signs;

	answer_add_fact(a, "development NLL", s->dev_last, "nats");
	answer_add_fact(a, "NLL of a sample of training sentences", s->train_last, "nats");
	answer_add_fact(a, "gap between development and training NLL", s->dev_last - s->train_last,
			"nats");
	answer_add_fact(a, "lowest development NLL", s->dev_lowest, "nats");
	answer_add_fact(a, "step of the lowest development NLL", s->dev_lowest_step, "");
	answer_add_fact(a, "evaluations after that step", (double)s->n_after, "");
	answer_add_fact(a, "gap, median of the last 3 evaluations", s->gap, "nats");
	answer_add_fact(a, "gap in the first epochs", s->early_gap, "nats");
	answer_add_fact(a, "epoch of that gap", s->early_epoch, "");
	answer_add_fact(a, "median development NLL after that step", s->after, "nats");
	if (!answer_if_diverged(a, VERDICT_UNKNOWN, s))
		judge_overfitting(a, s);
}

/* ---- stopped early? ---------------------------------------------------- */

void answer_stopped_early(struct answer *a, const struct evidence *v)
{
	const double step = fmax(v->n_train ? v->train[v->n_train - 1].step : NAN, v->stop_step);
	const double planned = v->has_plan ? (double)v->recipe.steps : NAN;

	answer_add_fact(a, "last recorded step", step, "");
	answer_add_fact(a, "planned steps", planned, "");
	if (*v->reason)
		answer_add_text(a, "reason of the stop record", "%s", v->reason);
	if (isnan(step) || isnan(planned) || !*v->reason)
		answer_open(a, "%s",
			    isnan(step)	     ? "The journal records no step."
			    : isnan(planned) ? "The planned number of steps is unknown."
					     : "The journal has no stop record: the run still "
					       "trains, or it was killed.");
	else if (!strcmp(v->reason, "failed"))
		answer_yes(a, CLEAR, "The run failed at step %s of %s: %.200s", COUNT_TEXT(step),
			   COUNT_TEXT(planned), v->last_error);
	else if (step >= planned)
		answer_no(a, CLEAR, "The run made all %s planned steps.", COUNT_TEXT(planned));
	else if (!strcmp(v->reason, "asked"))
		answer_yes(a, CLEAR,
			   "The run was stopped on request at step %s of %s; it can be resumed.",
			   COUNT_TEXT(step), COUNT_TEXT(planned));
	else if (!strcmp(v->reason, "diverged"))
		answer_yes(a, CLEAR,
			   "The run was stopped at step %s of %s, because training diverged "
			   "(stop_on).",
			   COUNT_TEXT(step), COUNT_TEXT(planned));
	else
		answer_yes(a, CLEAR,
			   "The run finished at step %s of %s (%.1f %%): %s; it can be resumed.",
			   COUNT_TEXT(step), COUNT_TEXT(planned), 100 * step / planned,
			   *v->end.text ? v->end.text : "by its time limit or by patience");
}
