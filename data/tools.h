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

#include <stdbool.h>
#include <stddef.h>

#include "data/text/protect.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* A command. A filter of lines has no run(): each thread has a tool (instance) of its own. */
struct data_tool {
	const char *command; /* name in commands.def */
	/*
	 * Make the tool of one thread. first: the first tool made, which outlives all others and
	 * may share data with them; NULL for the first itself. p: protected symbols, which outlive
	 * it; NULL: none. NULL: failure. free(NULL) is fine.
	 */
	void *(*make)(const struct conf *c, const struct protect *p, void *first, struct err *e);
	/* Append the filtered line to out, without LF. */
	int (*line)(void *tool, const char *line, size_t n, struct buf *out, struct err *e);
	void (*free)(void *tool);
	bool needs_language; /* warn if the language has no rules */
	enum tool_masking {
		MASK_NOTHING, /* the tool knows protected symbols itself, or takes none */
		MASK_TEXT,    /* protected symbols are hidden from the tool */
		MASK_WORDS    /* those that are whole words */
	} masking;
	int (*run)(const struct conf *c, struct err *e);
};

const struct data_tool *data_tool_find(const char *command); /* NULL: none is called so */
int data_tool_run(const struct data_tool *t, const struct conf *c, struct err *e);

#endif
