/* answers_learning.c - is it trained, does it overfit, was it stable, what is the rate; answers.h */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/report/answers.h"
#include "eval/metrics/statistics.h"
#include "train/model/schedule.h"

#define PATIENCE    10	  /* evaluations without a gain that end a training (Marian's) */
#define LITTLE	    0.001 /* relative gain of the development loss that counts */
#define LEAST_EVALS 6	  /* that a slope is made from */
#define OVERFIT	    0.01  /* relative rise of the development loss above its least */
#define OVERFIT_RUN 3	  /* evaluations in a row that must show it */
#define SPIKE	    1.3	  /* times the median of the records before */

/* ---- fully trained? ---------------------------------------------------- */

/* Evaluations since the development loss last fell by more than a little. */
static size_t since_gain(const struct eval_point *p, size_t n)
{
	double best = INFINITY;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		if (p[i].dev_nll < best * (1 - LITTLE)) {
			best = p[i].dev_nll;
			at = i;
		}
	return n ? n - 1 - at : 0;
}

/* Slopes of the last third of the evaluations against the logarithm of the step. */
struct tail {
	struct slope_estimate nll, bleu;
	double bleu_noise; /* half width of 95 % of what is left beside the slope */
	size_t n;
};

static int find_tail(struct tail *t, const struct evidence *v, struct err *e)
{
	const size_t n = v->n_evals, from = n - MAX(n / 3, MIN(n, LEAST_EVALS / 2));
	struct evidence_series nll = { 0 }, bleu = { 0 };
	int rc;

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

/* The gain in BLEU of the last third, by its slope. */
static double bleu_gain(const struct evidence *v, const struct tail *t)
{
	const struct eval_point *last = &v->evals[v->n_evals - 1], *first = last - (t->n - 1);

	return t->bleu.median * log2(last->step / MAX(first->step, 1));
}

/*
 * What another doubling of the steps can bring at most: gains by doubling become smaller, so no more
 * than the last one brought, where evaluations reach back so far, nor than by the slope of the last
 * third, nor than is left to 100. NAN: no BLEU was measured.
 */
static double next_doubling(const struct evidence *v, const struct tail *t)
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
		snprintf(text, n, "no BLEU was measured");
	else
		snprintf(text, n, "another doubling of steps would bring at most about %.2f BLEU",
			 gain);
}

static size_t count_losses(const struct evidence *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n_evals; i++)
		n += isfinite(v->evals[i].dev_nll);
	return n;
}

int answer_fully_trained(struct answer *a, const struct evidence *v, struct err *e)
{
	const size_t losses = count_losses(v), waited = since_gain(v->evals, v->n_evals);
	bool flat, little;
	char outlook[96];
	struct tail t;

	a->x_name = "step";
	a->y_name = "nats per token";
	if (ANSWER_ADD_CURVE(a, "development loss", v->evals, v->n_evals, eval_point, step, dev_nll,
			     e))
		return e->code;
	answer_add_fact(a, "evaluations", (double)losses, "");
	if (losses < LEAST_EVALS) {
		answer_append(
			a, VERDICT_UNKNOWN,
			"%zu evaluations are too few to see whether the development loss still "
			"falls: at least %d are needed.",
			losses, LEAST_EVALS);
		return 0;
	}
	if (find_tail(&t, v, e))
		return e->code;
	write_gain_outlook(outlook, sizeof(outlook), next_doubling(v, &t));
	flat = t.nll.high >= 0;
	little = !(bleu_gain(v, &t) > t.bleu_noise);
	answer_add_fact(a, "evaluations since the loss fell by more than 0.1 %", (double)waited,
			"");
	answer_add_fact(a, "development loss per doubling of steps", t.nll.median, "nats");
	answer_add_fact(a, "its 95 % interval, low", t.nll.low, "nats");
	answer_add_fact(a, "its 95 % interval, high", t.nll.high, "nats");
	answer_add_fact(a, "BLEU per doubling of steps", t.bleu.median, "BLEU");
	answer_add_fact(a, "BLEU that another doubling can bring at most", next_doubling(v, &t),
			"BLEU");
	answer_add_fact(a, "BLEU gained in the last third", bleu_gain(v, &t), "BLEU");
	answer_add_fact(a, "BLEU's noise there (95 %, half width)", t.bleu_noise, "BLEU");
	if (waited >= PATIENCE || (flat && little))
		answer_append(a, VERDICT_YES,
			      "Over the last third of the run the development loss %s; %s.",
			      waited >= PATIENCE ? "has not fallen any more"
						 : "shows no fall that can be told from noise",
			      outlook);
	else
		answer_append(a, VERDICT_NO,
			      "The development loss still falls, by %.3f nats per doubling of "
			      "steps (95 %%: %.3f to %.3f); %s.",
			      -t.nll.median, -t.nll.high, -t.nll.low, outlook);
	return 0;
}

/* ---- overfitting? ------------------------------------------------------ */

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
		rising = p[i].dev_nll > best->dev_nll * (1 + OVERFIT) ? rising + 1 : 0;
	}
	if (known < OVERFIT_RUN) {
		answer_append(a, VERDICT_UNKNOWN,
			      "%zu evaluations measured the same loss on training and development "
			      "sentences: at least %d are needed.",
			      known, OVERFIT_RUN);
		return 0;
	}
	answer_add_fact(a, "development loss", last->dev_nll, "nats");
	answer_add_fact(a, "loss of the training sample", last->train_nll, "nats");
	answer_add_fact(a, "gap", last->dev_nll - last->train_nll, "nats");
	answer_add_fact(a, "least development loss", best->dev_nll, "nats");
	answer_add_fact(a, "at step", best->step, "");
	if (rising >= OVERFIT_RUN && last->train_nll < best->train_nll)
		answer_append(
			a, VERDICT_YES,
			"Since step %.0f the development loss has risen by %.1f %%, while "
			"that of training sentences went on falling; the checkpoint of the best "
			"BLEU is kept, more dropout or data would help.",
			best->step, 100 * (last->dev_nll / best->dev_nll - 1));
	else
		answer_append(a, VERDICT_NO,
			      "The development loss (%.3f) is at most %.1f %% above its least; the "
			      "gap to training sentences is %.3f nats.",
			      last->dev_nll, 100 * (last->dev_nll / best->dev_nll - 1),
			      last->dev_nll - last->train_nll);
	return 0;
}

/* ---- stable? ----------------------------------------------------------- */

/* Records whose loss jumped far above those before it. */
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
	answer_add_fact(a, "records that are not finite", (double)v->nonfinite, "");
	answer_add_fact(a, "jumps of the loss by more than 30 %", (double)spikes, "");
	answer_add_fact(a, "warnings", (double)v->warnings, "");
	answer_add_fact(a, "attempts", (double)v->n_attempts, "");
	if (v->n_train < 2)
		answer_append(a, VERDICT_UNKNOWN, "Too few records of training.");
	else if (v->nonfinite || spikes)
		answer_append(a, VERDICT_NO,
			      "%lld records hold a loss or gradient that is not finite, and the "
			      "loss jumped %zu times; a lower learning rate, a longer warm-up or "
			      "clipping would help.",
			      (long long)v->nonfinite, spikes);
	else
		answer_append(a, VERDICT_YES,
			      "Every loss and gradient was finite and the loss never jumped.");
	return 0;
}

/* ---- the learning rate ------------------------------------------------- */

int answer_learning_rate(struct answer *a, const struct evidence *v, struct err *e)
{
	const struct conf *c = &v->recipe;
	struct rate_schedule s = { c->noam_factor, MAX(c->warmup, 1), (int32_t)c->d_model };
	double off = 0, peak = s.d_model > 0 ? schedule_rate(&s, s.warmup - 1) : NAN;
	size_t known = 0;

	a->x_name = "step";
	a->y_name = "learning rate";
	if (ANSWER_ADD_CURVE(a, "learning rate", v->train, v->n_train, train_point, step, lr, e))
		return e->code;
	for (size_t i = 0; i < v->n_train; i++) {
		const struct train_point *p = &v->train[i];
		double theory = s.d_model > 0 && p->step > 0
					? schedule_rate(&s, (int64_t)p->step - 1)
					: NAN;

		if (!isfinite(p->lr) || !(theory > 0))
			continue;
		off = MAX(off, fabs(p->lr / theory - 1));
		known++;
	}
	if (!known) {
		answer_append(a, VERDICT_UNKNOWN, "No record holds a learning rate.");
		return 0;
	}
	answer_add_text(a, "formula", "factor * d_model^-0.5 * min(step * warmup^-1.5, step^-0.5)");
	answer_add_fact(a, "factor", s.factor, "");
	answer_add_fact(a, "d_model", s.d_model, "");
	answer_add_fact(a, "warm-up", (double)s.warmup, "steps");
	answer_add_fact(a, "peak", peak, "");
	answer_add_fact(a, "last", v->train[v->n_train - 1].lr, "");
	answer_add_fact(a, "largest deviation of the record from the formula", off, "");
	answer_append(
		a, VERDICT_STATEMENT,
		"It rises linearly for %lld steps to %.4g and then falls with the square root of "
		"the step (Vaswani et al. 2017): %.4g * %d^-0.5 * min(step * %lld^-1.5, "
		"step^-0.5); the record follows this within %.2g.",
		(long long)s.warmup, peak, s.factor, (int)s.d_model, (long long)s.warmup, off);
	return 0;
}
