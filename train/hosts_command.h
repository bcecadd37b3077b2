/* hosts_command.h - werkbank hosts list SPEC. */
#ifndef WERKBANK_TRAIN_HOSTS_COMMAND_H
#define WERKBANK_TRAIN_HOSTS_COMMAND_H

#include "share/base/conf.h"
#include "share/base/err.h"

/* c->arguments[0] is what to do, the rest is for it. */
int hosts_command_run(const struct conf *c, struct err *e);

#endif
