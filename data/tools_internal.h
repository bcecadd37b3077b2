/* tools_internal.h - what tools*.c share. */
#ifndef WERKBANK_DATA_TOOLS_INTERNAL_H
#define WERKBANK_DATA_TOOLS_INTERNAL_H

#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/conf.h"
#include "share/base/err.h"

/* Append what one line becomes, without LF. */
typedef int (*line_tool)(void *tool, const char *line, size_t n, struct buf *out, struct err *e);

/* Each line of the command's FILE (or standard input) through run, to where results go. */
int tool_each_line(const struct conf *c, line_tool run, void *tool, struct err *e);

int tool_sp_learn(const struct conf *c, struct err *e);
int tool_sp_apply(const struct conf *c, struct err *e);
int tool_sp_undo(const struct conf *c, struct err *e);

#endif
