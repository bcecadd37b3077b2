/* t_launcher.c - ssh, mpirun or srun: the choice, srun's command lines, and its errors */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/rank_launch.h"
#include "train/launch/remote/remote.h"

#define OPEN_MPI_4 "ompi:version:full:4.1.4\nmca:pmix:ext3x:version:mca:2.1.0\n"
#define OPEN_MPI_5 "ompi:version:full:5.0.7\n"
#define PLM_SLURM  "mca:plm:slurm:version:mca:2.1.0\n"
#define PMI_2	   "mca:pmix:s2:version:mca:2.1.0\n"
#define PMIX_LIST                                                                                  \
	"MPI plugin types are...\n\tpmix\n\tpmi2\n\tnone\nspecific pmix plugin versions "          \
	"available: pmix_v4\n"
#define PMI2_LIST "MPI plugin types are...\n\tpmi2\n\tnone\nno pmix_v4\n"

/* Put a srun and an Open MPI that answer so in the only folder of PATH; NULL: none. */
static void install_programs(const char *list, const char *info)
{
	char body[600], path[4096];

	snprintf(body, sizeof(body), "[ \"$1\" = --mpi=list ] && printf '%%s' '%s' >&2\n",
		 list ? list : "");
	if (list)
		bench_write_script("bin/srun", body);
	bench_write_script("bin/mpirun", ":\n");
	snprintf(body, sizeof(body), "printf '%%s' '%s'\n", info);
	bench_write_script("bin/ompi_info", body);
	snprintf(path, sizeof(path), "%s/bin:/nowhere", test_folder());
	setenv("PATH", path, 1);
}

struct launcher_case {
	const char *list, *info; /* of srun --mpi=list and ompi_info --parsable */
	const char *given, *ssh; /* options; NULL: not given */
	const char *nodes;	 /* SLURM_JOB_NODELIST */
	const char *hosts;
	const char *chosen; /* "launcher: reason", or "status: message" */
};

static void check_choice(const struct launcher_case *k)
{
	static const char *const names[] = { "auto", "ssh", "slurm", "srun" };
	const struct hosts_env env = { .slurm_nodelist = k->nodes };
	char why[LAUNCHER_WHY], *kept = strdup(getenv("PATH"));
	struct hosts h = { 0 };
	struct buf seen = { 0 };
	struct err e = { 0 };
	struct conf c;

	install_programs(k->list, k->info);
	unsetenv("SLURM_OVERLAP");
	check_int(conf_init(&c, &e), 0);
	if (k->given)
		check_int(conf_set(&c, "launcher", k->given, "command line", &e), 0);
	if (k->ssh)
		check_int(conf_set(&c, "ssh", k->ssh, "command line", &e), 0);
	check_int(hosts_read(&h, k->hosts, &env, &e), 0);
	if (launcher_choose(&c, &h, &env, why, &e))
		buf_printf(&seen, "%d: %s", err_exit_status(e.code), e.text);
	else
		buf_printf(&seen, "%s: %s", names[c.launcher], why);
	check_str(buf_text(&seen), k->chosen);
	check((getenv("SLURM_OVERLAP") != NULL) == (e.code == 0 && launcher_is_slurm(&c)));
	setenv("PATH", kept, 1);
	free(kept);
	buf_free(&seen);
	hosts_free(&h);
	conf_free(&c);
}

TEST(launcher_choices)
{
	static const struct launcher_case cases[] = {
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, NULL, NULL, "n[1-2]", "n1:2,n2",
		  "srun: Slurm and Open MPI both have pmix" },
		{ PMIX_LIST, OPEN_MPI_5, NULL, NULL, "n[1-2]", "N2",
		  "srun: Slurm and Open MPI both have pmix" },
		{ PMI2_LIST, OPEN_MPI_4 PLM_SLURM PMI_2, NULL, NULL, "n[1-2]", "n2",
		  "srun: Slurm and Open MPI both have pmi2" },
		{ PMI2_LIST, OPEN_MPI_4 PLM_SLURM, NULL, NULL, "n[1-2]", "n2",
		  "slurm: Slurm and Open MPI have no PMI in common, so mpirun uses srun" },
		{ PMI2_LIST, OPEN_MPI_4, NULL, NULL, "n[1-2]", "n2",
		  "ssh: Open MPI was built without Slurm" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, NULL, NULL, NULL, "n1,n2",
		  "ssh: this is not a Slurm allocation" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, NULL, NULL, "n[1-2]", "n1,n2,n3",
		  "ssh: n3 is not in the Slurm allocation" },
		{ NULL, OPEN_MPI_4 PLM_SLURM, NULL, NULL, "n[1-2]", "n2",
		  "ssh: srun is not in PATH" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, NULL, "ssh -p 22", "n[1-2]", "n2",
		  "ssh: --ssh was given" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, "ssh", NULL, "n[1-2]", "n2",
		  "ssh: --launcher was given" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, "slurm", "ssh -v", "n[1-2]", "n2",
		  "slurm: --launcher was given" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, "srun", NULL, "n[1-2]", "n2",
		  "srun: --launcher was given" },
		{ PMIX_LIST, OPEN_MPI_4 PLM_SLURM, "srun", NULL, NULL, "n2",
		  "64: --launcher srun: this is not a Slurm allocation: use it in a job of sbatch "
		  "or salloc, for hosts of that job" },
		{ PMI2_LIST, OPEN_MPI_4 PLM_SLURM, "srun", NULL, "n[1-2]", "n2",
		  "69: srun cannot start the ranks: Slurm has PMI-2 (srun --mpi=list), Open MPI "
		  "has PMIx (ompi_info): try --launcher slurm" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *file = file_path(&(struct err){ 0 }, "%s/bin/srun", test_folder());

		remove(file);
		free((void *)(uintptr_t)file);
		check_choice(&cases[i]);
	}
}

/* srun's command line for hosts, and the file that it needs, with / for each line end. */
static const char *srun_line(const char *spec, struct mpirun_options how)
{
	static struct buf out;
	const struct hosts_env none = { 0 };
	struct hosts h = { 0 };
	struct command_line c = { 0 };
	struct buf file = { 0 };
	struct err e = { 0 };

	buf_clear(&out);
	how.hosts = &h;
	how.starter = LAUNCHER_SRUN;
	check_int(hosts_read(&h, spec, &none, &e), 0);
	check_int(rank_launch_write_hostfile(&how, &e), 0);
	check_int(rank_launch_append_words(&c, &how, &e), 0);
	command_line_quote(c.all, &out);
	check_int(file_read_all(how.hostfile, 0, &file, &e), 0);
	buf_add_char(&out, ' ');
	for (const char *p = buf_text(&file); *p; p++)
		buf_add_char(&out, *p == '\n' ? '/' : *p);
	buf_free(&file);
	command_line_free(&c);
	hosts_free(&h);
	return buf_text(&out);
}

#define SRUN_END "--quiet --kill-on-bad-exit=1 --wait=0 --input=none --export=ALL"

TEST(launcher_srun_line)
{
	static const char *const none[] = { "A=1", NULL };
	static const char *const cpus[] = { "SLURM_CPUS_PER_TASK=8", NULL };
	struct err e;
	char *file = file_path(&e, "%s/tasks", test_folder());
	struct mpirun_options how = { .hostfile = file, .pmi = "pmix", .environment = none };
	struct buf want = { 0 }, nodes = { 0 };
	char *word = file_path(&e, "--nodelist=%s", file);

	text_quote_shell(&nodes, word ? word : "");
	buf_printf(&want,
		   "srun --mpi=pmix --nodes=2 --ntasks=3 --distribution=arbitrary "
		   "%s --cpu-bind=none " SRUN_END " a/a/b/",
		   buf_text(&nodes));
	check_str(srun_line("a:2,b", how), buf_text(&want));
	buf_clear(&want);
	how.network = "10.0.0.0/8";
	how.oversubscribed = true;
	how.ranks = 2;
	how.environment = cpus;
	buf_printf(&want,
		   "srun --mpi=pmix --nodes=1 --ntasks=2 --distribution=arbitrary %s "
		   "--cpus-per-task=8 " SRUN_END
		   ",OMPI_MCA_btl_tcp_if_include=10.0.0.0/8,WERKBANK_NETWORK=10.0.0.0/8,"
		   "OMPI_MCA_mpi_yield_when_idle=1 a/a/",
		   buf_text(&nodes));
	check_str(srun_line("a:2,b", how), buf_text(&want));
	how.network = "fd98::/64";
	check(strstr(srun_line("a:2,b", how),
		     ",OMPI_MCA_btl_tcp_disable_family=4,WERKBANK_NETWORK=fd98::/64,"));
	buf_clear(&want);
	how = (struct mpirun_options){
		.hostfile = file, .pmi = "pmi2", .environment = none, .ranks = 5
	};
	buf_printf(&want,
		   "srun --mpi=pmi2 --nodes=2 --ntasks=5 --distribution=arbitrary %s "
		   "--overcommit --cpu-bind=none " SRUN_END " a/a/b/a/a/",
		   buf_text(&nodes));
	check_str(srun_line("a:2,b", how), buf_text(&want));
	buf_free(&want);
	buf_free(&nodes);
	free(word);
	free(file);
}

/* Run "true" or another program on the node "far" with a made-up srun. */
static struct remote_job run_on_node(const char *body, const char *program)
{
	static char name[] = "far";
	static struct host far = { .name = name, .slots = 1 };
	static const char *argv[3];
	const struct remote_options how = { .srun = true, .deadline_s = 10 };
	struct remote_job job = { .host = &far, .argv = argv, .input = "hello", .input_bytes = 5 };
	char *kept = strdup(getenv("PATH")), path[4096];
	struct err e;

	argv[0] = program;
	argv[1] = "a b";
	bench_write_script("bin/srun", body);
	snprintf(path, sizeof(path), "%s/bin:%s", test_folder(), kept);
	setenv("PATH", path, 1);
	check_int(remote_run(&job, 1, &how, &e), 0);
	setenv("PATH", kept, 1);
	free(kept);
	return job;
}

TEST(launcher_srun_on_a_node)
{
	struct remote_job job = run_on_node("echo \"$@\"; cat\n", "true");

	check_str(buf_text(&job.out), "--nodes=1 --ntasks=1 --mpi=none --quiet "
				      "--nodelist=far true a b\nhello");
	check_str(job.trouble, "");
	remote_free(&job, 1);
	job = run_on_node("echo 'srun: error: far: task 0: Exited with exit code 1' >&2; exit 1\n",
			  "false");
	check_int(job.status, 1);
	check_str(job.trouble, "");
	remote_free(&job, 1);
	job = run_on_node("echo 'srun: error: Unable to create step for job 3: Requested node "
			  "configuration is not available' >&2; exit 1\n",
			  "true");
	check_int(job.status, 255);
	check_str(job.trouble, "Slurm starts nothing on far: it is down, or not in this job");
	remote_free(&job, 1);
	job = run_on_node("echo 'slurmstepd-far: error: execve(): /x/werkbank-launch: No such file "
			  "or directory' >&2; exit 2\n",
			  "/x/werkbank-launch");
	check_int(job.status, 127);
	bench_has(job.trouble, "far has no /x/werkbank-launch: install it at the same path");
	remote_free(&job, 1);
}
