/* launch_main.c - werkbank-launch: checks a training, starts its ranks, watches over them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/conf.h"
#include "share/base/err.h"
#include "share/base/file.h"
#include "share/base/paths.h"
#include "train/hosts_command.h"
#include "train/plan_command.h"
#include "train/probe.h"
#include "train/rundir.h"
#include "train/ssh_agent.h"
#include "train/supervise.h"

#define EXIT_STOPPED 75		/* the ranks saved and ended because they were asked to */

/* Everything that main() owns. */
struct launch {
	struct conf conf;
	struct rundir dir;
	char *workspace, *trainer, *console;
	const char *run;	/* borrowed: from --run, else the recipe's name */
	char name[200];		/* the recipe's name */
};

static int check_corpus(const struct launch *l, struct err *e)
{
	char *path;
	int code = paths_check_name("corpus", l->conf.corpus, e);

	if (code)
		return code;
	path = file_path(e, "%s/corpora/%s/manifest.json", l->workspace, l->conf.corpus);
	if (!path)
		return e->code;
	if (!file_exists(path))
		code = err_set(e, ERR_NOINPUT,
			       "the corpus %s is not prepared in %s; type: werkbank prep -C %s %s",
			       l->conf.corpus, l->workspace, l->workspace, l->conf.arguments[0]);
	free(path);
	return code;
}

static int load(struct launch *l, struct err *e)
{
	struct conf *c = &l->conf;
	int code = conf_load_recipe(c, c->arguments[0], e);

	if (code)
		return code;
	if (c->precision == PRECISION_INT8)
		return err_set(e, ERR_CONFIG,
			       "precision = int8 is for translating and not for training: train "
			       "with fp32 or bf16, then use --precision int8 with translate");
	conf_apply_size(c);
	conf_recipe_name(c->recipe, l->name, sizeof(l->name));
	l->run = c->run ? c->run : l->name;
	l->workspace = paths_workspace(c->workspace, e);
	if (!l->workspace)
		return e->code;
	code = paths_check_name("run", l->run, e);
	return code ? code : check_corpus(l, e);
}

/* The command line of the ranks: the trainer itself, or mpirun with it. */
static int start_ranks(struct launch *l, int *status, struct err *e)
{
	const char *argv[20], *quiet = l->conf.quiet ? "--quiet" : NULL;
	char ranks[24];
	struct supervise s = { .argv = argv, .console = l->console };
	int n = 0, code;

	snprintf(ranks, sizeof(ranks), "%lld", (long long)l->conf.ranks);
	if (l->conf.ranks > 1) {
		argv[n++] = "mpirun";
		argv[n++] = "-n";
		argv[n++] = ranks;
		argv[n++] = "--oversubscribe";
		argv[n++] = "--bind-to";
		argv[n++] = "none";
		if (geteuid() == 0)
			argv[n++] = "--allow-run-as-root";
	}
	argv[n++] = l->trainer;
	argv[n++] = "_rank";
	argv[n++] = "-C";
	argv[n++] = l->workspace;
	argv[n++] = "--run";
	argv[n++] = l->run;
	argv[n++] = quiet;
	argv[n] = NULL;
	/*
	 * mpirun forwards SIGUSR1; to SIGTERM it answers by killing the ranks before they could
	 * save.
	 */
	s.stop_signal = l->conf.ranks > 1 ? SIGUSR1 : SIGTERM;
	if (isatty(STDERR_FILENO) && setenv("WERKBANK_TERMINAL", "1", 1))
		return err_set_errno(e, ERR_NOMEM, "the environment of the ranks cannot be set");
	code = supervise_run(&s, status, e);
	if (code == ERR_UNAVAILABLE && l->conf.ranks > 1)
		err_prefix(e, "--ranks %s needs Open MPI", ranks);
	return code;
}

static int train(struct launch *l, int *status, struct err *e)
{
	int64_t ranks = l->conf.ranks;
	const char *state;
	int code = load(l, e);

	if (!code && !(l->trainer = paths_sister("werkbank-train", e)))
		code = e->code;
	if (!code)
		code = rundir_open(&l->dir, l->workspace, l->run, e);
	if (!code)
		code = rundir_settle(&l->dir, &l->conf, e);
	if (!code && !(l->console = rundir_file(&l->dir, "console.log", e)))
		code = e->code;
	if (!code)
		code = supervise_prepare(e);
	if (!code)
		code = rundir_write_state(&l->dir, "running", ranks, -1, e);
	if (code)
		return code;
	code = start_ranks(l, status, e);
	if (code) {
		struct err ignored;	/* the first failure is the one to tell */

		rundir_write_state(&l->dir, "failed", ranks, err_exit_status(code), &ignored);
		return code;
	}
	state = !*status ? "finished" : *status == EXIT_STOPPED ? "stopped" : "failed";
	return rundir_write_state(&l->dir, state, ranks, *status, e);
}

/* The ranks said why they ended; this says where to read it again. */
static void tell(const struct launch *l, int status)
{
	if (status && status != EXIT_STOPPED)
		fprintf(stderr, "werkbank train: the training ended with status %d; see %s\n",
			status, l->console);
}

/* What follows the host is the remote shell's business, so it is kept from the parser. */
static int run_ssh(struct conf *c, char **from_host, struct err *e)
{
	mpirun_decode(c->ssh);
	mpirun_decode(c->arguments[0]);
	return ssh_agent_exec(c->ssh, c->arguments[0], (const char *const *)from_host, e);
}

int main(int argc, char **argv)
{
	struct launch l = { .dir = { .lock = -1 } };
	struct err e = { 0 };
	int status = 0, code = conf_init(&l.conf, &e);
	bool agent = argc > 1 && !strcmp(argv[1], "_ssh");
	int parsed = argc;

	if (agent)
		parsed = MIN(ssh_agent_host_at(argc, (const char *const *)argv) + 1, argc);
	if (!code)
		code = conf_parse_command(&l.conf, "launch", parsed, argv, &e);
	if (!code && agent && !l.conf.help && !l.conf.version) {
		code = run_ssh(&l.conf, argv + parsed - 1, &e);
	} else if (!code && conf_answered(&l.conf, stdout)) {
		/* nothing more to do */
	} else if (!code && !strcmp(l.conf.command, "_probe")) {
		code = probe_run(&l.conf, &e);
	} else if (!code && !strcmp(l.conf.command, "hosts")) {
		code = hosts_command_run(&l.conf, &status, &e);
	} else if (!code && !strcmp(l.conf.command, "plan")) {
		code = plan_command_run(&l.conf, &e);
	} else if (!code) {
		code = train(&l, &status, &e);
		if (!code && !l.conf.quiet)
			tell(&l, status);
	}
	if (code)
		status = conf_exit_status(&l.conf, code, &e);
	rundir_close(&l.dir);
	conf_free(&l.conf);
	free(l.workspace);
	free(l.trainer);
	free(l.console);
	return status;
}
