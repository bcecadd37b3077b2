/*
 * tools.h - the pipe tools of werkbank-data: text in, text out, one line at a time.
 *
 * tokenize detokenize normalize bpe-apply bpe-undo sp-apply sp-undo read one
 * FILE (or standard input), bpe-learn and sp-learn any number; they write to
 * standard output, or to -o FILE, which appears only when it is complete, on as
 * many threads as there are processors. clean reads and writes two files,
 * sp-learn writes two.
 */
#ifndef WERKBANK_DATA_TOOLS_H
#define WERKBANK_DATA_TOOLS_H

#include <stddef.h>

#include "share/conf/conf.h"
#include "share/base/err.h"

struct data_tool {
	const char *command; /* as in commands.def */
	int (*run)(const struct conf *c, struct err *e);
};

extern const struct data_tool data_tools[];
extern const size_t n_data_tools;

#endif
