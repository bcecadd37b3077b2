/* answers_learning.c - answers about convergence, overfitting, stability and rate; answers.h */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "eval/metrics/statistics.h"
#include "train/model/schedule.h"

#define PATIENCE      10    /* evaluations without a gain that end a training, as in Marian */
#define LOSS_GAIN     0.001 /* smallest relative fall of the development loss that counts */
#define MIN_EVALS     6	    /* evaluations that a slope needs */
#define OVERFIT_RISE  0.01  /* relative rise of the development loss above its minimum */
#define OVERFIT_EVALS 3	    /* consecutive evaluations that must show this rise */
#define SPIKE	      1.3   /* a spike is a loss above this multiple of the preceding median */

/* ---- fully trained? ---------------------------------------------------- */

/* Evaluations since the development loss last fell by more than LOSS_GAIN. */
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
	size_t n;	   /* evaluations in the last third */
};

static int find_tail(struct tail *t, const struct evidence *v, struct err *e)
{
	const size_t n = v->n_evals, from = n - MAX(n / 3, MIN(n, MIN_EVALS / 2));
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

static size_t count_losses(const struct evidence *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_evals; i++)
		n += isfinite(v->evals[i].dev_nll);
	return n;
}

static void add_slope_facts(struct answer *a, const struct evidence *v, const struct tail *t)
{
	answer_add_fact(a, "development loss, change per doubling of steps", t->nll.median, "nats");
	answer_add_fact(a, "lower end of its 95 % interval", t->nll.low, "nats");
	answer_add_fact(a, "upper end of its 95 % interval", t->nll.high, "nats");
	answer_add_fact(a, "BLEU per doubling of steps", t->bleu.median, "BLEU");
	answer_add_fact(a, "BLEU gain of another doubling, upper bound", bound_bleu_gain(v, t),
			"BLEU");
	answer_add_fact(a, "BLEU gain in the last third of the run", bleu_gain(v, t), "BLEU");
	answer_add_fact(a, "BLEU noise there (95 %, half width)", t->bleu_noise, "BLEU");
}

int answer_fully_trained(struct answer *a, const struct evidence *v, struct err *e)
{
	const size_t losses = count_losses(v), waited = evals_since_gain(v->evals, v->n_evals);
	bool is_loss_flat, is_bleu_flat;
	char outlook[96];
	struct tail t;

	a->x_name = "step";
	a->y_name = "nats per token";
	if (ANSWER_ADD_CURVE(a, "development loss", v->evals, v->n_evals, eval_point, step, dev_nll,
			     e))
		return e->code;
	answer_add_fact(a, "evaluations", (double)losses, "");
	if (losses < MIN_EVALS) {
		answer_append(a, VERDICT_UNKNOWN,
			      "The journal holds %zu evaluations with a development loss; at least "
			      "%d are needed to see whether the loss still falls.",
			      losses, MIN_EVALS);
		return 0;
	}
	if (find_tail(&t, v, e))
		return e->code;
	write_gain_outlook(outlook, sizeof(outlook), bound_bleu_gain(v, &t));
	is_loss_flat = t.nll.high >= 0;
	is_bleu_flat = !(bleu_gain(v, &t) > t.bleu_noise);
	answer_add_fact(a, "evaluations since the loss fell by more than 0.1 %", (double)waited,
			"");
	add_slope_facts(a, v, &t);
	if (waited >= PATIENCE)
		answer_append(a, VERDICT_YES,
			      "The development loss has not fallen by more than 0.1 %% for %zu "
			      "evaluations; %s.",
			      waited, outlook);
	else if (is_loss_flat && is_bleu_flat)
		answer_append(a, VERDICT_YES,
			      "In the last third of the run, neither the fall of the development "
			      "loss nor the gain in BLEU exceeds the noise; %s.",
			      outlook);
	else
		answer_append(a, VERDICT_NO,
			      "The development loss still falls by %.3f nats per doubling of the "
			      "steps (95 %% interval: %.3f to %.3f); %s.",
			      -t.nll.median, -t.nll.high, -t.nll.low, outlook);
	return 0;
}

/* ---- overfitting? ------------------------------------------------------ */

static void describe_no_overfitting(struct answer *a, const struct eval_point *last,
				    const struct eval_point *best)
{
	const double rise = last->dev_nll / best->dev_nll - 1;

	if (rise < 0.0005) /* would print as 0.0 % */
		answer_append(a, VERDICT_NO, "The development loss is at its minimum (%.3f)",
			      last->dev_nll);
	else
		answer_append(a, VERDICT_NO,
			      "The development loss (%.3f) is only %.1f %% above its minimum",
			      last->dev_nll, 100 * rise);
	answer_append(a, VERDICT_NO, "; the gap to the loss on training sentences is %.3f nats.",
		      last->dev_nll - last->train_nll);
}

int answer_overfitting(struct answer *a, const struct evidence *v, struct err *e)
{
	const struct eval_point *p = v->evals, *best = NULL, *last = NULL;
	size_t rising = 0, known = 0;

	a->x_name = "step";
	a->y_name = "nats per token, without dropout and smoothing";
	if (ANSWER_ADD_CURVE(a, "development", p, v->n_evals, eval_point, step, dev_nll, e) ||
	    ANSWER_ADD_CURVE(a, "sample of training", p, v->n_evals, eval_point, step, train_nll,
			     e))
		return e->code;
	for (size_t i = 0; i < v->n_evals; i++) {
		if (!isfinite(p[i].dev_nll) || !isfinite(p[i].train_nll))
			continue;
		known++;
		last = &p[i];
		if (!best || p[i].dev_nll < best->dev_nll)
			best = &p[i];
		rising = p[i].dev_nll > best->dev_nll * (1 + OVERFIT_RISE) ? rising + 1 : 0;
	}
	if (known < OVERFIT_EVALS) {
		answer_append(a, VERDICT_UNKNOWN,
			      "%zu evaluations measured the loss on both training and development "
			      "sentences; at least %d are needed.",
			      known, OVERFIT_EVALS);
		return 0;
	}
	assert(best && last && best->dev_nll <= last->dev_nll);
	answer_add_fact(a, "development loss", last->dev_nll, "nats");
	answer_add_fact(a, "loss on a sample of training sentences", last->train_nll, "nats");
	answer_add_fact(a, "gap", last->dev_nll - last->train_nll, "nats");
	answer_add_fact(a, "lowest development loss", best->dev_nll, "nats");
	answer_add_fact(a, "step of the lowest development loss", best->step, "");
	if (rising >= OVERFIT_EVALS && last->train_nll < best->train_nll)
		answer_append(
			a, VERDICT_YES,
			"Since step %.0f the development loss has risen by %.1f %%, while the loss "
			"on training sentences has fallen further. The checkpoint with the best "
			"BLEU is kept; more dropout or more data would help.",
			best->step, 100 * (last->dev_nll / best->dev_nll - 1));
	else
		describe_no_overfitting(a, last, best);
	return 0;
}

/* ---- stable? ----------------------------------------------------------- */

/* Records whose loss exceeds SPIKE times the median of the 16 finite losses before. */
static size_t count_spikes(const struct evidence *v)
{
	double window[16];
	size_t spikes = 0, n = 0;

	for (size_t i = 0; i < v->n_train; i++) {
		double loss = v->train[i].loss;

		if (!isfinite(loss))
			continue;
		if (n >= ARRAY_LEN(window) && loss > SPIKE * stat_median(window, ARRAY_LEN(window)))
			spikes++;
		window[n++ % ARRAY_LEN(window)] = loss;
	}
	return spikes;
}

int answer_stable(struct answer *a, const struct evidence *v, struct err *e)
{
	size_t spikes = count_spikes(v);

	a->x_name = "step";
	a->y_name = "gradient norm";
	if (ANSWER_ADD_CURVE(a, "gradient norm", v->train, v->n_train, train_point, step, grad_norm,
			     e))
		return e->code;
	answer_add_fact(a, "records with a loss or gradient that is not finite",
			(double)v->nonfinite, "");
	answer_add_fact(a, "records whose loss jumped by more than 30 %", (double)spikes, "");
	answer_add_fact(a, "warnings", (double)v->warnings, "");
	answer_add_fact(a, "attempts", (double)v->n_attempts, "");
	if (v->n_train < 2)
		answer_append(a, VERDICT_UNKNOWN,
			      "The journal holds %zu training records; at least 2 are needed.",
			      v->n_train);
	else if (v->nonfinite || spikes)
		answer_append(
			a, VERDICT_NO,
			"%lld records hold a loss or gradient that is not finite, and the "
			"loss jumped by more than 30 %% in %zu records. A lower learning rate, "
			"a longer warm-up or gradient clipping would help.",
			(long long)v->nonfinite, spikes);
	else
		answer_append(a, VERDICT_YES,
			      "Every recorded loss and gradient was finite, and the loss never "
			      "jumped by more than 30 %%.");
	return 0;
}

/* ---- the learning rate ------------------------------------------------- */

int answer_learning_rate(struct answer *a, const struct evidence *v, struct err *e)
{
	const struct conf *c = &v->recipe;
	struct rate_schedule s = { c->noam_factor, MAX(c->warmup, 1), (int32_t)c->d_model };
	double deviation = 0, peak = s.d_model > 0 ? schedule_rate(&s, s.warmup - 1) : NAN;
	size_t known = 0;

	a->x_name = "step";
	a->y_name = "learning rate";
	if (ANSWER_ADD_CURVE(a, "learning rate", v->train, v->n_train, train_point, step, lr, e))
		return e->code;
	for (size_t i = 0; i < v->n_train; i++) {
		const struct train_point *p = &v->train[i];
		double expected = s.d_model > 0 && p->step > 0
					  ? schedule_rate(&s, (int64_t)p->step - 1)
					  : NAN;

		if (!isfinite(p->lr) || !(expected > 0))
			continue;
		deviation = MAX(deviation, fabs(p->lr / expected - 1));
		known++;
	}
	if (!known) {
		answer_append(
			a, VERDICT_UNKNOWN,
			"No training record holds a learning rate, or the recipe has no d_model.");
		return 0;
	}
	answer_add_text(a, "formula", "factor * d_model^-0.5 * min(step * warmup^-1.5, step^-0.5)");
	answer_add_fact(a, "factor", s.factor, "");
	answer_add_fact(a, "d_model", s.d_model, "");
	answer_add_fact(a, "warm-up", (double)s.warmup, "steps");
	answer_add_fact(a, "peak", peak, "");
	answer_add_fact(a, "last recorded rate", v->train[v->n_train - 1].lr, "");
	answer_add_fact(a, "largest relative deviation from the formula", deviation, "");
	answer_append(
		a, VERDICT_STATEMENT,
		"The rate rises linearly for %lld steps to %.4g, then falls with the inverse "
		"square "
		"root of the step (Vaswani et al. 2017): %.4g * %d^-0.5 * min(step * %lld^-1.5, "
		"step^-0.5). The recorded rates differ from this formula by at most %.3g %%.",
		(long long)s.warmup, peak, s.factor, (int)s.d_model, (long long)s.warmup,
		100 * deviation);
	return 0;
}
