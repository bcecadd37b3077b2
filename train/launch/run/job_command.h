/*
 * job_command.h - a script for PBS or Slurm that trains until the work is done, one job after the
 * other.
 *
 * The script runs "werkbank train … --hosts pbs|slurm --walltime M". Where that ended because
 * the time was over, with everything saved, the script queues itself again; never after
 * an end, a failure, or a stop that somebody asked for.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_JOB_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_RUN_JOB_COMMAND_H

#include "share/base/buf.h"
#include "share/conf/conf.h"
#include "share/base/err.h"

/* arguments: pbs or slurm, RECIPE. Writes to --output or standard output. */
int job_command_run(struct conf *c, struct err *e);

/* The script alone. program: the path of werkbank. */
int job_write_script(struct conf *c, const char *program, struct buf *out, struct err *e);

#endif
