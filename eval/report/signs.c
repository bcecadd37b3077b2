/* signs.c - computes the quantities of signs.h */
#include "eval/report/signs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/util.h"

#define SMOOTH	     5	 /* records of a median */
#define SPIKE_WINDOW 16	 /* records before a spike, at most */
#define SPIKE_MIN    4	 /* records before a spike, at least */
#define ABOVE_GUESS  0.5 /* nats above start and ln V: diverged */
#define CLIMB_LIKELY 0.5 /* nats of the end above the lowest NLL */
#define CLIMB_CLEAR  1.0
#define BAD_AT_END   3 /* training records at the end without a finite number */

/* The NLL of a training record; the loss if the journal has no NLL (imported logs). */
static double training_nll(const struct train_point *p)
{
	return isfinite(p->nll) || !isfinite(p->loss) ? p->nll : p->loss;
}

/* ---- the training NLL -------------------------------------------------- */

/* Training records with a finite NLL, raw and smoothed: arrays of n, one allocation from step on. */
struct training_curve {
	double *step, *raw, *smooth, *rate;
	size_t n;
};

static int read_training_curve(struct training_curve *c, const struct evidence *v, struct err *e)
{
	*c = (struct training_curve){ 0 };
	if (!v->n_train)
		return 0;
	c->step = mem_alloc(v->n_train, 4 * sizeof(*c->step), e);
	if (!c->step)
		return e->code;
	c->raw = c->step + v->n_train;
	c->smooth = c->raw + v->n_train;
	c->rate = c->smooth + v->n_train;
	for (size_t i = 0; i < v->n_train; i++) {
		const double nll = training_nll(&v->train[i]);

		if (!isfinite(nll))
			continue;
		c->step[c->n] = v->train[i].step;
		c->rate[c->n] = v->train[i].lr;
		c->raw[c->n++] = nll;
	}
	for (size_t i = 0; i < c->n; i++) {
		const size_t from = i < SMOOTH / 2 ? 0 : i - SMOOTH / 2,
			     to = MIN(i + SMOOTH / 2 + 1, c->n);

		c->smooth[i] = stat_median(c->raw + from, to - from);
	}
	return 0;
}

/* Spikes that follow each other count once. A spike is open until the NLL is near its old median. */
static void find_spikes(struct learning_signs *s, const struct training_curve *c)
{
	double window[SPIKE_WINDOW], before = 0;
	size_t n = 0;
	bool is_open = false;

	for (size_t i = 0; i < c->n; i++) {
		const double median = stat_median(window, MIN(n, SPIKE_WINDOW));

		if (is_open && c->raw[i] <= before + SIGNS_SPIKE_NATS) {
			is_open = false;
		} else if (!is_open && n >= SPIKE_MIN && c->raw[i] > SIGNS_SPIKE * median &&
			   c->raw[i] > median + SIGNS_SPIKE_NATS) {
			is_open = true;
			before = median;
			s->spikes++;
			if (!(s->spike_top > c->raw[i])) {
				s->spike_top = c->raw[i];
				s->spike_step = c->step[i];
			}
		}
		if (is_open)
			s->spike_top = MAX(s->spike_top, c->raw[i]);
		else
			window[n++ % SPIKE_WINDOW] = c->raw[i];
	}
	s->open_spikes = is_open;
}

/* How far the smoothed NLL rose above an earlier minimum before the rate reached its peak. */
static void find_rise_with_rate(struct learning_signs *s, const struct training_curve *c)
{
	double lowest = INFINITY;
	size_t peak = 0;

	for (size_t i = 1; i < c->n; i++)
		if (c->rate[i] > c->rate[peak])
			peak = i;
	s->rise_with_rate = 0;
	for (size_t i = 0; i < c->n && i <= peak + SMOOTH; i++) {
		lowest = MIN(lowest, c->smooth[i]);
		if (c->smooth[i] - lowest > s->rise_with_rate) {
			s->rise_with_rate = c->smooth[i] - lowest;
			s->rise_step = c->step[i];
		}
	}
}

static int find_training_signs(struct learning_signs *s, const struct evidence *v, struct err *e)
{
	struct training_curve c;
	size_t half;

	if (read_training_curve(&c, v, e))
		return e->code;
	s->n_train = c.n;
	for (size_t i = 0; i < c.n; i++)
		if (isnan(s->lowest) || c.smooth[i] < s->lowest) {
			s->lowest = c.smooth[i];
			s->lowest_step = c.step[i];
		}
	if (c.n) {
		s->start = c.raw[0];
		s->end = stat_median(c.raw + c.n - MIN(c.n, SMOOTH), MIN(c.n, SMOOTH));
		find_spikes(s, &c);
		find_rise_with_rate(s, &c);
		half = c.n / 2;
		for (size_t i = half; i < c.n; i++)
			c.step[i] = log2(MAX(c.step[i], 1));
		s->trend = stat_slope(c.step + half, c.raw + half, c.n - half);
	}
	free(c.step);
	return 0;
}

/* The last records hold no finite number. */
static bool has_nonfinite_end(const struct evidence *v)
{
	size_t bad = 0;

	while (bad < v->n_train && !isfinite(training_nll(&v->train[v->n_train - 1 - bad])))
		bad++;
	return bad >= BAD_AT_END;
}

static void find_travel(struct learning_signs *s, const struct evidence *v)
{
	double sum = 0;

	for (size_t i = 0; i < v->n_train; i++)
		if (isfinite(v->train[i].lr) && v->train[i].steps > 0)
			sum += v->train[i].lr * v->train[i].steps;
	if (sum > 0 && v->has_plan && v->recipe.d_model > 0)
		s->travel = sum * sqrt((double)v->recipe.d_model);
	if (v->n_train) {
		s->last_step = v->train[v->n_train - 1].step;
		s->last_epoch = v->train[v->n_train - 1].epoch;
	}
}

/* ---- evaluations ------------------------------------------------------- */

/* The epoch of the training record before this step; NAN if unknown. */
static double epoch_at_step(const struct evidence *v, double step)
{
	double epoch = NAN;

	for (size_t i = 0; i < v->n_train && v->train[i].step <= step; i++)
		epoch = v->train[i].epoch;
	return epoch;
}

static void add_evaluation(struct learning_signs *s, const struct evidence *v,
			   const struct eval_point *p)
{
	double epoch;

	if (isfinite(p->bleu)) {
		s->best_bleu = isnan(s->best_bleu) ? p->bleu : MAX(s->best_bleu, p->bleu);
		s->last_bleu = p->bleu;
	}
	if (!isfinite(p->dev_nll))
		return;
	s->n_evals++;
	if (isnan(s->dev_first))
		s->dev_first = p->dev_nll;
	s->dev_last = p->dev_nll;
	if (isnan(s->dev_lowest) || p->dev_nll < s->dev_lowest) {
		s->dev_lowest = p->dev_nll;
		s->dev_lowest_step = p->step;
		s->train_at_lowest = p->train_nll;
	}
	if (!isfinite(p->train_nll))
		return;
	s->train_last = p->train_nll;
	epoch = epoch_at_step(v, p->step);
	if (isnan(s->early_gap) || epoch <= SIGNS_EARLY) {
		s->early_gap = p->dev_nll - p->train_nll;
		s->early_epoch = epoch;
	}
}

static int find_eval_signs(struct learning_signs *s, const struct evidence *v, struct err *e)
{
	double *dev, *gaps;
	size_t n_gaps = 0;

	if (!v->n_evals)
		return 0;
	dev = mem_alloc(v->n_evals, 2 * sizeof(*dev), e);
	if (!dev)
		return e->code;
	gaps = dev + v->n_evals;
	for (size_t i = 0; i < v->n_evals; i++)
		add_evaluation(s, v, &v->evals[i]);
	for (size_t i = 0; i < v->n_evals; i++) {
		const struct eval_point *p = &v->evals[i];

		if (!isfinite(p->dev_nll))
			continue;
		if (p->step > s->dev_lowest_step)
			dev[s->n_after++] = p->dev_nll;
		if (isfinite(p->train_nll))
			gaps[n_gaps++] = p->dev_nll - p->train_nll;
	}
	s->after = stat_median(dev, s->n_after);
	s->gap = stat_median(gaps + n_gaps - MIN(n_gaps, 3), MIN(n_gaps, 3));
	s->dropout_cost = s->end - s->train_last;
	free(dev);
	return 0;
}

/* ---- divergence -------------------------------------------------------- */

static void judge_divergence(struct learning_signs *s, const struct evidence *v)
{
	const double guess = isnan(s->ln_vocabulary) ? s->start : fmax(s->ln_vocabulary, s->start);
	const double climb = s->end - s->lowest;
	char *text = s->divergence;
	const size_t size = sizeof(s->divergence);

	if (s->ends_nonfinite || strstr(v->last_error, "diverged")) {
		s->diverged = DIVERGENCE_CLEAR;
		snprintf(text, size,
			 "the last training records hold no finite loss, or the run failed because "
			 "of that (%lld such records, %lld skipped steps)",
			 (long long)v->nonfinite, (long long)v->skipped);
	} else if (s->n_train < SMOOTH) {
		return;
	} else if (s->end > guess + ABOVE_GUESS) {
		s->diverged = DIVERGENCE_CLEAR;
		snprintf(
			text, size,
			"the training NLL began at %.3f, fell to %.3f and ended at %.3f; a uniform "
			"guess has %.3f (ln V)",
			s->start, s->lowest, s->end, s->ln_vocabulary);
	} else if (climb >= CLIMB_LIKELY) {
		s->diverged = climb >= CLIMB_CLEAR ? DIVERGENCE_CLEAR : DIVERGENCE_LIKELY;
		snprintf(text, size,
			 "the training NLL fell to %.3f at step %.0f, rose by %.3f nats and ended "
			 "at %.3f",
			 s->lowest, s->lowest_step, climb, s->end);
	}
}

int find_learning_signs(struct learning_signs *s, const struct evidence *v, struct err *e)
{
	*s = (struct learning_signs){ .start = NAN, .lowest = NAN, .lowest_step = NAN };
	s->end = s->rise_with_rate = s->rise_step = s->spike_top = s->spike_step = NAN;
	s->last_step = s->last_epoch = s->travel = s->after = s->gap = s->early_gap = NAN;
	s->dev_first = s->dev_lowest = s->dev_lowest_step = s->dev_last = s->train_at_lowest = NAN;
	s->train_last = s->early_epoch = s->best_bleu = s->last_bleu = s->dropout_cost = NAN;
	s->trend = (struct slope_estimate){ NAN, NAN, NAN };
	s->ln_vocabulary = v->vocabulary > 1 ? log(v->vocabulary) : NAN;
	s->ends_nonfinite = has_nonfinite_end(v);
	find_travel(s, v);
	if (find_training_signs(s, v, e) || find_eval_signs(s, v, e))
		return e->code;
	judge_divergence(s, v);
	return 0;
}
