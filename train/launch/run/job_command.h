/*
 * job_command.h - "werkbank job": writes a script for PBS or Slurm that trains in a series of batch
 * jobs.
 *
 * The script runs "werkbank train … --hosts pbs|slurm --walltime M". It queues itself again only if
 * the training saved and stopped because the walltime was over; not after the end of the
 * training, a failure, or a stop on request.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_JOB_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_RUN_JOB_COMMAND_H

#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* c->arguments: pbs or slurm, RECIPE. Writes the script to --output or standard output. */
int job_command_run(struct conf *c, struct err *e);

/* Append the script to out. program: path of werkbank. c gets the options of the recipe. */
int job_write_script(struct conf *c, const char *program, struct buf *out, struct err *e);

#endif
