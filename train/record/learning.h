/*
 * learning.h - signs of how a run learns, from its training records and evaluations, one by one.
 *
 * The report reads a whole journal, the trainer adds each record when it is written; both get the
 * same quantities and the same judgements. The manual page werkbank-report(7) defines them. The
 * memory is fixed, and a record costs the same in long and in short runs.
 *
 *	learning_begin(&l, vocabulary, d_model, warmup)
 *	learning_add_step(), learning_add_evaluation()	by rising step
 *	learning_find_signs(&l, &signs)			at any time
 *
 * NLL is in nats per target token. A quantity that the records do not determine is NAN.
 */
#ifndef WERKBANK_TRAIN_RECORD_LEARNING_H
#define WERKBANK_TRAIN_RECORD_LEARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/statistics.h"

#define SIGNS_MIN_RECORDS   10	 /* training records that a verdict about the training loss needs */
#define SIGNS_MIN_EVALS	    6	 /* evaluations that a slope of the development NLL needs */
#define SIGNS_UNIGRAM	    0.7	 /* times ln V: a model that knows little but token frequencies */
#define SIGNS_EARLY	    1.5	 /* epochs: too few to memorise training pairs */
#define SIGNS_FOREIGN_GAP   1.0	 /* nats of the early gap: the two sets differ */
#define SIGNS_OVERFIT_AFTER 3	 /* evaluations after the lowest development NLL */
#define SIGNS_OVERFIT_GAP   0.5	 /* nats: a large gap */
#define SIGNS_PEAK_LARGE    0.4	 /* largest rate times sqrt(d_model): certainly large ... */
#define SIGNS_PEAK_USUAL    0.02 /* ... and below this certainly not */
#define SIGNS_TRAVEL_LARGE  10	 /* sum of rates times sqrt(d_model): enough to leave the start */
#define SIGNS_TRAVEL_SMALL  4	 /* the weights hardly moved */

#define LEARNING_SMOOTH	 5   /* records of a median */
#define LEARNING_SPIKE	 16  /* records before a spike, at most */
#define LEARNING_HISTORY 256 /* records of the trend; every second one is dropped when it is full */
#define LEARNING_AFTER	 64  /* newest evaluations after the lowest development NLL */

/* A training record. */
struct learning_step {
	double step;
	double steps; /* since the preceding record */
	double nll;   /* the loss if the journal has no NLL */
	double rate, grad_norm, epoch;
	bool is_skipped; /* a number was not finite, and the step did not change the weights */
};

struct learning_evaluation {
	double step, bleu, dev_nll, train_nll;
};

/* Minimum and rise of the smoothed training NLL. */
struct learning_smooth {
	double lowest, lowest_step;
	double rise_from;	      /* minimum so far */
	double highest, highest_step; /* largest rise above an earlier minimum, and where */
	double rise, rise_step;	      /* the same until the rate was at its peak */
};

/* Divergence: none, probable, certain. */
enum divergence { DIVERGENCE_NONE, DIVERGENCE_LIKELY, DIVERGENCE_CLEAR };

struct learning_signs {
	double ln_vocabulary; /* NLL of a uniform guess */
	double warmup;	      /* steps */

	/* Training NLL of the steps, medians of 5 records; the loss where the journal has no NLL. */
	size_t n_train; /* records with a finite value */
	double start, lowest, lowest_step, end;
	double rise_with_rate; /* largest rise above an earlier minimum while the rate still rose */
	double rise_step;
	/* the newest gradient norm, and the median of up to 16 before it; NAN with fewer than 8 */
	double grad_norm, usual_grad_norm;
	struct slope_estimate trend; /* later half, per doubling of the steps; NAN until computed */
	double last_step, last_epoch;

	size_t spikes, open_spikes; /* open: the NLL did not return after the spike */
	double spike_top, spike_step;
	bool ends_nonfinite;

	double scaled_peak; /* largest learning rate times sqrt(d_model) */
	double travel;	    /* sum of the learning rates of all steps, times sqrt(d_model) */

	/* Evaluations that have both the development NLL and that of training sentences. */
	size_t n_evals, n_after; /* after: after the lowest development NLL */
	double dev_first, dev_lowest, dev_lowest_step, dev_last, train_at_lowest, train_last;
	double after; /* median development NLL after the lowest */
	double gap;   /* development minus training NLL, median of the last 3 */
	/* The gap of the last evaluation until SIGNS_EARLY, else of the first; its epoch or NAN. */
	double early_gap, early_epoch;
	double best_bleu, last_bleu;
	double dropout_cost; /* NLL of the last steps, with dropout, minus that of the evaluation */

	enum divergence diverged;
	char divergence[240]; /* the reason, one clause */
};

/* All members are private to learning.c, except the two counts. */
struct learning {
	int64_t nonfinite; /* records with a number that is not finite */
	int64_t skipped;   /* steps that did not change the weights because of that */

	struct learning_signs signs; /* those that each record updates */
	double root_d_model;
	bool is_step_skipped; /* the last record: learning_step.is_skipped */
	bool has_failed;      /* the run ended because of such steps */
	size_t bad_at_end;
	double rates;
	double recent[LEARNING_SMOOTH], recent_step[LEARNING_SMOOTH]; /* ring by signs.n_train */
	struct learning_smooth smooth;
	double largest_rate; /* of all records */
	double peak_rate;    /* of those with a finite NLL: the first of the largest */
	size_t peak_at;	     /* its index */

	double window[LEARNING_SPIKE], before_spike;
	double jump, jump_step; /* the first record of the newest spike */
	size_t n_window;

	double norms[LEARNING_SPIKE]; /* ring by n_norms */
	size_t n_norms;

	double history_step[LEARNING_HISTORY], history_nll[LEARNING_HISTORY];
	size_t n_history, history_stride;

	double gaps[3], after[LEARNING_AFTER]; /* rings by n_gaps and signs.n_after */
	size_t n_gaps;
};

/* vocabulary, d_model, warmup: NAN if unknown. */
void learning_begin(struct learning *l, double vocabulary, double d_model, double warmup);
void learning_add_step(struct learning *l, const struct learning_step *p);
void learning_add_evaluation(struct learning *l, const struct learning_evaluation *p);
/* The run ended with the error that its numbers are not finite. */
void learning_add_failure(struct learning *l);

void learning_find_signs(const struct learning *l, struct learning_signs *s);
/* Computes s->trend. With the interval it costs tens of milliseconds, else less than one. */
void learning_find_trend(const struct learning *l, struct learning_signs *s, bool with_interval);

/* ---- judgements that need more than one quantity ----------------------- */

enum overfitting {
	OVERFIT_NONE,
	OVERFIT_UNKNOWN, /* fewer than 3 evaluations with both NLLs */
	OVERFIT_FOREIGN, /* the two sets differed from the start: their gap says nothing */
	OVERFIT_RISES,	 /* the development NLL rose above its minimum */
	OVERFIT_GAP	 /* the gap grew */
};

/* *is_clear: else likely. */
enum overfitting learning_judge_overfitting(const struct learning_signs *s, bool *is_clear);

/*
 * The training NLL stays near that of token frequencies, although the warm-up is over. False until
 * the trend is computed.
 */
bool learning_is_on_plateau(const struct learning_signs *s);

#endif
