/* pairs_command.h - the command "pairs": the pairs of a bilingual file as text */
#ifndef WERKBANK_DATA_PAIRS_COMMAND_H
#define WERKBANK_DATA_PAIRS_COMMAND_H

#include "share/conf/conf.h"

int pairs_command_run(struct conf *c, struct err *e);

#endif
