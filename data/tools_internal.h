/* tools_internal.h - what tools*.c share. */
#ifndef WERKBANK_DATA_TOOLS_INTERNAL_H
#define WERKBANK_DATA_TOOLS_INTERNAL_H

#include <stddef.h>

#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

/* What a command does to each line, on several threads: each has a tool of its own. */
struct line_tool {
	/*
	 * A tool for one thread; first, NULL while there is none, outlives it. NULL: failure. The
	 * free function takes NULL.
	 */
	void *(*make)(const struct conf *c, void *first, struct err *e);
	/* Append what one line becomes, without LF. */
	int (*line)(void *tool, const char *line, size_t n, struct buf *out, struct err *e);
	void (*free)(void *tool);
};

/* Each line of the command's FILE (or standard input), to where results go. */
int tool_each_line(const struct conf *c, const struct line_tool *kind, struct err *e);

int tool_sp_learn(const struct conf *c, struct err *e);
int tool_sp_apply(const struct conf *c, struct err *e);
int tool_sp_undo(const struct conf *c, struct err *e);

#endif
