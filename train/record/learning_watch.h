/*
 * learning_watch.h - warnings while a run trains, from the signs of learning.h.
 *
 *	learning_watch_begin()			a run starts
 *	learning_watch_resume()			or resumes: read its journal first
 *	learning_watch_add_step(), …_evaluation()	each gives the warnings that are due now
 *
 * A sign gives a warning when it first appears, and again when it went away and came back or got
 * twice as bad. The manual page werkbank-report(7) describes each sign.
 */
#ifndef WERKBANK_TRAIN_RECORD_LEARNING_WATCH_H
#define WERKBANK_TRAIN_RECORD_LEARNING_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/record/learning.h"

enum learning_sign {
	SIGN_DIVERGED,
	SIGN_NONFINITE,
	SIGN_JUMP,
	SIGN_GRADIENT,
	SIGN_PLATEAU,
	SIGN_OVERFITTING,
	SIGN_ABOVE_GUESS,
	N_LEARNING_SIGNS
};

struct learning_warning {
	const char *sign; /* as in the journal; static */
	char text[240];	  /* a sentence or two, with figures */
};

/* A state of the training NLL that must last before it is a sign. */
struct learning_lasting {
	size_t records; /* in a row; 0: not in this state */
	double since;	/* step of the first one */
	double top;	/* largest smoothed NLL of them */
};

struct learning_watch {
	struct learning learning;
	const char *rate_option; /* static: what sets the size of the rates; noam_factor at first */
	struct learning_lasting diverged, plateau;
	struct {
		double told;  /* how bad it was at the last warning; 0: may warn at once */
		size_t away;  /* records without the sign since then */
		double until; /* step of the last warning in the journal; -1: none */
	} signs[N_LEARNING_SIGNS];
};

/* The name of a sign in the journal; static. */
const char *learning_sign_name(enum learning_sign sign);

void learning_watch_begin(struct learning_watch *w, double vocabulary, double d_model,
			  double warmup);

/*
 * After learning_watch_begin(): read the records of earlier attempts until the step from which the
 * run resumes. A warning that the journal holds is not given again. A missing journal is an empty
 * one.
 */
int learning_watch_resume(struct learning_watch *w, const char *journal, int64_t step,
			  struct err *e);

/* Returns the number of warnings in out. */
size_t learning_watch_add_step(struct learning_watch *w, const struct learning_step *p,
			       struct learning_warning out[N_LEARNING_SIGNS]);
size_t learning_watch_add_evaluation(struct learning_watch *w, const struct learning_evaluation *p,
				     struct learning_warning out[N_LEARNING_SIGNS]);

/* Has training diverged, lastingly? The state of the sign "diverged" after the last step. */
bool learning_watch_is_diverged(const struct learning_watch *w);

#endif
