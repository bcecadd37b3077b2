/* learning_watch.c - warnings while a run trains; see learning_watch.h */
#include "train/record/learning_watch.h"

#include <math.h>
#include <stdio.h>

#include "share/base/text.h"

#define LASTING_RECORDS 10   /* a divergence counts after this many records in a row ... */
#define LASTING_STEPS	50   /* ... and this many steps: most jumps have recovered by then */
#define RECOVERED	0.33 /* of the climb: the NLL is on its way back */
#define PLATEAU_TIMES	2    /* a plateau must last this many times longer */
#define AWAY_RECORDS	20   /* a sign that was away for so long may warn again */
#define MUCH_WORSE	2    /* factor of the size at the last warning */
#define NORM_EXPLODES	20   /* times the usual gradient norm */
#define ABOVE_GUESS	0.1  /* nats of the development NLL above ln V */

/* ---- states that must last ---------------------------------------------- */

static void update_lasting(struct learning_lasting *l, bool is_now, const struct learning_signs *s)
{
	if (!is_now) {
		*l = (struct learning_lasting){ 0 };
		return;
	}
	if (!l->records++) {
		l->since = s->last_step;
		l->top = s->end;
	}
	l->top = fmax(l->top, s->end);
}

static bool has_lasted(const struct learning_lasting *l, const struct learning_signs *s,
		       size_t times)
{
	return l->records > LASTING_RECORDS * times &&
	       s->last_step - l->since >= LASTING_STEPS * (double)times;
}

/* ---- signs: how bad, 0 if absent; text: the warning --------------------- */

typedef double sign_fn(const struct learning_watch *w, const struct learning_signs *s, char *text,
		       size_t n);

static double sign_diverged(const struct learning_watch *w, const struct learning_signs *s,
			    char *text, size_t n)
{
	const struct learning_lasting *l = &w->diverged;
	char advice[120];

	snprintf(advice, sizeof(advice),
		 "Lower %s or lengthen warmup, and start again from an earlier checkpoint.",
		 w->rate_option);

	if (s->ends_nonfinite) {
		snprintf(text, n,
			 "Training has diverged: no finite loss in the last records, %lld "
			 "step%s skipped. %s",
			 (long long)w->learning.skipped, text_plural(w->learning.skipped), advice);
		return 1;
	}
	if (!has_lasted(l, s, 1))
		return 0;
	if (s->end > s->ln_vocabulary)
		snprintf(text, n,
			 "Training has diverged: the training NLL is %.3f; it began at %.3f, and a "
			 "uniform guess has %.3f. %s",
			 s->end, s->start, s->ln_vocabulary, advice);
	else if ((l->top - s->end) < RECOVERED * (l->top - s->lowest))
		snprintf(text, n,
			 "Training has diverged: the training NLL is %.3f, and was %.3f at step "
			 "%.0f. %s",
			 s->end, s->lowest, s->lowest_step, advice);
	else
		return 0;
	return 1;
}

static double sign_nonfinite(const struct learning_watch *w, const struct learning_signs *s,
			     char *text, size_t n)
{
	const struct learning *l = &w->learning;

	if (!l->is_step_skipped)
		return 0;
	snprintf(text, n,
		 "Step %.0f is skipped: its loss or gradient is not finite (skipped so "
		 "far: %lld). Lower %s, lengthen warmup or set clip.",
		 s->last_step, (long long)l->skipped, w->rate_option);
	return (double)l->skipped;
}

static double sign_jump(const struct learning_watch *w, const struct learning_signs *s, char *text,
			size_t n)
{
	if (!s->open_spikes || w->learning.jump_step < s->last_step)
		return 0;
	snprintf(text, n,
		 "The training NLL jumped from %.3f to %.3f at step %.0f (jumps so far: %zu). If "
		 "it stays high, lower %s or lengthen warmup.",
		 w->learning.before_spike, w->learning.jump, s->last_step, s->spikes,
		 w->rate_option);
	return (double)s->spikes;
}

static double sign_gradient(const struct learning_watch *w, const struct learning_signs *s,
			    char *text, size_t n)
{
	const double times = s->grad_norm / s->usual_grad_norm;

	if (!(times >= NORM_EXPLODES) || isinf(times))
		return 0;
	snprintf(text, n,
		 "The gradient norm of step %.0f is %.3g, which is %.0f times its recent median. A "
		 "smaller clip or %s would help.",
		 s->last_step, s->grad_norm, times, w->rate_option);
	return times;
}

static double sign_plateau(const struct learning_watch *w, const struct learning_signs *s,
			   char *text, size_t n)
{
	char advice[120];

	if (!has_lasted(&w->plateau, s, PLATEAU_TIMES))
		return 0;
	if (s->scaled_peak > SIGNS_PEAK_LARGE || s->travel < SIGNS_TRAVEL_SMALL)
		snprintf(advice, sizeof(advice),
			 s->scaled_peak > SIGNS_PEAK_LARGE
				 ? "The learning rate is probably too large: lower %s."
				 : "The learning rate is probably too small: raise %s.",
			 w->rate_option);
	else
		snprintf(advice, sizeof(advice), "Check %s, warmup, the batch size and the pairs.",
			 w->rate_option);
	snprintf(text, n,
		 "The training NLL (%.3f) has hardly fallen since step %.0f and is near that of "
		 "token "
		 "frequencies (%.3f). %s",
		 s->end, w->plateau.since, SIGNS_UNIGRAM * s->ln_vocabulary, advice);
	return 1;
}

static double sign_overfitting(const struct learning_watch *w, const struct learning_signs *s,
			       char *text, size_t n)
{
	bool is_clear;
	const enum overfitting found = learning_judge_overfitting(s, &is_clear);
	const char *advice = "More dropout or more data would help; patience ends such a run.";

	(void)w;
	if (found == OVERFIT_RISES)
		snprintf(text, n,
			 "Overfitting: the development NLL rose from %.3f (step %.0f) to %.3f, and "
			 "that of training sentences fell to %.3f. %s",
			 s->dev_lowest, s->dev_lowest_step, s->dev_last, s->train_last, advice);
	else if (found == OVERFIT_GAP)
		snprintf(text, n,
			 "Overfitting: the NLL is %.3f on training sentences, but %.3f on "
			 "development sentences. %s",
			 s->train_last, s->dev_last, advice);
	else
		return 0;
	return is_clear ? MUCH_WORSE : 1;
}

static double sign_above_guess(const struct learning_watch *w, const struct learning_signs *s,
			       char *text, size_t n)
{
	/* random weights are above a uniform guess as well: few or small steps leave them there */
	char advice[120];

	if (!(s->dev_last > s->ln_vocabulary + ABOVE_GUESS) || s->last_step < s->warmup ||
	    s->n_train < SIGNS_MIN_RECORDS)
		return 0;
	snprintf(advice, sizeof(advice),
		 s->end < SIGNS_UNIGRAM * s->ln_vocabulary
			 ? "Check the languages, the direction and the domain of the development "
			   "set."
		 : s->travel >= SIGNS_TRAVEL_SMALL
			 ? "Lower %s or lengthen warmup."
			 : "The learning rate is probably too small: raise %s.",
		 w->rate_option);
	snprintf(text, n,
		 "The development NLL (%.3f) is above that of a uniform guess (%.3f); the training "
		 "NLL is %.3f. %s",
		 s->dev_last, s->ln_vocabulary, s->end, advice);
	return 1;
}

static const struct {
	const char *name;
	sign_fn *find;
	bool is_event; /* single steps, no state: never forgets how bad the worst was */
	bool of_evaluations;
} sign_kinds[N_LEARNING_SIGNS] = {
	[SIGN_DIVERGED] = { "diverged", sign_diverged, false, false },
	[SIGN_NONFINITE] = { "nonfinite", sign_nonfinite, true, false },
	[SIGN_JUMP] = { "jump", sign_jump, true, false },
	[SIGN_GRADIENT] = { "gradient", sign_gradient, true, false },
	[SIGN_PLATEAU] = { "plateau", sign_plateau, false, false },
	[SIGN_OVERFITTING] = { "overfitting", sign_overfitting, false, true },
	[SIGN_ABOVE_GUESS] = { "above-guess", sign_above_guess, false, true },
};

const char *learning_sign_name(enum learning_sign sign)
{
	return sign_kinds[sign].name;
}

/* ---- warnings ----------------------------------------------------------- */

/* Is a warning about the sign due? bad: how bad it is now. */
static bool is_warning_due(struct learning_watch *w, enum learning_sign sign, double bad,
			   double step)
{
	double *told = &w->signs[sign].told;

	if (!(bad > 0)) {
		if (++w->signs[sign].away >= AWAY_RECORDS && !sign_kinds[sign].is_event)
			*told = 0;
		return false;
	}
	w->signs[sign].away = 0;
	if (*told > 0 && bad < MUCH_WORSE * *told)
		return false;
	*told = bad;
	return step > w->signs[sign].until;
}

static size_t find_warnings(struct learning_watch *w, const struct learning_signs *s,
			    bool of_evaluations, struct learning_warning out[N_LEARNING_SIGNS])
{
	size_t n = 0;

	for (int i = 0; i < N_LEARNING_SIGNS; i++) {
		struct learning_warning *one = &out[n];

		if (sign_kinds[i].of_evaluations != of_evaluations)
			continue;
		one->sign = sign_kinds[i].name;
		n += is_warning_due(w, (enum learning_sign)i,
				    sign_kinds[i].find(w, s, one->text, sizeof(one->text)),
				    s->last_step);
	}
	return n;
}

void learning_watch_begin(struct learning_watch *w, double vocabulary, double d_model,
			  double warmup)
{
	*w = (struct learning_watch){ .rate_option = "noam_factor" };
	learning_begin(&w->learning, vocabulary, d_model, warmup);
	for (int i = 0; i < N_LEARNING_SIGNS; i++)
		w->signs[i].until = -1;
}

size_t learning_watch_add_step(struct learning_watch *w, const struct learning_step *p,
			       struct learning_warning out[N_LEARNING_SIGNS])
{
	struct learning_signs s;

	learning_add_step(&w->learning, p);
	learning_find_signs(&w->learning, &s);
	if (s.end > SIGNS_UNIGRAM * s.ln_vocabulary && s.last_step >= 2 * s.warmup)
		learning_find_trend(&w->learning, &s, false);
	update_lasting(&w->diverged, s.diverged == DIVERGENCE_CLEAR, &s);
	update_lasting(&w->plateau, s.diverged == DIVERGENCE_NONE && learning_is_on_plateau(&s),
		       &s);
	return find_warnings(w, &s, false, out);
}

size_t learning_watch_add_evaluation(struct learning_watch *w, const struct learning_evaluation *p,
				     struct learning_warning out[N_LEARNING_SIGNS])
{
	struct learning_signs s;

	learning_add_evaluation(&w->learning, p);
	learning_find_signs(&w->learning, &s);
	return find_warnings(w, &s, true, out);
}

bool learning_watch_is_diverged(const struct learning_watch *w)
{
	return w->signs[SIGN_DIVERGED].told > 0 && !w->signs[SIGN_DIVERGED].away;
}
