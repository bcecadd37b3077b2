/* job_command.c - see job_command.h */
#include "train/launch/run/job_command.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/paths.h"
#include "share/base/text.h"
#include "train/launch/hosts/hosts.h"
#include "train/launch/hosts/mpirun.h"

struct job {
	struct conf *conf;	  /* borrowed */
	const char *program;	  /* borrowed */
	char *workspace, *recipe; /* owned; absolute, but a shipped recipe stays a name */
	const char *run;
	char name[200];
	struct hosts hosts;
	struct command_line line;
};

/* ---- the command of the script ---- */

/* Options of this command line go into the script, except those that the script sets itself. */
static bool is_option_passed_on(const struct conf *c, const char *name)
{
	static const char *const ours[] = { "workspace", "run", "hosts", "walltime", "output" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!strcmp(name, ours[i]))
			return false;
	return !strcmp(conf_origin(c, name), "command line");
}

static int add_option_pair(struct command_line *l, const char *option, const char *value,
			   struct err *e)
{
	int rc = command_line_add(l, option, e);

	return rc ? rc : command_line_add(l, value, e);
}

static int add_job_options(struct job *j, struct err *e)
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
		rc = buf_check(&option, e);
		if (!rc)
			rc = command_line_add(&j->line, option.data, e);
		buf_free(&value);
		buf_free(&option);
	}
	return rc;
}

static int build_train_line(struct job *j, bool slurm, struct err *e)
{
	struct command_line *l = &j->line;
	char minutes[40];
	int rc = add_option_pair(l, j->program, "train", e);

	snprintf(minutes, sizeof(minutes), "%.10g", j->conf->walltime);
	if (!rc)
		rc = add_option_pair(l, "-C", j->workspace, e);
	if (!rc)
		rc = add_option_pair(l, "--run", j->run, e);
	if (!rc)
		rc = add_option_pair(l, "--hosts", slurm ? "slurm" : "pbs", e);
	if (!rc)
		rc = add_option_pair(l, "--walltime", minutes, e);
	if (!rc)
		rc = add_job_options(j, e);
	return rc ? rc : command_line_add(l, j->recipe, e);
}

/* ---- the script ---- */

/* "1:30:00", the full time; the training stops a margin before. */
static void add_walltime(struct buf *out, double minutes)
{
	long long s = (long long)(minutes * 60 + 0.5);

	assert(s >= 0);
	buf_printf(out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

static void add_quoted_word(struct buf *out, const char *word)
{
	char *words[] = { (char *)(uintptr_t)word, NULL };
	const struct command_line one = { words, 1, 1 };

	command_line_quote(&one, out);
}

/* Join neighbours with the same number of slots: "2:ppn=4+1:ppn=8". */
static void add_pbs_nodes(struct buf *out, const struct hosts *h)
{
	for (size_t i = 0, n; i < h->n; i += n) {
		for (n = 1; i + n < h->n && h->all[i + n].slots == h->all[i].slots; n++)
			;
		buf_printf(out, "%s%zu:ppn=%d", i ? "+" : "", n, h->all[i].slots);
	}
}

static void add_pbs_head(struct buf *out, const struct job *j)
{
	buf_printf(out, "#PBS -N %.15s\n#PBS -j oe\n#PBS -l nodes=", j->run);
	add_pbs_nodes(out, &j->hosts);
	buf_add_str(out, "\n#PBS -l walltime=");
	add_walltime(out, j->conf->walltime);
	buf_add_str(out, "\n# Add options of your cluster: a queue (-q), an account (-A), GPUs "
			 "(:gpus=N after ppn).\n");
}

static void add_slurm_head(struct buf *out, const struct job *j)
{
	bool same = true;

	for (size_t i = 1; i < j->hosts.n; i++)
		same = same && j->hosts.all[i].slots == j->hosts.all[0].slots;
	buf_printf(out, "#SBATCH --job-name=%s\n#SBATCH --nodes=%zu\n", j->run, j->hosts.n);
	if (same)
		buf_printf(out, "#SBATCH --ntasks-per-node=%d\n", j->hosts.all[0].slots);
	else
		buf_printf(out, "#SBATCH --ntasks=%lld\n", (long long)hosts_total_slots(&j->hosts));
	buf_add_str(out, "#SBATCH --time=");
	add_walltime(out, j->conf->walltime);
	buf_add_str(out,
		    "\n#SBATCH --requeue\n#SBATCH --open-mode=append\n"
		    "# Add options of your cluster: --partition, --account, --gpus-per-node=N.\n");
}

/* The batch system sends SIGTERM before it ends a job; the script forwards it, so the run saves. */
static void add_script_body(struct buf *out, const struct job *j, bool slurm)
{
	buf_printf(out, "\ncd \"${%s:-.}\" || exit 66\n",
		   slurm ? "SLURM_SUBMIT_DIR" : "PBS_O_WORKDIR");
	buf_add_str(out, "state=");
	add_quoted_word(out, j->workspace);
	buf_printf(out, "/runs/%s/state.json\n", j->run);
	command_line_quote(&j->line, out);
	buf_add_str(
		out,
		" &\npid=$!\ntrap 'kill -TERM \"$pid\"' TERM\nwait \"$pid\"\nstatus=$?\n"
		"while kill -0 \"$pid\" 2>/dev/null; do\n\twait \"$pid\"\n\tstatus=$?\ndone\n"
		"\n# 75: saved and stopped. Queue the job again only if its walltime was over.\n"
		"if [ \"$status\" -eq 75 ] && grep -q '\"asked_by\":\"walltime\"' \"$state\"; "
		"then\n");
	buf_add_str(out, slurm ? "\tscontrol requeue \"$SLURM_JOB_ID\"\n"
			       : "\tqsub -W depend=afterany:\"$PBS_JOBID\" \"$0\"\n");
	buf_add_str(out, "fi\nexit \"$status\"\n");
}

/* ---- input and output ---- */

static char *absolute_path(const char *path, struct err *e)
{
	char here[PATH_MAX];

	if (path[0] == '/' || !getcwd(here, sizeof(here)))
		return file_path(e, "%s", path);
	return file_path(e, "%s/%s", here, text_starts_with(path, "./") ? path + 2 : path);
}

static int read_job_script_conf(struct job *j, struct err *e)
{
	const struct hosts_env env = { 0 };
	struct conf *c = j->conf;
	const char *recipe = c->arguments[1];
	char *workspace = paths_workspace(c->workspace, e);
	int rc = workspace ? 0 : e->code;

	if (!rc && !(c->walltime > 0))
		rc = err_set(e, ERR_USAGE, "give the length of one batch job: --walltime MINUTES");
	if (!rc)
		rc = conf_load_recipe(c, recipe, e);
	if (!rc) {
		conf_recipe_name(c->recipe, j->name, sizeof(j->name));
		j->run = c->run ? c->run : j->name;
		rc = paths_check_name("run", j->run, e);
	}
	/* only the slots count: the batch system chooses the hosts */
	if (!rc)
		rc = hosts_read(&j->hosts, c->hosts ? c->hosts : "localhost", &env, e);
	if (!rc) {
		j->workspace = absolute_path(workspace, e);
		j->recipe = strchr(recipe, '/') || text_ends_with(recipe, ".ini")
				    ? absolute_path(recipe, e)
				    : file_path(e, "%s", recipe);
		rc = j->workspace && j->recipe ? 0 : e->code;
	}
	free(workspace);
	return rc;
}

int job_write_script(struct conf *c, const char *program, struct buf *out, struct err *e)
{
	const bool slurm = !strcmp(c->arguments[0], "slurm");
	struct job j = { .conf = c, .program = program };
	int rc = 0;

	if (!slurm && strcmp(c->arguments[0], "pbs"))
		return err_set(e, ERR_USAGE, "expected pbs or slurm, not '%.100s'",
			       c->arguments[0]);
	rc = read_job_script_conf(&j, e);
	if (!rc)
		rc = build_train_line(&j, slurm, e);
	if (!rc) {
		buf_add_str(out, "#!/bin/bash\n");
		if (slurm)
			add_slurm_head(out, &j);
		else
			add_pbs_head(out, &j);
		add_script_body(out, &j, slurm);
		rc = buf_check(out, e);
	}
	command_line_free(&j.line);
	hosts_free(&j.hosts);
	free(j.workspace);
	free(j.recipe);
	return rc;
}

int job_command_run(struct conf *c, struct err *e)
{
	char *program = paths_program("werkbank", e);
	struct buf text = { 0 };
	int rc = program ? job_write_script(c, program, &text, e) : e->code;

	if (!rc && c->output) {
		rc = file_write_all(c->output, text.data, text.len, e);
		if (!rc && chmod(c->output, 0755))
			rc = err_set_errno(e, ERR_CANTCREAT, "%s: cannot make this file executable",
					   c->output);
	} else if (!rc) {
		rc = file_put_stdout(&text, e);
	}
	buf_free(&text);
	free(program);
	return rc;
}
