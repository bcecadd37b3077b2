/*
 * job_command.h - "werkbank job": writes a job for Slurm, PBS or Kubernetes that trains in a series
 * of batch jobs.
 *
 * The job runs "werkbank train … --hosts slurm|pbs|FILE --walltime M". Under Slurm and PBS it queues
 * itself again only because its time was over: after the training saved and stopped, or shortly
 * before the limit if a step lasts too long. It does not after the end of the training, a failure,
 * or a stop on request.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_JOB_JOB_COMMAND_H
#define WERKBANK_TRAIN_LAUNCH_JOB_JOB_COMMAND_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* c->arguments: slurm, pbs or k8s, RECIPE. Writes the script to --output or standard output. */
int job_command_run(struct conf *c, int *status, struct err *e);

#endif
