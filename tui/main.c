/*
 * main.c - the program werkbank: runs its own commands, or starts the sister program of a command.
 */
#include <stdio.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "tui/app/commands.h"

int main(int argc, char **argv)
{
	struct conf c = { 0 };
	struct err e = { 0 };
	int code = commands_exec_sister(argv, &e);

	if (!code)
		code = conf_init(&c, &e);
	if (!code)
		code = conf_parse_command(&c, "tui", argc, argv, &e);
	if (!code)
		code = conf_print_requested(&c, &e);
	if (code == 0)
		code = commands_run(&c, &e);
	else if (code > 0) /* help or version was printed */
		code = 0;
	code = conf_exit_status(&c, code, &e);
	conf_free(&c);
	return code;
}
