/* plan_command.h - the command plan: what a training would take on other hosts and links. */
#ifndef WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_PLAN_PLAN_COMMAND_H

#include "share/conf/conf.h"
#include "share/base/err.h"

int plan_command_run(struct conf *c, struct err *e);

#endif
