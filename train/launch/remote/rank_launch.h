/*
 * rank_launch.h - the command line that starts the ranks: mpirun's, or that of Slurm's srun (launcher.h).
 */
#ifndef WERKBANK_TRAIN_LAUNCH_REMOTE_RANK_LAUNCH_H
#define WERKBANK_TRAIN_LAUNCH_REMOTE_RANK_LAUNCH_H

#include "train/launch/remote/mpirun.h"

/* Append mpirun or srun and its options; the caller then appends the program of the ranks. */
int rank_launch_append_words(struct command_line *c, const struct mpirun_options *how,
			     struct err *e);

/*
 * Write how->hostfile: for mpirun a line for each host (rsh_agent.c looks up the comment "# port N"),
 * for srun a line for each rank.
 */
int rank_launch_write_hostfile(const struct mpirun_options *how, struct err *e);

#endif
