/* launcher.c - see launcher.h */
#include "train/launch/remote/launcher.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/proc.h"
#include "train/launch/remote/remote.h"

#define OMPI_VERSION "ompi:version:full:"
#define QUESTION_S   20.0 /* time for srun --mpi=list and ompi_info */

/* ---- what Slurm and Open MPI have ---- */

/* Append what a program prints to out; a program that is missing or fails prints nothing. */
static void append_program_output(const char *const *argv, struct buf *out)
{
	struct remote_job job = { .argv = argv };
	struct err ignored;

	if (!remote_run_here(&job, 1, QUESTION_S, &ignored) && job.status == 0) {
		buf_add_str(out, buf_text(&job.out));
		buf_add_char(out, '\n');
		buf_add_str(out, buf_text(&job.err)); /* srun prints its list there */
	}
	remote_free(&job, 1);
}

static bool has_output_word(const struct buf *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = buf_text(text); (at = strstr(at, word)) != NULL; at += n)
		if ((at == buf_text(text) || strchr(" \t\n", at[-1])) &&
		    (!at[n] || strchr(" \t\n", at[n])))
			return true;
	return false;
}

/* The program of Open MPI in the folder of mpirun. */
static void find_ompi_info(char path[PATH_MAX])
{
	char mpirun[PATH_MAX], *name;

	snprintf(path, PATH_MAX, "ompi_info");
	if (!proc_find("mpirun", mpirun, sizeof(mpirun)) || !(name = strrchr(mpirun, '/')) ||
	    name - mpirun > PATH_MAX - 16)
		return;
	snprintf(path, PATH_MAX, "%.*s/ompi_info", (int)(name - mpirun), mpirun);
}

struct launcher_facts {
	bool slurm_pmix, slurm_pmi2; /* plugins of srun --mpi */
	bool mpi_pmix, mpi_pmi2;     /* what Open MPI can use */
	bool mpi_slurm;		     /* mpirun can start its daemons with srun */
};

static void query_launcher_facts(struct launcher_facts *f)
{
	char info[PATH_MAX];
	const char *const list[] = { "srun", "--mpi=list", NULL };
	const char *const mpi[] = { info, "--parsable", NULL };
	struct buf text = { 0 };
	const char *version;
	bool newer;

	*f = (struct launcher_facts){ 0 };
	append_program_output(list, &text);
	f->slurm_pmix = has_output_word(&text, "pmix");
	f->slurm_pmi2 = has_output_word(&text, "pmi2");
	buf_clear(&text);
	find_ompi_info(info);
	append_program_output(mpi, &text);
	/* Open MPI 5 always has PMIx and the Slurm launcher, and does not list them */
	version = strstr(buf_text(&text), OMPI_VERSION);
	version = version ? version + strlen(OMPI_VERSION) : "";
	newer = *version >= '5' || (*version && isdigit((unsigned char)version[1]));
	f->mpi_pmix = newer || strstr(buf_text(&text), "mca:pmix:pmix") ||
		      strstr(buf_text(&text), "mca:pmix:ext");
	f->mpi_pmi2 = strstr(buf_text(&text), "mca:pmix:s2:") != NULL;
	f->mpi_slurm = newer || strstr(buf_text(&text), "mca:plm:slurm:");
	buf_free(&text);
}

bool launcher_has_ipv6(void)
{
	char info[PATH_MAX];
	const char *const mpi[] = { info, "--parsable", NULL };
	struct buf text = { 0 };
	bool has;

	find_ompi_info(info);
	append_program_output(mpi, &text);
	has = !strstr(buf_text(&text), "options:ipv6:no");
	buf_free(&text);
	return has;
}

static const char *common_pmi(const struct launcher_facts *f)
{
	return f->slurm_pmix && f->mpi_pmix ? "pmix" : f->slurm_pmi2 && f->mpi_pmi2 ? "pmi2" : NULL;
}

static int report_no_pmi(const struct launcher_facts *f, struct err *e)
{
	return err_set(e, ERR_UNAVAILABLE,
		       "srun cannot start the ranks: Slurm has %s (srun --mpi=list), Open MPI has "
		       "%s (ompi_info): try --launcher slurm",
		       f->slurm_pmix   ? "PMIx"
		       : f->slurm_pmi2 ? "PMI-2"
				       : "neither PMIx nor PMI-2",
		       f->mpi_pmix   ? "PMIx"
		       : f->mpi_pmi2 ? "PMI-2"
				     : "neither");
}

int launcher_find_pmi(char pmi[LAUNCHER_PMI], struct err *e)
{
	struct launcher_facts f;

	query_launcher_facts(&f);
	if (!common_pmi(&f))
		return report_no_pmi(&f, e);
	snprintf(pmi, LAUNCHER_PMI, "%s", common_pmi(&f));
	return 0;
}

/* ---- the choice ---- */

/* The first host that is not in the allocation; NULL: all are in it. */
static const char *find_outside_host(const struct hosts *h, const struct hosts_env *env)
{
	const struct hosts_env nodes = { .slurm_nodelist = env->slurm_nodelist };
	struct hosts allocated = { 0 };
	const char *outside = NULL;
	struct err ignored;

	if (hosts_read(&allocated, "slurm", &nodes, &ignored))
		hosts_free(&allocated); /* then every host is outside */
	for (size_t i = 0; i < h->n && !outside; i++)
		if (!hosts_find(&allocated, h->all[i].name) && !host_is_local(&h->all[i]))
			outside = h->all[i].name;
	hosts_free(&allocated);
	return outside;
}

/* Why not Slurm? false: no reason. */
static bool has_reason_against_slurm(const struct hosts *h, const struct hosts_env *env,
				     char why[LAUNCHER_WHY])
{
	char path[PATH_MAX];
	const char *outside;

	why[0] = 0;
	if (!env->slurm_nodelist)
		snprintf(why, LAUNCHER_WHY, "this is not a Slurm allocation");
	else if ((outside = find_outside_host(h, env)) != NULL)
		snprintf(why, LAUNCHER_WHY, "%.100s is not in the Slurm allocation", outside);
	else if (!proc_find("srun", path, sizeof(path)))
		snprintf(why, LAUNCHER_WHY, "srun is not in PATH");
	return why[0] != 0;
}

static enum conf_launcher choose_automatically(const struct conf *c, const struct hosts *h,
					       const struct hosts_env *env, char why[LAUNCHER_WHY])
{
	struct launcher_facts f;

	if (has_reason_against_slurm(h, env, why))
		return LAUNCHER_SSH;
	if (strcmp(conf_origin(c, "ssh"), "default") != 0) {
		snprintf(why, LAUNCHER_WHY, "--ssh was given");
		return LAUNCHER_SSH;
	}
	query_launcher_facts(&f);
	if (common_pmi(&f)) {
		snprintf(why, LAUNCHER_WHY, "Slurm and Open MPI both have %s", common_pmi(&f));
		return LAUNCHER_SRUN;
	}
	if (f.mpi_slurm) {
		snprintf(why, LAUNCHER_WHY,
			 "Slurm and Open MPI have no PMI in common, so mpirun uses srun");
		return LAUNCHER_SLURM;
	}
	snprintf(why, LAUNCHER_WHY, "Open MPI was built without Slurm");
	return LAUNCHER_SSH;
}

int launcher_choose(struct conf *c, const struct hosts *h, const struct hosts_env *env,
		    char why[LAUNCHER_WHY], struct err *e)
{
	struct launcher_facts f;

	snprintf(why, LAUNCHER_WHY, "--launcher was given");
	if (c->launcher == LAUNCHER_AUTO) {
		c->launcher = choose_automatically(c, h, env, why);
	} else if (launcher_is_slurm(c)) {
		const char *name = c->launcher == LAUNCHER_SRUN ? "srun" : "slurm";

		if (has_reason_against_slurm(h, env, why))
			return err_set(
				e, ERR_USAGE,
				"--launcher %s: %s: use it in a job of sbatch or salloc, for "
				"hosts of that job",
				name, why);
		query_launcher_facts(&f);
		if (c->launcher == LAUNCHER_SRUN && !common_pmi(&f))
			return report_no_pmi(&f, e);
		snprintf(why, LAUNCHER_WHY, "--launcher was given");
	}
	assert(c->launcher != LAUNCHER_AUTO);
	if (launcher_is_slurm(c) && setenv("SLURM_OVERLAP", "1", 1))
		return err_set_errno(e, ERR_NOMEM, "cannot set the environment of srun");
	return 0;
}

bool launcher_is_slurm(const struct conf *c)
{
	return c->launcher == LAUNCHER_SLURM || c->launcher == LAUNCHER_SRUN;
}

struct remote_options launcher_remote_options(const struct conf *c, double deadline_s)
{
	return (struct remote_options){ .ssh = c->ssh,
					.srun = launcher_is_slurm(c),
					.deadline_s = deadline_s };
}
