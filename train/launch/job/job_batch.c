/*
 * job_batch.c - job scripts for Slurm and PBS; see job_command.h
 *
 * Both scripts end with the same lines, which decide whether to queue the job again:
 *
 *	status 75, the time was over	yes: the training has saved and stopped
 *	shortly before the limit	yes, while the training runs on: a step lasts longer than the
 *					margin, and the batch system is about to end the job
 *	status 75, Slurm has preempted	yes: the job ends within the GraceTime of its partition, so
 *	the job				Slurm does not queue it again by itself
 *	anything else			no: finished, failed, or stopped on request
 *
 * After two jobs without a new checkpoint, the job is not queued again: the next one would do the
 * same.
 */
#include <assert.h>
#include <stdint.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "train/launch/job/job_internal.h"

#define LAST_S	       20 /* before the limit: queue the job again in any case */
#define PBS_NAME_CHARS 15

/* "1:30:00", the full time; the training stops a margin before. */
static void add_walltime(struct buf *out, double minutes)
{
	long long s = (long long)(minutes * 60 + 0.5);

	assert(s >= 0);
	buf_printf(out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/* ---- heads ---- */

/* Join neighbours with the same number of slots: "2:ncpus=8:mpiprocs=4+1:ncpus=16:mpiprocs=8". */
static void add_pbs_select(struct buf *out, const struct job *j)
{
	const struct hosts *h = &j->hosts;

	for (size_t i = 0, n; i < h->n; i += n) {
		const int32_t slots = h->all[i].slots;

		for (n = 1; i + n < h->n && h->all[i + n].slots == slots; n++)
			;
		buf_printf(out, "%s%zu:ncpus=%lld:mpiprocs=%d", i ? "+" : "", n,
			   (long long)j->threads * slots, slots);
		if (job_host_mb(j, slots))
			buf_printf(out, ":mem=%lldmb", (long long)job_host_mb(j, slots));
		if (j->gpus)
			buf_printf(out, ":ngpus=%d", slots);
	}
}

static void add_pbs_head(struct buf *out, const struct job *j)
{
	buf_printf(out, "#PBS -N %.*s\n#PBS -j oe\n#PBS -l select=", PBS_NAME_CHARS, j->run);
	add_pbs_select(out, j);
	buf_add_str(out, "\n#PBS -l place=scatter\n#PBS -l walltime=");
	add_walltime(out, j->conf->walltime);
	buf_printf(out, "\n# Add options of your cluster: a queue (-q), an account (-A)%s%s.\n",
		   j->rank_mb ? "" : ", memory (:mem=8gb in select)",
		   j->gpus ? "" : ", GPUs (:ngpus=N in select)");
}

static void add_slurm_head(struct buf *out, const struct job *j)
{
	buf_printf(out, "#SBATCH --job-name=%s\n#SBATCH --nodes=%zu\n", j->run, j->hosts.n);
	if (j->same_slots)
		buf_printf(out, "#SBATCH --ntasks-per-node=%d\n", j->slots);
	else
		buf_printf(out, "#SBATCH --ntasks=%lld\n", (long long)hosts_total_slots(&j->hosts));
	buf_printf(out, "#SBATCH --cpus-per-task=%lld\n", (long long)j->threads);
	if (job_host_mb(j, j->slots))
		buf_printf(out, "#SBATCH --mem=%lldM\n", (long long)job_host_mb(j, j->slots));
	if (j->gpus)
		buf_printf(out, "#SBATCH --gpus-per-node=%d\n", j->slots);
	buf_add_str(out, "#SBATCH --time=");
	add_walltime(out, j->conf->walltime);
	/* a failed node must not end the job: the training goes on without it */
	if (j->conf->elastic)
		buf_add_str(out, "\n#SBATCH --no-kill");
	buf_printf(out,
		   "\n#SBATCH --signal=B:USR1@%lld\n#SBATCH --requeue\n#SBATCH --open-mode=append\n"
		   "# Add options of your cluster: --partition, --account%s%s.\n",
		   (long long)j->margin_s, j->rank_mb ? "" : ", --mem",
		   j->gpus ? "" : ", --gpus-per-node=N");
}

/* ---- the lines after the head ---- */

/*
 * The batch system sends SIGUSR1 a margin before the limit, and SIGTERM when it ends the job early;
 * the script forwards both, so the training saves and stops.
 */
static const char wait_lines[] =
	"over=\n"
	"trap 'kill -TERM \"$pid\" 2>/dev/null' TERM\n"
	"trap 'over=yes; kill -USR1 \"$pid\" 2>/dev/null' USR1\n"
	"trap queue_again USR2\n"
	"wait \"$pid\"\n"
	"status=$?\n"
	"while kill -0 \"$pid\" 2>/dev/null; do\n"
	"\twait \"$pid\"\n"
	"\tstatus=$?\n"
	"done\n"
	"kill \"$timer\" 2>/dev/null\n"
	"\n"
	"# 75: saved and stopped. Queue the job again only if its time was over%s.\n"
	"if [ \"$status\" -eq 75 ] && [ -z \"$queued\" ]; then\n"
	"\tif [ -n \"$over\" ] || %sgrep -q '\"asked_by\":\"walltime\"' \"$run/state.json\"; then\n"
	"\t\tqueue_again\n"
	"\tfi\n"
	"fi\n"
	"exit \"$status\"\n";

/* Before: the command that queues the job again. */
static const char queue_lines[] =
	"checkpoint() { readlink \"$run/checkpoints/last\" || echo 0; }\n"
	"first=$(checkpoint)\n"
	"queued=\n"
	"queue_again() {\n"
	"\tqueued=yes\n"
	"\tif [ \"$(checkpoint)\" != \"$first\" ]; then\n"
	"\t\trm -f \"$run/no-checkpoint\"\n"
	"\telif [ -e \"$run/no-checkpoint\" ]; then\n"
	"\t\trm -f \"$run/no-checkpoint\"\n"
	"\t\techo 'two jobs ended without a new checkpoint: give a longer --walltime' >&2\n"
	"\t\treturn\n"
	"\telse\n"
	"\t\ttouch \"$run/no-checkpoint\"\n"
	"\tfi\n";

/* A timer that ends without a trace when the training ends first. */
static const char timer_lines[] = "(trap 'kill \"$sleep\" 2>/dev/null' TERM; sleep %lld & "
				  "sleep=$!; wait \"$sleep\" && kill -USR2 $$) &\n"
				  "timer=$!\n";

/* What differs between the batch systems. */
struct batch_words {
	const char *folder;	      /* variable with the folder of the submission */
	const char *again;	      /* command that queues the job again */
	const char *or_when, *or_why; /* another reason to do so: a shell condition, in words */
};

static int add_batch_body(struct buf *out, const struct job *j, const struct batch_words *words,
			  struct err *e)
{
	const long long all = (long long)(j->conf->walltime * 60);

	buf_printf(out, "\ncd \"${%s:-.}\" || exit 66\nrun=", words->folder);
	text_quote_shell(out, j->workspace);
	buf_printf(out, "/runs/%s\n", j->run);
	buf_add_str(out, queue_lines);
	buf_printf(out, "\t%s\n}\n\n", words->again);
	command_line_quote(j->line.all, out);
	buf_add_str(out, " &\npid=$!\n");
	buf_printf(out, timer_lines, all - MIN(LAST_S, all / 10));
	buf_printf(out, wait_lines, words->or_why, words->or_when);
	return buf_check(out, e);
}

int job_write_slurm(const struct job *j, struct buf *out, struct err *e)
{
	static const struct batch_words words = {
		.folder = "SLURM_SUBMIT_DIR",
		.again = "scontrol requeue \"$SLURM_JOB_ID\"",
		.or_why = ", or if it is preempted",
		.or_when = "scontrol show job \"$SLURM_JOB_ID\" | "
			   "grep -q 'PreemptTime=[0-9]' ||\n\t\t",
	};

	buf_add_str(out, "#!/bin/bash\n");
	add_slurm_head(out, j);
	return add_batch_body(out, j, &words, e);
}

int job_write_pbs(const struct job *j, struct buf *out, struct err *e)
{
	/* qrerun is for operators only, so the next job is a new one with the same options */
	static const struct batch_words words = {
		.folder = "PBS_O_WORKDIR",
		.again = "qsub ${PBS_O_QUEUE:+-q \"$PBS_O_QUEUE\"} "
			 "${PBS_ACCOUNT:+-A \"$PBS_ACCOUNT\"} \\\n"
			 "\t\t-W depend=afterany:\"$PBS_JOBID\" \"$0\"",
		.or_why = "",
		.or_when = "",
	};

	buf_add_str(out, "#!/bin/bash\n");
	add_pbs_head(out, j);
	return add_batch_body(out, j, &words, e);
}
