/*
 * comm.h - the world of ranks. One process alone is an implementation of it
 * (comm.c), not a special case; comm_mpi.c is Open MPI, comm_nccl.c GPUs.
 */
#ifndef WERKBANK_TRAIN_COMM_H
#define WERKBANK_TRAIN_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct comm {
	const char *name;	/* "one", "mpi", "nccl" */
	int   rank, size;
	int   local_rank, local_size;	/* among the ranks on this host */
	void *state;		/* owned by the implementation */
	/* x = sum over ranks, in place, the same bits on all of them */
	int  (*sum_floats)(struct comm *c, float *x, size_t n, struct err *e);
	int  (*sum_doubles)(struct comm *c, double *x, size_t n, struct err *e);
	int  (*max_ints)(struct comm *c, int64_t *x, size_t n, struct err *e);
	int  (*broadcast)(struct comm *c, void *bytes, size_t n, int root, struct err *e);
	/*
	 * all (size * n bytes, on the first rank; NULL on the others) = what each rank gives, in
	 * the order of ranks
	 */
	int  (*gather)(struct comm *c, const void *mine, size_t n, void *all, struct err *e);
	int  (*barrier)(struct comm *c, struct err *e);
	void (*abort)(struct comm *c, int status); /* end every rank now; a world of one: nothing */
	void (*close)(
		struct comm *c); /* all ranks together; after a failure of one rank use abort */
};

/*
 * name: "one", "mpi", or "auto" (mpi when started by mpirun, else one).
 * ERR_UNAVAILABLE: mpi is needed but not built in.
 */
int comm_open(struct comm *c, const char *name, int *argc, char ***argv, struct err *e);

/* comm_mpi.c; only where MPI was built in. */
int comm_mpi_open(struct comm *c, int *argc, char ***argv, struct err *e);

#endif
