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
int run_command_attach(struct conf *c, int *status, struct err *e);
int run_command_save(struct conf *c, int *status, struct err *e);
int run_command_evaluate(struct conf *c, int *status, struct err *e);
int run_command_stop(struct conf *c, int *status, struct err *e);
int run_command_logs(struct conf *c, int *status, struct err *e);

#endif
