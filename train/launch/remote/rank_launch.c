/* rank_launch.c - see rank_launch.h */
#include "train/launch/remote/rank_launch.h"

#include <assert.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "train/launch/remote/launcher.h"

/* Append the host of each rank to out, one a line, in the order of the ranks; returns the hosts used. */
static size_t list_srun_tasks(const struct mpirun_options *how, struct buf *out)
{
	int64_t left = mpirun_rank_count(how);
	size_t n_nodes = 0;

	assert(hosts_total_slots(how->hosts) > 0);
	while (left > 0) /* more ranks than slots: begin again with the first host */
		for (size_t i = 0; i < how->hosts->n && left > 0; i++) {
			n_nodes = MAX(n_nodes, i + 1);
			for (int32_t k = 0; k < how->hosts->all[i].slots && left > 0; k++, left--)
				buf_printf(out, "%s\n", how->hosts->all[i].name);
		}
	return n_nodes;
}

/* The network needs no encoding: an interface or CIDR has no comma. */
static int add_srun_export(struct command_line *c, const struct mpirun_options *how, struct err *e)
{
	struct buf word = { 0 };
	int rc;

	buf_add_str(&word, "--export=ALL");
	if (mpirun_is_ipv6_network(how->network))
		buf_printf(&word, ",OMPI_MCA_btl_tcp_disable_family=4,WERKBANK_NETWORK=%s",
			   how->network);
	else if (how->network && *how->network)
		buf_printf(&word, ",OMPI_MCA_btl_tcp_if_include=%s,WERKBANK_NETWORK=%s",
			   how->network, how->network);
	if (how->oversubscribed)
		buf_add_str(&word, ",OMPI_MCA_mpi_yield_when_idle=1");
	rc = buf_check(&word, e);
	command_line_add(c, buf_text(&word));
	buf_free(&word);
	return rc;
}

/*
 * The file of rank_launch_write_hostfile() places each rank (arbitrary). A rank that fails ends the
 * others; a rank that finishes early does not (--wait=0). Since Slurm 22.05, srun no longer takes
 * the job's CPUs per task by itself.
 */
static int append_srun(struct command_line *c, const struct mpirun_options *how, struct err *e)
{
	const char *cpus = mpirun_variable(how, "SLURM_CPUS_PER_TASK");
	struct buf tasks = { 0 };
	char pmi[LAUNCHER_PMI];

	if (!how->pmi && launcher_find_pmi(pmi, e))
		return e->code;
	command_line_add(c, "srun");
	command_line_printf(c, "--mpi=%s", how->pmi ? how->pmi : pmi);
	command_line_printf(c, "--nodes=%zu", list_srun_tasks(how, &tasks));
	buf_free(&tasks);
	command_line_printf(c, "--ntasks=%lld", (long long)mpirun_rank_count(how));
	command_line_add(c, "--distribution=arbitrary");
	command_line_printf(c, "--nodelist=%s", how->hostfile);
	if (mpirun_rank_count(how) > hosts_total_slots(how->hosts))
		command_line_add(c, "--overcommit");
	if (cpus && *cpus) /* Slurm gives each task its own cores */
		command_line_printf(c, "--cpus-per-task=%s", cpus);
	else
		command_line_add(c, "--cpu-bind=none");
	COMMAND_LINE_ADD(c, "--quiet", "--kill-on-bad-exit=1", "--wait=0", "--input=none");
	return add_srun_export(c, how, e) ? e->code : command_line_check(c, e);
}

int rank_launch_append_words(struct command_line *c, const struct mpirun_options *how,
			     struct err *e)
{
	return how->starter == LAUNCHER_SRUN && !hosts_are_local(how->hosts)
		       ? append_srun(c, how, e)
		       : mpirun_append_words(c, how, e);
}

int rank_launch_write_hostfile(const struct mpirun_options *how, struct err *e)
{
	const struct hosts *h = how->hosts;
	struct buf text = { 0 };
	int rc;

	if (how->starter == LAUNCHER_SRUN)
		list_srun_tasks(how, &text);
	for (size_t i = 0; i < h->n && how->starter != LAUNCHER_SRUN; i++) {
		buf_printf(&text, "%s slots=%d", h->all[i].name, h->all[i].slots);
		if (h->all[i].port)
			buf_printf(&text, " # port %d", h->all[i].port);
		buf_add_char(&text, '\n');
	}
	rc = file_write_buf(how->hostfile, &text, e);
	buf_free(&text);
	return rc;
}
