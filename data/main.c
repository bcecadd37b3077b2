/* main.c - the program werkbank-data: commands on corpora, and pipe tools */
#include <stdio.h>
#include <string.h>

#include "data/data_command.h"
#include "data/demo/demo.h"
#include "data/fetch_command.h"
#include "data/prep/prep.h"
#include "data/shortlist_command.h"
#include "data/tools.h"
#include "share/conf/conf.h"
#include "share/guard/terminal_text.h"
#include "share/help/help.h"

static int data_main_run(struct conf *c, int argc, char **argv, struct err *e)
{
	size_t i;
	int rc;

	if (conf_init(c, e) || conf_parse_command(c, "data", argc, argv, e))
		return e->code;
	rc = conf_print_requested(c, e);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!strcmp(c->command, "prep"))
		return prep_command_run(c, e);
	if (!strcmp(c->command, "fetch"))
		return fetch_command_run(c, e);
	if (!strcmp(c->command, "data"))
		return data_command_run(c, e);
	if (!strcmp(c->command, "shortlist"))
		return shortlist_command_run(c, e);
	if (!strcmp(c->command, "demo-corpus"))
		return demo_corpus_run(c, e);
	for (i = 0; i < n_data_tools; i++)
		if (!strcmp(data_tools[i].command, c->command))
			return data_tools[i].run(c, e);
	return err_set(e, ERR_INTERNAL, "commands.def lists %s, but main.c does not run it",
		       c->command);
}

int main(int argc, char **argv)
{
	struct conf c = { 0 };
	struct err e = { 0 };
	int rc;

	terminal_guard_streams();
	rc = data_main_run(&c, argc, argv, &e);
	rc = conf_exit_status(&c, rc, &e);
	conf_free(&c);
	return rc;
}
