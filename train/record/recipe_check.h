/*
 * recipe_check.h - is a recipe plausible for its corpus? Warnings before the first step, each with
 * a value to try. The manual page werkbank-report(7) gives the limits and their reasons.
 */
#ifndef WERKBANK_TRAIN_RECORD_RECIPE_CHECK_H
#define WERKBANK_TRAIN_RECORD_RECIPE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "share/conf/conf.h"
#include "train/record/learning_watch.h"

#define RECIPE_CHECKS 9

/* NAN: unknown. */
struct recipe_facts {
	const struct conf *conf; /* borrowed, sizes applied */
	double parameters, pairs;
	double target_tokens; /* of an epoch, end of sentence included */
	double dev_pairs,
		dev_in_train; /* development pairs; training pairs that equal one of them */
};

/* Returns the number of warnings in out. */
size_t recipe_check(const struct recipe_facts *f, struct learning_warning out[RECIPE_CHECKS]);

/* Is the share of training pairs in a development set so large that its scores are too good? */
bool recipe_has_dev_overlap(double dev_in_train, double dev_pairs);

/*
 * Remove the warnings that the journal of the run holds with the same text: the options have not
 * changed since. Returns the number that is left. A missing journal is an empty one.
 */
size_t recipe_check_drop_told(struct learning_warning *all, size_t n, const char *journal);

#endif
