/*
 * train_command.h - "werkbank train": checks a training, starts its supervisor, follows it.
 *
 * With standard error on a terminal, or with --detach, the supervisor is a process that goes
 * on without us; in a script it is this process itself. Whatever is wrong with the
 * recipe, the corpus, the hosts or the lock is found before that, and here.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_TRAIN_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_RUN_TRAIN_COMMAND_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/* *status: of the run; 0 for --show and --detach. */
int train_command_run(struct conf *c, int *status, struct err *e);

#endif
