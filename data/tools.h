/*
 * tools.h - the pipe tools of werkbank-data: filters of text, line by line
 *
 *	tokenize detokenize normalize bpe-apply bpe-undo sp-apply sp-undo	[FILE]
 *	bpe-learn sp-learn							[FILE]...
 *	clean	SOURCE TARGET OUT-SOURCE OUT-TARGET [LEDGER]
 *
 * Without FILE a tool reads standard input. It writes to standard output, or to -o FILE, which
 * appears only when it is complete. sp-learn writes PREFIX.model and PREFIX.vocab. All but clean
 * use one thread a processor (--threads).
 */
#ifndef WERKBANK_DATA_TOOLS_H
#define WERKBANK_DATA_TOOLS_H

#include <stddef.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

struct data_tool {
	const char *command; /* name in commands.def */
	int (*run)(const struct conf *c, struct err *e);
};

extern const struct data_tool data_tools[];
extern const size_t n_data_tools;

#endif
