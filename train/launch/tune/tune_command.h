/*
 * tune_command.h - "werkbank tune MODEL [RECIPE]": a model goes on learning from the user's own translations
 *
 *	derive		a recipe: the text pipeline of the model, the texts of the user, start_from
 *	prepare		werkbank prep; then the options of [train] that depend on the number of pairs (tune_plan.h)
 *	before		the model translates the held-out sets
 *	train		werkbank train
 *	after		the tuned model translates them, and compare tests the difference (tune_scores.h)
 *	verdict		werkbank report --run NAME tuning-helped tuning-forgot
 *
 * All is in the folder of the run: tune/tune.ini, the translations, records "tune" of the journal. The same command
 * again goes on where a former one was stopped.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_TUNE_TUNE_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* *status: of the step that failed; 0: all is done. */
int tune_command_run(struct conf *c, int *status, struct err *e);

#endif
