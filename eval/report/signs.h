/*
 * signs.h - quantities that the learning verdicts share, computed once from the evidence.
 *
 * The manual page werkbank-report(7) defines each quantity and the thresholds. NLL is in nats per
 * target token. A quantity that the journal does not determine is NAN.
 */
#ifndef WERKBANK_EVAL_REPORT_SIGNS_H
#define WERKBANK_EVAL_REPORT_SIGNS_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/metrics/statistics.h"
#include "eval/report/evidence.h"
#include "share/base/err.h"

#define SIGNS_MIN_RECORDS 10  /* training records that a verdict about the training loss needs */
#define SIGNS_MIN_EVALS	  6   /* evaluations that a slope of the development NLL needs */
#define SIGNS_UNIGRAM	  0.7 /* times ln V: a model that knows little but token frequencies */
#define SIGNS_EARLY	  1.5 /* epochs: too few to memorise training pairs */
#define SIGNS_FOREIGN_GAP 1.0 /* nats of the early gap: the two sets differ */
#define SIGNS_SPIKE	  1.2 /* a spike exceeds this multiple of the preceding median ... */
#define SIGNS_SPIKE_NATS  0.5 /* ... and exceeds the median by this */

/* Divergence: none, probable, certain. */
enum divergence { DIVERGENCE_NONE, DIVERGENCE_LIKELY, DIVERGENCE_CLEAR };

struct learning_signs {
	double ln_vocabulary; /* NLL of a uniform guess */

	/* Training NLL of the steps, medians of 5 records; the loss where the journal has no NLL. */
	size_t n_train; /* records with a finite value */
	double start, lowest, lowest_step, end;
	double rise_with_rate; /* largest rise above an earlier minimum while the rate still rose */
	double rise_step;
	struct slope_estimate trend; /* later half, per doubling of the steps */
	double last_step, last_epoch;

	size_t spikes, open_spikes; /* open: the NLL did not return after the spike */
	double spike_top, spike_step;
	bool ends_nonfinite;

	double travel; /* sum of the learning rates of all steps, times sqrt(d_model) */

	/* Evaluations that have both the development NLL and that of training sentences. */
	size_t n_evals, n_after; /* after: behind the lowest development NLL */
	double dev_first, dev_lowest, dev_lowest_step, dev_last, train_at_lowest, train_last;
	double after; /* median development NLL behind the lowest */
	double gap;   /* development minus training NLL, median of the last 3 */
	/* The gap of the last evaluation until SIGNS_EARLY, else of the first; its epoch or NAN. */
	double early_gap, early_epoch;
	double best_bleu, last_bleu;
	double dropout_cost; /* NLL of the last steps, with dropout, minus that of the evaluation */

	enum divergence diverged;
	char divergence[240]; /* the reason, one clause */
};

/* Fills *s. Fails only without memory. */
int find_learning_signs(struct learning_signs *s, const struct evidence *v, struct err *e);

#endif
