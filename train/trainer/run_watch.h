/*
 * run_watch.h - warnings about the recipe and about how the run learns, as events of the journal.
 *
 * Only on the first rank. After a resume, warnings of earlier attempts are not repeated.
 */
#ifndef WERKBANK_TRAIN_TRAINER_RUN_WATCH_H
#define WERKBANK_TRAIN_TRAINER_RUN_WATCH_H

#include <stdbool.h>

#include "train/model/model.h"
#include "train/record/learning_watch.h"
#include "train/record/recipe_check.h"
#include "train/trainer/run_records.h"

struct run_watch {
	struct run_records *records; /* borrowed */
	struct learning_watch signs;
};

/*
 * folder: of the run. facts: of the recipe, the model and the corpus; those of the development set are read from the
 * corpus' manifest and stay unknown without one. Sets facts->dev_pairs.
 */
int run_watch_open(struct run_watch *w, const char *folder, const char *corpus,
		   const struct model_shape *shape, struct recipe_facts *facts, struct err *e);
/* Belongs to a record "train". */
void run_watch_step(struct run_watch *w, const struct learning_step *s);
/* Scores are NAN if unknown. */
void run_watch_evaluation(struct run_watch *w, const struct learning_evaluation *v);

#endif
