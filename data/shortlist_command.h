/* shortlist_command.h - the command "shortlist": learn the lexical shortlist of a corpus */
#ifndef WERKBANK_DATA_SHORTLIST_COMMAND_H
#define WERKBANK_DATA_SHORTLIST_COMMAND_H

#include "share/conf/conf.h"

int shortlist_command_run(struct conf *c, struct err *e);

#endif
