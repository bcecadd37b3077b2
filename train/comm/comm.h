/*
 * comm.h - the communicator: collectives and messages between the ranks of a job.
 *
 * A single process is one implementation (comm.c), not a special case; comm_mpi.c uses Open MPI.
 * comm_nccl.c adds communication between GPUs to a communicator; data in host memory still uses
 * the functions of the original communicator.
 *
 * Most collectives return when they have finished. exchange() and begin_sum() return at once; the
 * caller waits or polls for the end. reduce.c builds the reduction of gradients on them.
 *
 *	comm->exchange(comm, &x, &r, e);	or comm->begin_sum()
 *	…					don't touch the memory that x points to
 *	comm_wait(comm, r, e);			or comm->test() until *done
 */
#ifndef WERKBANK_TRAIN_COMM_COMM_H
#define WERKBANK_TRAIN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

struct comm_request; /* a communication under way; owned by the comm */

#define COMM_CHANNELS 3

/*
 * One message to each other rank and one message from each other rank. Sender and receiver must
 * agree on the number of bytes; messages of 0 bytes are not sent. Messages between two ranks on
 * one channel are matched in the order in which their exchanges begin; different channels are
 * independent. The element of the calling rank is ignored. The four arrays may be freed after the
 * call; the memory that their elements point to must live until the exchange has finished.
 */
struct comm_exchange {
	int channel;		  /* 0 .. COMM_CHANNELS - 1 */
	const void *const *to;	  /* (ranks) messages to send */
	const size_t *to_bytes;	  /* (ranks) */
	void *const *from;	  /* (ranks) where received messages are written */
	const size_t *from_bytes; /* (ranks) */
};

struct comm {
	const char *name;	    /* "one", "mpi", "mpi and nccl" */
	int rank, size;		    /* of this process; ranks of the job */
	int local_rank, local_size; /* among the ranks on this host */
	int cores;		    /* of this host, for this rank: see cores_share() */
	bool shares_cores;	    /* by all ranks of this host: nobody has bound them */
	bool threads;		    /* any thread may call, several at the same time */
	void *state;		    /* owned by the implementation */
	struct gpus *gpus;	    /* owned, see comm_nccl.h; NULL: no GPU-to-GPU communication */
	const struct reduce_kind *gpu_reduce; /* with gpus: how arrays on GPUs are summed */
	/*
	 * x (n) = its sum over ranks, in place, with the same bits on all ranks. Don't call
	 * sum_floats() while an exchange is under way.
	 */
	int (*sum_floats)(struct comm *c, float *x, size_t n, struct err *e);
	int (*sum_doubles)(struct comm *c, double *x, size_t n, struct err *e);
	/* x (n) = its maximum over ranks, element by element */
	int (*max_ints)(struct comm *c, int64_t *x, size_t n, struct err *e);
	/* bytes (n) = those of rank root */
	int (*broadcast)(struct comm *c, void *bytes, size_t n, int root, struct err *e);
	/* all (size * n bytes on rank 0; NULL elsewhere) = mine (n bytes) of every rank, in order */
	int (*gather)(struct comm *c, const void *mine, size_t n, void *all, struct err *e);
	int (*barrier)(struct comm *c, struct err *e);
	/* sum_doubles() that returns at once. Every rank begins its collectives in the same order. */
	int (*begin_sum)(struct comm *c, double *x, size_t n, struct comm_request **r,
			 struct err *e);
	int (*exchange)(struct comm *c, const struct comm_exchange *x, struct comm_request **r,
			struct err *e);
	/* Never waits. r is invalid after *done or a failure. r NULL: *done = true. */
	int (*test)(struct comm *c, struct comm_request *r, bool *done, struct err *e);
	/*
	 * Report an asynchronous failure of the communication between GPUs. Never waits. Callers
	 * check before they use or save received data.
	 */
	int (*check)(struct comm *c, struct err *e);
	/*
	 * From now on, the end of mpirun does not end this process at once: it has a minute to save.
	 * NULL: it ends in no such way.
	 */
	void (*survive)(struct comm *c);
	/* End all ranks now with this exit status; with a single rank it does nothing. */
	void (*abort)(struct comm *c, int status);
	/* Collective. After a failure of one rank use abort() instead. */
	void (*close)(struct comm *c);
};

/*
 * Opens the communicator. name: "one", "mpi", or "auto" (mpi if mpirun started the process, else
 * one). ERR_USAGE: another name. ERR_UNAVAILABLE: mpi is needed, but this build has no MPI.
 */
int comm_open(struct comm *c, const char *name, int *argc, char ***argv, struct err *e);

/* Wait for r with comm_pause(). r is invalid afterwards. */
int comm_wait(struct comm *c, struct comm_request *r, struct err *e);

/*
 * Pause between two polls of a waiting loop. After a short time of yielding it sleeps, because
 * the ranks that the caller waits for need the processors. waited_s: seconds since the loop began.
 */
void comm_pause(double waited_s);

/* Send n bytes to one rank, which calls comm_receive(). Both use channel COMM_CHANNELS - 1. */
int comm_send(struct comm *c, const void *bytes, size_t n, int to, struct err *e);
int comm_receive(struct comm *c, void *bytes, size_t n, int from, struct err *e);
/* The same without waiting: to rank other if to is set, else from it. The other one is NULL. */
int comm_begin_pair(struct comm *c, const void *to, void *from, size_t n, int other,
		    struct comm_request **r, struct err *e);

/* comm_mpi.c: the communicator of an MPI job. Only in builds with MPI. */
int comm_mpi_open(struct comm *c, int *argc, char ***argv, struct err *e);

#endif
