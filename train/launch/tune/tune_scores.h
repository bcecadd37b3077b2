/*
 * tune_scores.h - a tuned model against the model before, on held-out sets
 *
 * runs/NAME/tune/ keeps the translations SET.before and SET.after, so that a tuning that was stopped goes on, and
 * people can read them. The journal gets a record "tune" for each set (journal.h).
 */
#ifndef WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_SCORES_H
#define WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

struct tune_set {
	const char *name; /* test, dev or general */
	int64_t pairs;
	bool is_general; /* shows what the model forgets */
};

struct tune_scores {
	const struct conf *conf; /* borrowed, as all members */
	const char *corpus;	 /* folder */
	const char *run;	 /* folder */
	const char *folder;	 /* runs/NAME/tune, which exists */
};

/*
 * The first time, keeps the sentences of a set in the tuning's folder; later they must be the same, because its
 * translations are compared. ERR_CONFIG: they are others.
 */
int tune_keep_set(const struct tune_scores *s, const struct tune_set *set, struct err *e);

/*
 * Translate the set with a model folder into SET.STATE ("before" or "after") unless that file exists. *status:
 * of the command.
 */
int tune_translate(const struct tune_scores *s, const struct tune_set *set, const char *model,
		   const char *state, int *status, struct err *e);

/* Print the BLEU of SET.before. */
int tune_print_before(const struct tune_scores *s, const struct tune_set *set, int *status,
		      struct err *e);

/* Compare SET.before with SET.after, and write the record "tune". */
int tune_compare(const struct tune_scores *s, const struct tune_set *set, int *status,
		 struct err *e);

/* Has the journal a record "tune" of this set? */
int tune_is_compared(const struct tune_scores *s, const struct tune_set *set, bool *is,
		     struct err *e);

#endif
