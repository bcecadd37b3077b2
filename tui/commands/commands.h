/* commands.h - the commands of the werkbank program: run here, or by a sister program. */
#ifndef WERKBANK_TUI_COMMANDS_COMMANDS_H
#define WERKBANK_TUI_COMMANDS_COMMANDS_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/*
 * Replace this process by the sister program of the command argv[1], with the same argv. Returns 0
 * if argv[1] is no sister's command (none, one of this program's own, or unknown), < 0 on failure.
 */
int commands_exec_sister(char **argv, struct err *e);

/*
 * Run one of this program's own commands. Without a command: the workbench on a terminal, else
 * help.
 */
int commands_run(const struct conf *c, struct err *e);

#endif
