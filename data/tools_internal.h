/* tools_internal.h - line filters on several threads; only tools*.c include this */
#ifndef WERKBANK_DATA_TOOLS_INTERNAL_H
#define WERKBANK_DATA_TOOLS_INTERNAL_H

#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* A line filter. Each thread has a tool (instance) of its own. */
struct line_tool {
	/*
	 * Make the tool of one thread. first: the first tool made, which outlives all others and
	 * may share data with them; NULL for the first itself. NULL: failure. free(NULL) is fine.
	 */
	void *(*make)(const struct conf *c, void *first, struct err *e);
	/* Append the filtered line to out, without LF. */
	int (*line)(void *tool, const char *line, size_t n, struct buf *out, struct err *e);
	void (*free)(void *tool);
};

/* Filter each line of the command's FILE (or standard input) to c->output (or standard output). */
int tool_each_line(const struct conf *c, const struct line_tool *kind, struct err *e);

int tool_sp_learn(const struct conf *c, struct err *e);
int tool_sp_apply(const struct conf *c, struct err *e);
int tool_sp_undo(const struct conf *c, struct err *e);

#endif
