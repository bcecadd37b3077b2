/* main.c - werkbank-launch: the commands that start, supervise, control and plan trainings. */
#include <stdbool.h>
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
#include "train/launch/remote/mpirun.h"
#include "train/launch/remote/rsh_agent.h"
#include "train/launch/run/run_commands.h"
#include "train/launch/run/train_command.h"
#include "train/launch/tune/tune_command.h"

static const struct {
	const char *name;
	int (*run_subcommand)(struct conf *c, int *status, struct err *e);
} commands[] = {
	/* clang-format off */
	{ "train", train_command_run },
	{ "tune", tune_command_run },
	{ "attach", run_command_attach },
	{ "save", run_command_save },
	{ "evaluate", run_command_evaluate },
	{ "stop", run_command_stop },
	{ "logs", run_command_logs },
	{ "job", job_command_run },
	{ "hosts", hosts_command_run },
	{ "plan", plan_command_run },
	{ "_probe", probe_command_run },
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
