/* learning.c - signs of how a run learns; see learning.h */
#include "train/record/learning.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "share/base/text.h"
#include "share/base/util.h"

#define SPIKE	      1.2 /* a spike exceeds this multiple of the preceding median ... */
#define SPIKE_NATS    0.5 /* ... and exceeds the median by this ... */
#define SPIKE_SCATTER 5	  /* ... and by this multiple of the scatter of these records */
#define SPIKE_MIN     4	  /* records before a spike, at least */
#define NORMS_MIN     8	  /* gradient norms that a usual norm needs */
#define ABOVE_GUESS   0.5 /* nats above start and ln V: diverged */
#define CLIMB_LIKELY  0.5 /* nats of the end above the lowest NLL */
#define CLIMB_CLEAR   1.0
#define BAD_AT_END    3	   /* training records at the end without a finite number */
#define SLOW_FALL     0.3  /* nats per doubling of the steps: less is a plateau */
#define OVERFIT_RISE  0.02 /* relative rise of the development NLL above its minimum ... */
#define OVERFIT_NATS  0.03 /* ... and absolute rise; overfitting needs both */
#define OVERFIT_LARGE 1.0  /* nats that the gap grew: likely, if the minimum is passed */
#define OVERFIT_HUGE  2.0  /* nats that the gap grew: overfitting, wherever the minimum is */
#define OVERFIT_SURE  5 /* a rise is clear from this number of evaluations after the minimum on */

void learning_begin(struct learning *l, double vocabulary, double d_model, double warmup)
{
	struct learning_signs *s = &l->signs;

	*l = (struct learning){
		.signs = { .ln_vocabulary = vocabulary > 1 ? log(vocabulary) : NAN,
			   .warmup = warmup,
			   .trend = { NAN, NAN, NAN } },
		.root_d_model = d_model > 0 ? sqrt(d_model) : NAN,
		.history_stride = 1,
		.smooth = { NAN, NAN, INFINITY, 0, NAN, 0, NAN },
	};
	l->peak_rate = l->largest_rate = l->jump = l->jump_step = NAN;
	s->start = s->last_step = s->last_epoch = s->end = s->rise_with_rate = s->rise_step = NAN;
	s->spike_top = s->spike_step = s->grad_norm = s->usual_grad_norm = NAN;
	s->dev_first = s->dev_lowest = s->dev_lowest_step = s->dev_last = NAN;
	s->train_at_lowest = s->train_last = NAN;
	s->early_gap = s->early_epoch = s->best_bleu = s->last_bleu = NAN;
}

/* ---- the training NLL -------------------------------------------------- */

/* The median of the records from .. to - 1, which are among the last LEARNING_SMOOTH. */
static double median_of_recent(const struct learning *l, size_t from, size_t to)
{
	double x[LEARNING_SMOOTH];

	assert(from < to && to <= l->signs.n_train && from + LEARNING_SMOOTH >= l->signs.n_train);
	for (size_t i = from; i < to; i++)
		x[i - from] = l->recent[i % LEARNING_SMOOTH];
	return stat_median(x, to - from);
}

/* Updates minimum and rise by the median NLL of record i and of up to two records on each side. */
static void add_smoothed(struct learning_smooth *m, const struct learning *l, size_t i)
{
	const size_t from = i < LEARNING_SMOOTH / 2 ? 0 : i - LEARNING_SMOOTH / 2,
		     to = MIN(i + LEARNING_SMOOTH / 2 + 1, l->signs.n_train);
	const double nll = median_of_recent(l, from, to),
		     step = l->recent_step[i % LEARNING_SMOOTH];

	if (isnan(m->lowest) || nll < m->lowest) {
		m->lowest = nll;
		m->lowest_step = step;
	}
	m->rise_from = MIN(m->rise_from, nll);
	if (nll - m->rise_from > m->highest) {
		m->highest = nll - m->rise_from;
		m->highest_step = step;
	}
	if (i <= l->peak_at + LEARNING_SMOOTH) { /* else the rate must rise again first */
		m->rise = m->highest;
		m->rise_step = m->highest_step;
	}
}

/* The standard deviation of normal numbers with this median absolute deviation. */
static double scatter_around(const double *x, size_t n, double median)
{
	double distance[LEARNING_SPIKE];

	assert(n <= LEARNING_SPIKE);
	for (size_t i = 0; i < n; i++)
		distance[i] = fabs(x[i] - median);
	return 1.4826 * stat_median(distance, n);
}

/* Spikes that follow each other count once. A spike is open until the NLL is near its old median. */
static void find_spike(struct learning *l, double nll, double step)
{
	const size_t n = MIN(l->n_window, LEARNING_SPIKE);
	const double median = stat_median(l->window, n);
	const double limit = fmax(SPIKE_NATS, SPIKE_SCATTER * scatter_around(l->window, n, median));

	if (l->signs.open_spikes && nll <= l->before_spike + SPIKE_NATS) {
		l->signs.open_spikes = 0;
	} else if (!l->signs.open_spikes && l->n_window >= SPIKE_MIN && nll > SPIKE * median &&
		   nll > median + limit) {
		l->signs.open_spikes = 1;
		l->before_spike = median;
		l->jump = nll;
		l->jump_step = step;
		l->signs.spikes++;
		if (!(l->signs.spike_top > nll)) {
			l->signs.spike_top = nll;
			l->signs.spike_step = step;
		}
	}
	if (l->signs.open_spikes)
		l->signs.spike_top = MAX(l->signs.spike_top, nll);
	else
		l->window[l->n_window++ % LEARNING_SPIKE] = nll;
}

/* Keeps every history_stride-th record; drops every second one when there are too many. */
static void add_to_history(struct learning *l, double nll, double step)
{
	if (l->signs.n_train % l->history_stride)
		return;
	if (l->n_history == LEARNING_HISTORY) {
		for (size_t i = 0; i < LEARNING_HISTORY / 2; i++) {
			l->history_step[i] = l->history_step[2 * i];
			l->history_nll[i] = l->history_nll[2 * i];
		}
		l->n_history = LEARNING_HISTORY / 2;
		l->history_stride *= 2;
	}
	assert(l->signs.n_train % l->history_stride == 0);
	l->history_step[l->n_history] = step;
	l->history_nll[l->n_history++] = nll;
}

static void add_finite_nll(struct learning *l, const struct learning_step *p)
{
	struct learning_smooth *m = &l->smooth;
	const size_t at = l->signs.n_train;

	add_to_history(l, p->nll, p->step);
	l->recent[at % LEARNING_SMOOTH] = p->nll;
	l->recent_step[at % LEARNING_SMOOTH] = p->step;
	l->signs.n_train++;
	if (at == 0) {
		l->signs.start = p->nll;
		l->peak_rate = p->rate;
	} else if (p->rate > l->peak_rate) {
		l->peak_rate = p->rate;
		l->peak_at = at;
		m->rise = m->highest;
		m->rise_step = m->highest_step;
	}
	find_spike(l, p->nll, p->step);
	if (at >= LEARNING_SMOOTH / 2)
		add_smoothed(m, l, at - LEARNING_SMOOTH / 2);
}

static void add_grad_norm(struct learning *l, double norm)
{
	l->signs.grad_norm = norm;
	l->signs.usual_grad_norm = l->n_norms < NORMS_MIN
					   ? NAN
					   : stat_median(l->norms, MIN(l->n_norms, LEARNING_SPIKE));
	if (isfinite(norm))
		l->norms[l->n_norms++ % LEARNING_SPIKE] = norm;
}

void learning_add_step(struct learning *l, const struct learning_step *p)
{
	l->nonfinite += p->is_skipped;
	l->skipped += p->is_skipped;
	l->is_step_skipped = p->is_skipped;
	add_grad_norm(l, p->grad_norm);
	if (isfinite(p->rate) && p->steps > 0)
		l->rates += p->rate * p->steps;
	if (isfinite(p->rate) && !(p->rate <= l->largest_rate))
		l->largest_rate = p->rate;
	l->signs.last_step = p->step;
	l->signs.last_epoch = p->epoch;
	if (isfinite(p->nll)) {
		l->bad_at_end = 0;
		add_finite_nll(l, p);
	} else {
		l->bad_at_end++;
	}
}

void learning_add_failure(struct learning *l)
{
	l->has_failed = true;
}

/* ---- evaluations ------------------------------------------------------- */

static void add_gap(struct learning *l, double gap, double train_nll)
{
	l->signs.train_last = train_nll;
	l->gaps[l->n_gaps++ % ARRAY_LEN(l->gaps)] = gap;
	if (isnan(l->signs.early_gap) || l->signs.last_epoch <= SIGNS_EARLY) {
		l->signs.early_gap = gap;
		l->signs.early_epoch = l->signs.last_epoch;
	}
}

void learning_add_evaluation(struct learning *l, const struct learning_evaluation *p)
{
	if (isfinite(p->bleu)) {
		l->signs.best_bleu =
			isnan(l->signs.best_bleu) ? p->bleu : MAX(l->signs.best_bleu, p->bleu);
		l->signs.last_bleu = p->bleu;
	}
	if (!isfinite(p->dev_nll))
		return;
	l->signs.n_evals++;
	if (isnan(l->signs.dev_first))
		l->signs.dev_first = p->dev_nll;
	l->signs.dev_last = p->dev_nll;
	if (isnan(l->signs.dev_lowest) || p->dev_nll < l->signs.dev_lowest) {
		l->signs.dev_lowest = p->dev_nll;
		l->signs.dev_lowest_step = p->step;
		l->signs.train_at_lowest = p->train_nll;
		l->signs.n_after = 0;
	} else {
		l->after[l->signs.n_after++ % LEARNING_AFTER] = p->dev_nll;
	}
	if (isfinite(p->train_nll))
		add_gap(l, p->dev_nll - p->train_nll, p->train_nll);
}

/* ---- divergence -------------------------------------------------------- */

static void judge_divergence(struct learning_signs *s, const struct learning *l)
{
	const double guess = isnan(s->ln_vocabulary) ? s->start : fmax(s->ln_vocabulary, s->start);
	const double climb = s->end - s->lowest;
	char *text = s->divergence;
	const size_t size = sizeof(s->divergence);
	int n;

	if (s->ends_nonfinite || l->has_failed) {
		s->diverged = DIVERGENCE_CLEAR;
		snprintf(text, size,
			 "the last training records hold no finite loss, or the run failed because "
			 "of that (%lld such record%s, %lld skipped step%s)",
			 (long long)l->nonfinite, text_plural(l->nonfinite), (long long)l->skipped,
			 text_plural(l->skipped));
	} else if (s->n_train < LEARNING_SMOOTH) {
		return;
	} else if (s->end > guess + ABOVE_GUESS) {
		s->diverged = DIVERGENCE_CLEAR;
		n = snprintf(text, size,
			     "the training NLL began at %.3f, fell to %.3f and ended at %.3f",
			     s->start, s->lowest, s->end);
		if (!isnan(s->ln_vocabulary) && n > 0 && (size_t)n < size)
			snprintf(text + n, size - (size_t)n, "; a uniform guess has %.3f (ln V)",
				 s->ln_vocabulary);
	} else if (climb >= CLIMB_LIKELY) {
		s->diverged = climb >= CLIMB_CLEAR ? DIVERGENCE_CLEAR : DIVERGENCE_LIKELY;
		snprintf(text, size,
			 "the training NLL fell to %.3f at step %.0f, rose by %.3f nats and ended "
			 "at %.3f",
			 s->lowest, s->lowest_step, climb, s->end);
	}
}

/* ---- all signs --------------------------------------------------------- */

static void find_training_signs(const struct learning *l, struct learning_signs *s)
{
	const size_t n = s->n_train;
	struct learning_smooth m = l->smooth;

	/*
	 * The minimum excludes the newest records, because their medians are of fewer than five
	 * records. Including them, a steeply falling loss would seem to end far above its minimum.
	 */
	s->lowest = m.lowest;
	s->lowest_step = m.lowest_step;
	if (n) {
		for (size_t i = n - MIN(n, LEARNING_SMOOTH / 2); i < n; i++)
			add_smoothed(&m, l, i);
		s->end = median_of_recent(l, n - MIN(n, LEARNING_SMOOTH), n);
		s->rise_with_rate = m.rise;
		s->rise_step = m.rise_step;
	}
	s->ends_nonfinite = l->bad_at_end >= BAD_AT_END;
	s->scaled_peak = l->largest_rate * l->root_d_model;
	s->travel = l->rates > 0 ? l->rates * l->root_d_model : NAN;
}

void learning_find_signs(const struct learning *l, struct learning_signs *s)
{
	*s = l->signs;
	find_training_signs(l, s);
	s->after = stat_median(l->after, MIN(s->n_after, LEARNING_AFTER));
	s->gap = stat_median(l->gaps, MIN(l->n_gaps, ARRAY_LEN(l->gaps)));
	s->dropout_cost = s->end - s->train_last;
	judge_divergence(s, l);
}

void learning_find_trend(const struct learning *l, struct learning_signs *s, bool with_interval)
{
	const size_t half = l->n_history / 2, n = l->n_history - half;
	double x[LEARNING_HISTORY];

	for (size_t i = 0; i < n; i++)
		x[i] = log2(MAX(l->history_step[half + i], 1));
	if (with_interval)
		s->trend = stat_slope(x, l->history_nll + half, n);
	else
		s->trend.median = stat_median_slope(x, l->history_nll + half, n);
}

/* ---- judgements -------------------------------------------------------- */

enum overfitting learning_judge_overfitting(const struct learning_signs *s, bool *is_clear)
{
	const double rise = s->after - s->dev_lowest, first = MAX(s->early_gap, 0);
	/* the first evaluation may follow many epochs: then its gap is already overfitting */
	const double grown = s->early_epoch <= SIGNS_EARLY ? s->gap - first : s->gap;

	*is_clear = false;
	if (s->n_evals < SIGNS_OVERFIT_AFTER || isnan(s->gap))
		return OVERFIT_UNKNOWN;
	if (first >= SIGNS_FOREIGN_GAP && s->early_epoch <= SIGNS_EARLY)
		return OVERFIT_FOREIGN;
	if (s->n_after >= SIGNS_OVERFIT_AFTER && rise > OVERFIT_NATS &&
	    rise > OVERFIT_RISE * s->dev_lowest && s->train_last < s->train_at_lowest) {
		*is_clear = grown > SIGNS_OVERFIT_GAP || s->n_after >= OVERFIT_SURE;
		return OVERFIT_RISES;
	}
	if (grown > OVERFIT_HUGE || (grown > OVERFIT_LARGE && s->n_after >= SIGNS_OVERFIT_AFTER)) {
		*is_clear = grown > OVERFIT_HUGE;
		return OVERFIT_GAP;
	}
	return OVERFIT_NONE;
}

bool learning_is_on_plateau(const struct learning_signs *s)
{
	return s->end > SIGNS_UNIGRAM * s->ln_vocabulary && s->trend.median > -SLOW_FALL &&
	       s->last_step >= 2 * s->warmup && s->n_train >= SIGNS_MIN_RECORDS;
}
