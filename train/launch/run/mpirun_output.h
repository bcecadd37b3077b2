/*
 * mpirun_output.h - what mpirun or srun says about the process that made it end a job.
 *
 * The exit status of mpirun names neither rank nor host; its messages on standard error do, in Open
 * MPI 4.1 and 5 and in Slurm. A message in other words is not understood, and nobody is blamed.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_RUN_MPIRUN_OUTPUT_H
#define WERKBANK_TRAIN_LAUNCH_RUN_MPIRUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct mpirun_failure {
	bool is_known;	       /* a message named somebody */
	bool is_host_lost;     /* the host, or Open MPI's daemon there, was lost */
	bool is_out_of_memory; /* Slurm says that the kernel ended the rank for lack of memory */
	int rank;	       /* that ended first; -1: unknown */
	int signal;	       /* that ended the rank; 0: none */
	char host[128];	       /* as mpirun calls it; "": unknown */
};

/*
 * Read one line of mpirun's output. The first lost host counts, or else the first rank: when a host
 * is lost, the ranks of the other hosts fail too, and their messages may come first.
 */
void mpirun_read_line(struct mpirun_failure *f, const char *line);

/*
 * text = " of rank 1 on nodeb", "" if unknown: after "ended by signal 9". Not for a lost host.
 */
void mpirun_describe_rank(const struct mpirun_failure *f, char *text, size_t room);

#endif
