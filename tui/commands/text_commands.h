/*
 * text_commands.h - the workbench's data as plain text or JSON, for scripts and pipes.
 *
 *	werkbank runs [RUN...] [--json]		runs side by side: results, options that differ
 *	werkbank samples [RUN] [N] [--json]	development sentence N (or all) at each checkpoint
 *	werkbank watch --plain [RUN]		one screen of status of a run or the workspace
 */
#ifndef WERKBANK_TUI_COMMANDS_TEXT_COMMANDS_H
#define WERKBANK_TUI_COMMANDS_TEXT_COMMANDS_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* Each appends its output to out. ERR_NOINPUT: no such run; ERR_USAGE, ERR_NOMEM. */
int text_command_runs(const struct conf *c, struct buf *out, struct err *e);
int text_command_samples(const struct conf *c, struct buf *out, struct err *e);
int text_command_watch(const struct conf *c, double now, struct buf *out, struct err *e);

#endif
