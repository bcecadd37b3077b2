/*
 * batch.h - what the workbench shows, as commands: for scripts, pipes and slow lines.
 *
 *	werkbank runs [RUN...] [--json]		runs side by side: what came of them, options that differ
 *	werkbank samples [RUN] [N] [--json]	development sentence N (all) at each checkpoint, words marked
 *	werkbank watch --plain [RUN]		one screen of status; without a run of the workspace
 */
#ifndef WERKBANK_TUI_APP_TEXT_COMMANDS_H
#define WERKBANK_TUI_APP_TEXT_COMMANDS_H

#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

int text_command_runs(const struct conf *c, struct buf *out, struct err *e);
int text_command_samples(const struct conf *c, struct buf *out, struct err *e);
int text_command_watch(const struct conf *c, double now, struct buf *out, struct err *e);

#endif
