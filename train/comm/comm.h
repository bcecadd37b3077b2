/*
 * comm.h - the world of ranks. One process alone is an implementation of it
 * (comm.c), not a special case; comm_mpi.c is Open MPI. comm_nccl.c lets the GPUs of the ranks
 * reach each other; whatever is the host's goes the same way as before.
 *
 * Beside the collectives that return when they are done there are two that
 * return at once and are asked about later; reduce.c makes of them what gradients need.
 *
 *	comm->exchange(comm, &x, &r, e);	or comm->begin_sum()
 *	…					x's memory is left alone
 *	comm_wait(comm, r, e);			or comm->test() until it says done
 */
#ifndef WERKBANK_TRAIN_COMM_COMM_H
#define WERKBANK_TRAIN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct comm_request; /* what is under way; owned by the comm */

#define COMM_CHANNELS 3

/*
 * A message to each other rank and one from each. What is of no bytes is not sent; sender and
 * receiver agree about the number. Messages between two ranks on one channel are matched in the
 * order in which their exchanges began, those of different channels not at all. The element of the rank
 * itself is ignored. The four arrays may go after the call, the memory they point to may not.
 */
struct comm_exchange {
	int channel;		  /* 0 .. COMM_CHANNELS - 1 */
	const void *const *to;	  /* (size) */
	const size_t *to_bytes;	  /* (size) */
	void *const *from;	  /* (size) */
	const size_t *from_bytes; /* (size) */
};

struct comm {
	const char *name; /* "one", "mpi", "mpi and nccl" */
	int rank, size;
	int local_rank, local_size; /* among the ranks on this host */
	bool threads;		    /* any thread may call, several at a time too */
	void *state;		    /* owned by the implementation */
	struct gpus *gpus;	    /* owned, comm_nccl.h; NULL: GPUs do not reach each other */
	const struct reduce_kind *gpu_reduce; /* how arrays of theirs are summed then */
	/*
	 * x = sum over ranks, in place, the same bits on all of them; sum_floats() not while an
	 * exchange is under way
	 */
	int (*sum_floats)(struct comm *c, float *x, size_t n, struct err *e);
	int (*sum_doubles)(struct comm *c, double *x, size_t n, struct err *e);
	int (*max_ints)(struct comm *c, int64_t *x, size_t n, struct err *e);
	int (*broadcast)(struct comm *c, void *bytes, size_t n, int root, struct err *e);
	/*
	 * all (size * n bytes, on the first rank; NULL on the others) = what each rank gives, in
	 * the order of ranks
	 */
	int (*gather)(struct comm *c, const void *mine, size_t n, void *all, struct err *e);
	int (*barrier)(struct comm *c, struct err *e);
	/* sum_doubles() that returns at once; every rank begins its collectives in the same order */
	int (*begin_sum)(struct comm *c, double *x, size_t n, struct comm_request **r,
			 struct err *e);
	int (*exchange)(struct comm *c, const struct comm_exchange *x, struct comm_request **r,
			struct err *e);
	/* Never waits. After *done or a failure r is gone. r NULL: done. */
	int (*test)(struct comm *c, struct comm_request *r, bool *done, struct err *e);
	/* Has something gone wrong that nobody waits for? Never waits; done before what has come is kept. */
	int (*check)(struct comm *c, struct err *e);
	void (*abort)(struct comm *c, int status); /* end every rank now; a world of one: nothing */
	void (*close)(
		struct comm *c); /* all ranks together; after a failure of one rank use abort */
};

/*
 * name: "one", "mpi", or "auto" (mpi when started by mpirun, else one).
 * ERR_UNAVAILABLE: mpi is needed but not built in.
 */
int comm_open(struct comm *c, const char *name, int *argc, char ***argv, struct err *e);

/*
 * Until r is done: attentive at first, then asleep most of the time, because the processors are
 * wanted by those we wait for.
 */
int comm_wait(struct comm *c, struct comm_request *r, struct err *e);

/* What a waiting loop does between two looks, after seconds of waiting. */
void comm_pause(double waited_s);

/* Bytes from one rank to another; the two call these, channel 2 is theirs. */
int comm_send(struct comm *c, const void *bytes, size_t n, int to, struct err *e);
int comm_receive(struct comm *c, void *bytes, size_t n, int from, struct err *e);

/* comm_mpi.c; only where MPI was built in. */
int comm_mpi_open(struct comm *c, int *argc, char ***argv, struct err *e);

#endif
