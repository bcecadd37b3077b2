/*
 * plan_command.h - the command "werkbank plan": time and cost of a training on other hosts and
 * links.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* Prints to standard output; c gets options of the recipe of --run. */
int plan_command_run(struct conf *c, int *status, struct err *e);

#endif
