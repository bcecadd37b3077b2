/*
 * main.c - the program werkbank: runs its own commands, or starts the sister program of a command.
 */
#include <stdio.h>

#include "share/base/err.h"
#include "share/base/file.h"
#include "share/conf/conf.h"
#include "share/guard/terminal_text.h"
#include "share/help/help.h"
#include "tui/commands/commands.h"

int main(int argc, char **argv)
{
	struct conf c = { 0 };
	struct err e = { 0 };
	int rc;

	file_limit_as_error();
	terminal_guard_streams();
	rc = commands_exec_sister(argv, &e);
	if (!rc)
		rc = conf_init(&c, &e);
	if (!rc)
		rc = conf_parse_command(&c, "tui", argc, argv, &e);
	if (!rc)
		rc = conf_print_requested(&c, &e);
	if (rc == 0)
		rc = commands_run(&c, &e);
	else if (rc > 0) /* help or version was printed */
		rc = 0;
	rc = conf_exit_status(&c, rc, &e);
	conf_free(&c);
	return rc;
}
