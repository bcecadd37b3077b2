/*
 * run_commands.h - the commands attach, save, evaluate, stop and logs, for a live run.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_RUN_COMMANDS_H
#define WERKBANK_TRAIN_LAUNCH_RUN_RUN_COMMANDS_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * c: conf of the command, with the run as argument. *status: exit status if the function succeeds.
 */
int run_command_attach(const struct conf *c, int *status, struct err *e);
int run_command_save(const struct conf *c, int *status, struct err *e);
int run_command_evaluate(const struct conf *c, int *status, struct err *e);
int run_command_stop(const struct conf *c, int *status, struct err *e);
int run_command_logs(const struct conf *c, int *status, struct err *e);

#endif
