/* commands.h - what each command of the face does: itself, or by a sister program. */
#ifndef WERKBANK_TUI_APP_COMMANDS_H
#define WERKBANK_TUI_APP_COMMANDS_H

#include "share/conf/conf.h"
#include "share/base/err.h"

/*
 * Become the sister program that does argv[1], with the same argv. Returns 0
 * where argv[1] is not a sister's command (no command, one of the face's own,
 * or an unknown one); otherwise returns only on failure, < 0.
 */
int commands_exec_sister(char **argv, struct err *e);

/* Do one of the face's own commands. Without a command: the workbench on a terminal, else help. */
int commands_run(const struct conf *c, struct err *e);

#endif
