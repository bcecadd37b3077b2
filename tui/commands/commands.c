/* commands.c - runs the program's own commands or starts sister programs; see commands.h. */
#include "tui/commands/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/help/help.h"
#include "share/workspace/paths.h"
#include "tui/app/app.h"
#include "tui/commands/text_commands.h"
#include "tui/commands/watch_address.h"
#include "tui/context/completion_names.h"
#include "tui/run/status.h"

int commands_exec_sister(char **argv, struct err *e)
{
	const char *program;
	char name[40], *path;
	int argc = 0;

	while (argv[argc])
		argc++;
	conf_command_first(argc, argv);
	program = argc > 1 ? conf_find_program(argv[1]) : NULL;
	if (!program || !strcmp(program, "tui"))
		return 0;
	snprintf(name, sizeof(name), "werkbank-%s", program);
	path = paths_program(name, e);
	if (!path)
		return e->code;
	argv[0] = path;
	execv(path, argv);
	err_set_errno(e, ERR_UNAVAILABLE, "%s: cannot be run", path);
	free(path);
	return e->code;
}

/* A function that writes what a command prints. */
typedef int make_text(const struct conf *c, struct buf *out, struct err *e);

static int print_text(make_text *make, const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int rc = make(c, &text, e);

	if (!rc)
		rc = file_put_stdout(&text, e);
	buf_free(&text);
	return rc;
}

static int watch_plain(const struct conf *c, struct buf *out, struct err *e)
{
	const char *fixed = getenv("WERKBANK_NOW");
	double now = clock_wall_s();

	if (fixed && *fixed && !text_to_real(fixed, &now))
		return err_set(e, ERR_CONFIG,
			       "WERKBANK_NOW: %.50s is not a number of seconds "
			       "since 1970",
			       fixed);
	return text_command_watch(c, now, out, e);
}

static int watch_here(const struct conf *c, struct err *e)
{
	return c->plain ? print_text(watch_plain, c, e) : app_run(c, e);
}

static int command_watch(const struct conf *c, struct err *e)
{
	struct watched_copy *copy;
	struct conf of_copy;
	int rc;

	if (!watch_has_address(c)) {
		if (c->n_arguments > 1)
			return err_set(e, ERR_USAGE,
				       "%s: one run can be watched, or several "
				       "addresses ssh://HOST/PATH",
				       c->arguments[1]);
		return watch_here(c, e);
	}
	copy = watch_address_open(c, e);
	if (!copy)
		return e->code;
	of_copy = watch_address_conf(copy, c);
	rc = watch_here(&of_copy, e);
	watch_address_close(copy);
	return rc;
}

static int help_text(const struct conf *c, struct buf *out, struct err *e)
{
	const char *name = c->n_arguments ? c->arguments[0] : NULL;

	if (name && !conf_find_program(name))
		return conf_unknown_command(name, e);
	conf_help(name, out);
	return 0;
}

static int man_text(const struct conf *c, struct buf *out, struct err *e)
{
	return conf_man_page(c->n_arguments ? c->arguments[0] : NULL, out, e);
}

static int completion_text(const struct conf *c, struct buf *out, struct err *e)
{
	return conf_completion(c->arguments[0], out, e);
}

/* For shell completion: missing folders are no error. */
static int names_text(const struct conf *c, struct buf *out, struct err *e)
{
	char *workspace = paths_workspace(c->workspace, e);
	struct workspace_names names;
	int rc = workspace ? completion_names_list(&names, workspace, c->arguments[0], e) : e->code;

	free(workspace);
	if (rc)
		return rc;
	for (size_t i = 0; i < names.n; i++)
		buf_printf(out, "%s\n", names.items[i]);
	workspace_names_free(&names);
	return 0;
}

static const struct {
	const char *name;
	make_text *make;
} text_commands[] = {
	{ "status", status_report },
	{ "runs", text_command_runs },
	{ "samples", text_command_samples },
	{ "help", help_text },
	{ "_man", man_text },
	{ "_completion", completion_text },
	{ "_names", names_text },
};

int commands_run(const struct conf *c, struct err *e)
{
	if (c->command && !strcmp(c->command, "watch"))
		return command_watch(c, e);
	for (size_t i = 0; c->command && i < ARRAY_LEN(text_commands); i++)
		if (!strcmp(text_commands[i].name, c->command))
			return print_text(text_commands[i].make, c, e);
	if (c->command)
		return err_set(e, ERR_INTERNAL, "no function implements the command %s",
			       c->command);
	if (c->dump || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		return app_run(c, e);
	return print_text(help_text, c, e);
}
