/* main.c - werkbank-launch: the commands that start, supervise, control and plan trainings. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/err.h"
#include "share/base/file.h"
#include "share/base/proc.h"
#include "share/conf/conf.h"
#include "share/guard/terminal_text.h"
#include "share/help/help.h"
#include "train/launch/follow/follow_command.h"
#include "train/launch/hosts/hosts_command.h"
#include "train/launch/job/job_command.h"
#include "train/launch/plan/plan_command.h"
#include "train/launch/preflight/probe.h"
#include "train/launch/remote/rsh_agent.h"
#include "train/launch/run/run_commands.h"
#include "train/launch/run/train_command.h"

static int command_hosts(struct conf *c, int *status, struct err *e)
{
	return hosts_command_run(c, status, e);
}

static int command_probe(struct conf *c, int *status, struct err *e)
{
	*status = 0;
	return probe_command_run(c, e);
}

static int command_job(struct conf *c, int *status, struct err *e)
{
	*status = 0;
	return job_command_run(c, e);
}

static int command_attach(struct conf *c, int *status, struct err *e)
{
	return run_command_attach(c, status, e);
}

static int command_save(struct conf *c, int *status, struct err *e)
{
	return run_command_save(c, status, e);
}

static int command_evaluate(struct conf *c, int *status, struct err *e)
{
	return run_command_evaluate(c, status, e);
}

static int command_stop(struct conf *c, int *status, struct err *e)
{
	return run_command_stop(c, status, e);
}

static int command_logs(struct conf *c, int *status, struct err *e)
{
	return run_command_logs(c, status, e);
}

static int command_plan(struct conf *c, int *status, struct err *e)
{
	*status = 0;
	return plan_command_run(c, e);
}

static const struct {
	const char *name;
	int (*run_subcommand)(struct conf *c, int *status, struct err *e);
} commands[] = {
	/* clang-format off */
	{ "train", train_command_run },
	{ "attach", command_attach },
	{ "save", command_save },
	{ "evaluate", command_evaluate },
	{ "stop", command_stop },
	{ "logs", command_logs },
	{ "job", command_job },
	{ "hosts", command_hosts },
	{ "plan", command_plan },
	{ "_probe", command_probe },
	{ "_follow", follow_command_run },
	/* clang-format on */
};

/* The words after the host belong to the remote shell: the parser of options never sees them. */
static int command_ssh(struct conf *c, char **from_host, struct err *e)
{
	mpirun_decode_word(c->ssh);
	mpirun_decode_word(c->arguments[0]);
	return rsh_agent_exec(c->ssh, c->arguments[0], (const char *const *)from_host, e);
}

/* The daemon's own options follow its name. Returns only after a failure. */
static int command_hold(char **argv, struct err *e)
{
	proc_hold_sigterm();
	execvp(argv[0], argv);
	return err_set_errno(e, ERR_UNAVAILABLE, "%s: cannot run this program", argv[0]);
}

static int run_subcommand(struct conf *c, int *status, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(c->command, commands[i].name))
			return commands[i].run_subcommand(c, status, e);
	return err_set(e, ERR_INTERNAL, "the command %s is not implemented", c->command);
}

int main(int argc, char **argv)
{
	struct conf c;
	struct err e = { 0 };
	int status = 0, rc;
	bool agent = argc > 1 && !strcmp(argv[1], "_ssh");
	bool hold = argc > 2 && !strcmp(argv[1], "_hold");
	int parsed = argc;

	file_limit_as_error();
	terminal_guard_streams();
	rc = conf_init(&c, &e);
	if (agent)
		parsed = MIN(rsh_agent_host_index(argc, (const char *const *)argv) + 1, argc);
	if (hold)
		parsed = 3;
	if (!rc)
		rc = conf_parse_command(&c, "launch", parsed, argv, &e);
	if (!rc)
		rc = conf_print_requested(&c, &e);
	if (rc == 0)
		rc = agent  ? command_ssh(&c, argv + parsed - 1, &e)
		     : hold ? command_hold(argv + 2, &e)
			    : run_subcommand(&c, &status, &e);
	else if (rc > 0) /* help or version was printed */
		rc = 0;
	if (rc)
		status = conf_exit_status(&c, rc, &e);
	conf_free(&c);
	return status;
}
