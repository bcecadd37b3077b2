/*
 * run_commands.h - attach, save, evaluate, stop, logs: what one says to a run that goes on by itself.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RUN_COMMANDS_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RUN_COMMANDS_H

#include "share/conf/conf.h"
#include "share/base/err.h"

int run_command_attach(const struct conf *c, int *status, struct err *e);
int run_command_save(const struct conf *c, int *status, struct err *e);
int run_command_evaluate(const struct conf *c, int *status, struct err *e);
int run_command_stop(const struct conf *c, int *status, struct err *e);
int run_command_logs(const struct conf *c, int *status, struct err *e);

#endif
