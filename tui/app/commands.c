/* commands.c - runs the program's own commands or starts sister programs; see commands.h. */
#include "tui/app/commands.h"

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
#include "tui/app/completion_names.h"
#include "tui/app/text_commands.h"
#include "tui/app/watch_address.h"
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

static int write_stdout(struct buf *text, struct err *e)
{
	int rc = file_put_stdout(text, e);

	buf_free(text);
	return rc;
}

/* Write the report that make() produces. */
static int print_report(int (*make)(const struct conf *c, struct buf *out, struct err *e),
			const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int rc = make(c, &text, e);

	if (rc) {
		buf_free(&text);
		return rc;
	}
	return write_stdout(&text, e);
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
	return c->plain ? print_report(watch_plain, c, e) : app_run(c, e);
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

static int command_status(const struct conf *c, struct err *e)
{
	return print_report(status_report, c, e);
}

static int command_runs(const struct conf *c, struct err *e)
{
	return print_report(text_command_runs, c, e);
}

static int command_samples(const struct conf *c, struct err *e)
{
	return print_report(text_command_samples, c, e);
}

static int command_help(const struct conf *c, struct err *e)
{
	const char *name = c->n_arguments ? c->arguments[0] : NULL;
	struct buf text = { 0 };

	if (name && !conf_find_program(name))
		return conf_unknown_command(name, e);
	conf_help(name, &text);
	return write_stdout(&text, e);
}

static int command_man(const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int rc = conf_man_page(c->n_arguments ? c->arguments[0] : NULL, &text, e);

	if (rc) {
		buf_free(&text);
		return rc;
	}
	return write_stdout(&text, e);
}

static int command_completion(const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int rc = conf_completion(c->arguments[0], &text, e);

	if (rc) {
		buf_free(&text);
		return rc;
	}
	return write_stdout(&text, e);
}

/* For shell completion: missing folders are no error. */
static int command_names(const struct conf *c, struct err *e)
{
	char *workspace = paths_workspace(c->workspace, e);
	struct workspace_names names;
	struct buf text = { 0 };
	int rc = workspace ? completion_names_list(&names, workspace, c->arguments[0], e) : e->code;

	free(workspace);
	if (rc)
		return rc;
	for (size_t i = 0; i < names.n; i++)
		buf_printf(&text, "%s\n", names.items[i]);
	workspace_names_free(&names);
	return write_stdout(&text, e);
}

static const struct {
	const char *name;
	int (*run)(const struct conf *c, struct err *e);
} own[] = {
	{ "watch", command_watch },
	{ "status", command_status },
	{ "runs", command_runs },
	{ "samples", command_samples },
	{ "help", command_help },
	{ "_man", command_man },
	{ "_completion", command_completion },
	{ "_names", command_names },
};

int commands_run(const struct conf *c, struct err *e)
{
	struct buf text = { 0 };

	for (size_t i = 0; c->command && i < ARRAY_LEN(own); i++)
		if (!strcmp(own[i].name, c->command))
			return own[i].run(c, e);
	if (c->command)
		return err_set(e, ERR_INTERNAL, "no function implements the command %s",
			       c->command);
	if (c->dump || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		return app_run(c, e);
	conf_help(NULL, &text);
	return write_stdout(&text, e);
}
