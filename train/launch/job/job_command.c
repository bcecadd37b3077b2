/* job_command.c - see job_command.h */
#include "train/launch/job/job_command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/cores.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"
#include "train/launch/job/job_internal.h"
#include "train/launch/remote/remote.h"
#include "train/launch/run/outcome.h"
#include "train/launch/run/train_command.h"

/* ---- the command of the script ---- */

/* Options of this command line go into the script, except those that the script sets itself. */
static bool is_option_passed_on(const struct conf *c, const char *name)
{
	static const char *const ours[] = { "workspace", "run",	    "hosts", "walltime",
					    "output",	 "threads", "image", "volume" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!strcmp(name, ours[i]))
			return false;
	return !strcmp(conf_origin(c, name), "command line");
}

static int add_job_options(const struct job *j, struct command_line *line, struct err *e)
{
	const char *section, *name;
	int rc = 0;

	for (size_t i = 0; !rc && (name = conf_option_at(i, &section)) != NULL; i++) {
		struct buf value = { 0 }, option = { 0 };

		if (!is_option_passed_on(j->conf, name))
			continue;
		conf_value(j->conf, name, &value);
		buf_printf(&option, "--%s=%s", name, buf_text(&value));
		for (size_t k = 0; k < option.len && option.data[k] != '='; k++)
			if (option.data[k] == '_')
				option.data[k] = '-';
		buf_free_part(&value, &option);
		rc = buf_check(&option, e);
		command_line_add(line, buf_text(&option));
		buf_free(&option);
	}
	return rc;
}

static int build_train_line(struct job *j, const char *hosts, struct err *e)
{
	struct command_line *l = &j->line;
	int rc;

	COMMAND_LINE_ADD(l, j->program, "train", "-C", j->workspace, "--run", j->run, "--hosts",
			 hosts);
	if (j->conf->walltime > 0) {
		command_line_add(l, "--walltime");
		command_line_printf(l, "%.10g", j->conf->walltime);
	}
	command_line_add(l, "--threads");
	command_line_printf(l, "%lld", (long long)j->threads);
	rc = add_job_options(j, l, e);
	command_line_add(l, j->recipe);
	return rc ? rc : command_line_check(l, e);
}

/* ---- forecasts ---- */

#define SAVE_BYTES_S	  100e6 /* of a slow shared disk */
#define PARAMETER_BYTES	  12.0	/* in a checkpoint: the weight and both moments of Adam */
#define MARGIN_LEAST_S	  120
#define MARGIN_SAVES	  3.0 /* as in attempts.c: slow checkpoints and steps before the end */
#define MARGIN_STEPS	  5.0
#define SAVE_MARGIN_S	  30.0
#define MEMORY_DEADLINE_S 30.0

/* From the run's journal if it has one, else from the size of a checkpoint; after forecast_model(). */
static void forecast_margin(struct job *j)
{
	char *journal;
	struct outcome past = { 0 };
	struct err ignored;
	double save_s = j->parameters * PARAMETER_BYTES / SAVE_BYTES_S, margin;

	journal = file_path(&ignored, "%s/runs/%s/journal.jsonl", j->workspace, j->run);
	if (journal && file_exists(journal) && !outcome_open(&past, journal, &ignored)) {
		save_s = past.save_s > 0 ? past.save_s : save_s;
		outcome_close(&past);
	}
	free(journal);
	margin = SAVE_MARGIN_S + MARGIN_SAVES * save_s + MARGIN_STEPS * past.step_s;
	j->margin_s = (int64_t)ceil(MIN(MAX(margin, MARGIN_LEAST_S), j->conf->walltime * 30));
}

/* Ask werkbank-train, which knows the model. Without an answer the job leaves memory to the user. */
static void forecast_model(struct job *j)
{
	struct command_line line = { 0 };
	struct remote_job question = { 0 };
	struct err ignored;
	char *trainer = paths_program("werkbank-train", &ignored);

	if (!trainer)
		return;
	COMMAND_LINE_ADD(&line, trainer, "_memory", "-C", j->workspace, "--ranks");
	command_line_printf(&line, "%lld", (long long)hosts_total_slots(&j->hosts));
	add_job_options(j, &line, &ignored);
	command_line_add(&line, j->recipe);
	question.argv = line.all;
	if (!command_line_check(&line, &ignored) &&
	    !remote_run_here(&question, 1, MEMORY_DEADLINE_S, &ignored) && question.status == 0) {
		char *rest;
		const double bytes = strtod(buf_text(&question.out), &rest);

		j->rank_mb = bytes > 0 ? (int64_t)(bytes / (1 << 20)) + 1 : 0;
		j->parameters = fmax(strtod(rest, NULL), 0);
	}
	remote_free(&question, 1);
	command_line_free(&line);
	free(trainer);
}

/* The nodes are assumed to have as many cores as this host; limits of this log-in do not hold there. */
static void forecast_cores(struct job *j)
{
	j->threads = j->conf->threads ? j->conf->threads : MAX(cores_online() / j->slots, 1);
}

/* ---- input and output ---- */

/* For a script that people read: without the "./" that was typed. */
static char *job_path(const char *path, struct err *e)
{
	return paths_absolute(path + (text_starts_with(path, "./") ? 2 : 0), e);
}

static int read_job_script_conf(struct job *j, struct err *e)
{
	const struct hosts_env env = { 0 };
	struct conf *c = j->conf;
	const char *recipe = c->arguments[1];
	char *workspace = paths_workspace(c->workspace, e);
	int rc = workspace ? 0 : e->code;

	if (!rc)
		rc = conf_load_named_recipe(c, recipe, e);
	if (!rc)
		rc = text_facts_adopt_prepared(c, e); /* or prepared later: train looks again */
	if (!rc) {
		conf_recipe_name(c->recipe, j->name, sizeof(j->name));
		j->run = c->run ? c->run : j->name;
		rc = paths_check_name("run", j->run, e);
	}
	/* only the slots count: the batch system chooses the hosts */
	if (!rc)
		rc = hosts_read(&j->hosts, c->hosts ? c->hosts : "localhost", &env, e);
	if (!rc) {
		j->workspace = job_path(workspace, e);
		j->recipe = strchr(recipe, '/') || text_ends_with(recipe, ".ini")
				    ? job_path(recipe, e)
				    : file_path(e, "%s", recipe);
		rc = j->workspace && j->recipe ? 0 : e->code;
	}
	free(workspace);
	return rc;
}

static const struct job_system job_systems[] = {
	{ "slurm", "slurm", job_write_slurm },
	{ "pbs", "pbs", job_write_pbs },
	{ "k8s", "/etc/mpi/hostfile", job_write_k8s }, /* MPI Operator writes this file */
};

static const struct job_system *find_job_system(const char *name, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(job_systems); i++)
		if (!strcmp(name, job_systems[i].name))
			return &job_systems[i];
	err_set(e, ERR_USAGE, "expected slurm, pbs or k8s, not '%.100s'", name);
	return NULL;
}

static void count_job_slots(struct job *j)
{
	j->same_slots = true;
	for (size_t i = 0; i < j->hosts.n; i++) {
		j->slots = MAX(j->slots, j->hosts.all[i].slots);
		j->same_slots = j->same_slots && j->hosts.all[i].slots == j->hosts.all[0].slots;
	}
}

static int job_write_script(struct conf *c, const char *program, struct buf *out, struct err *e)
{
	const struct job_system *system = find_job_system(c->arguments[0], e);
	struct job j = { .conf = c, .program = program };
	int rc = 0;

	if (!system)
		return e->code;
	if (system->write != job_write_k8s && !(c->walltime > 0))
		return err_set(e, ERR_USAGE,
			       "give the length of one batch job: --walltime MINUTES");
	rc = read_job_script_conf(&j, e);
	if (!rc)
		rc = train_check_precision(c, e);
	if (!rc) {
		count_job_slots(&j);
		j.gpus = c->backend == BACKEND_CUDA;
		forecast_cores(&j);
		rc = build_train_line(&j, system->hosts, e);
	}
	if (!rc) {
		conf_apply_size(c); /* after the options of the command line have been copied */
		forecast_model(&j);
		forecast_margin(&j);
		rc = system->write(&j, out, e);
	}
	command_line_free(&j.line);
	hosts_free(&j.hosts);
	free(j.workspace);
	free(j.recipe);
	return rc;
}

int job_command_run(struct conf *c, int *status, struct err *e)
{
	char *program = paths_program("werkbank", e);
	struct buf text = { 0 };
	int rc = program ? job_write_script(c, program, &text, e) : e->code;

	*status = 0;
	if (!rc && c->output) {
		rc = file_write_script(c->output, &text, e);
	} else if (!rc) {
		rc = file_put_stdout(&text, e);
	}
	buf_free(&text);
	free(program);
	return rc;
}
