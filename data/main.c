/* main.c - the program werkbank-data: commands on corpora, and pipe tools */
#include <stdio.h>
#include <string.h>

#include "data/data_command.h"
#include "data/demo/demo.h"
#include "data/fetch_command.h"
#include "data/pairs_command.h"
#include "data/prep/prep.h"
#include "data/shortlist_command.h"
#include "data/tools.h"
#include "share/base/util.h"
#include "share/conf/conf.h"
#include "share/guard/terminal_text.h"
#include "share/help/help.h"

static const struct {
	const char *name;
	int (*run)(struct conf *c, struct err *e);
} commands[] = {
	{ "prep", prep_command_run },	    { "fetch", fetch_command_run },
	{ "data", data_command_run },	    { "shortlist", shortlist_command_run },
	{ "demo-corpus", demo_corpus_run }, { "pairs", pairs_command_run },
};

static int data_main_run(struct conf *c, int argc, char **argv, struct err *e)
{
	const struct data_tool *tool;
	int rc;

	if (conf_init(c, e) || conf_parse_command(c, "data", argc, argv, e))
		return e->code;
	rc = conf_print_requested(c, e);
	if (rc)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(c->command, commands[i].name))
			return commands[i].run(c, e);
	tool = data_tool_find(c->command);
	if (tool)
		return data_tool_run(tool, c, e);
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
