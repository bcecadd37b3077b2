/* job_internal.h - what the batch systems of "werkbank job" have in common. */
#ifndef WERKBANK_TRAIN_LAUNCH_JOB_JOB_INTERNAL_H
#define WERKBANK_TRAIN_LAUNCH_JOB_JOB_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/launch/remote/command_line.h"
#include "train/launch/remote/hosts.h"

struct job {
	struct conf *conf;	  /* borrowed */
	const char *program;	  /* borrowed */
	char *workspace, *recipe; /* owned; absolute, but a shipped recipe stays a name */
	const char *run;	  /* borrowed */
	char name[200];		  /* the recipe's name */
	struct hosts hosts;	  /* only the slots count */
	int32_t slots;		  /* most slots of a host */
	bool same_slots;	  /* all hosts have as many */
	int64_t threads;	  /* processor cores of a rank */
	int64_t margin_s;  /* before the end of the time, for the last step and a checkpoint */
	double parameters; /* of the model; 0: unknown */
	int64_t rank_mb;   /* forecast of host memory, MiB; 0: unknown */
	bool gpus;	   /* one GPU for each rank */
	struct command_line line; /* "werkbank train …" */
};

/* One batch system: the value of --hosts in its jobs, and what it writes around j->line. */
struct job_system {
	const char *name, *hosts;
	int (*write)(const struct job *j, struct buf *out, struct err *e);
};

/* Each appends the whole job to out. */
int job_write_slurm(const struct job *j, struct buf *out, struct err *e); /* job_batch.c */
int job_write_pbs(const struct job *j, struct buf *out, struct err *e);
int job_write_k8s(const struct job *j, struct buf *out, struct err *e); /* job_k8s.c */

#define JOB_HOST_EXTRA_MB 1024 /* programs, libraries and buffers of a host */

/* Memory of a host in MiB, by its slots, a fifth more than the forecast; 0: unknown. */
static inline int64_t job_host_mb(const struct job *j, int32_t slots)
{
	const int64_t ranks_mb = j->rank_mb * slots;

	return ranks_mb ? ranks_mb + ranks_mb / 5 + JOB_HOST_EXTRA_MB : 0;
}

#endif
