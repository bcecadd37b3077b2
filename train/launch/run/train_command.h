/*
 * train_command.h - "werkbank train": checks a training, starts its supervisor and follows it.
 *
 * With --detach, or if standard error is a terminal, the supervisor is a separate process that
 * survives this one. Otherwise this process is the supervisor. Errors in the recipe, the corpus,
 * the hosts or the lock are reported before the supervisor starts.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_TRAIN_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_RUN_TRAIN_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* ERR_CONFIG: the number format is for translation only. */
int train_check_precision(const struct conf *c, struct err *e);
/* *status: exit status of the run; 0 for --show and --detach. */
int train_command_run(struct conf *c, int *status, struct err *e);

#endif
