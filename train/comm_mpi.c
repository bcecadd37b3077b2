/* comm_mpi.c - the world of an MPI job; see comm.h */
#include "train/comm.h"

#include <limits.h>
#include <mpi.h>
#include <unistd.h>

#include "share/base/util.h"

#define PIECE ((size_t)1 << 28)		/* elements of one call: counts are int */
#define BARRIER_POLL_US 2000

static int failed(struct comm *c, int code, const char *doing, struct err *e)
{
	char text[MPI_MAX_ERROR_STRING];
	int n = 0;

	if (MPI_Error_string(code, text, &n))
		n = 0;
	return err_set(e, ERR_NOHOST, "rank %d of %d failed to %s: %.*s", c->rank, c->size, doing,
		       n, text);
}

static int reduce(struct comm *c, void *x, size_t n, MPI_Datatype type, MPI_Op op, struct err *e)
{
	int bytes, rc = MPI_Type_size(type, &bytes);

	for (size_t done = 0; !rc && done < n; done += PIECE)
		rc = MPI_Allreduce(MPI_IN_PLACE, (char *)x + done * (size_t)bytes,
				   (int)MIN(PIECE, n - done), type, op, MPI_COMM_WORLD);
	return rc ? failed(c, rc, "reduce", e) : 0;
}

static int mpi_sum_floats(struct comm *c, float *x, size_t n, struct err *e)
{
	return reduce(c, x, n, MPI_FLOAT, MPI_SUM, e);
}

static int mpi_sum_doubles(struct comm *c, double *x, size_t n, struct err *e)
{
	return reduce(c, x, n, MPI_DOUBLE, MPI_SUM, e);
}

static int mpi_max_ints(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	return reduce(c, x, n, MPI_INT64_T, MPI_MAX, e);
}

static int mpi_broadcast(struct comm *c, void *bytes, size_t n, int root, struct err *e)
{
	int rc = 0;

	for (size_t done = 0; !rc && done < n; done += PIECE)
		rc = MPI_Bcast((char *)bytes + done, (int)MIN(PIECE, n - done), MPI_BYTE, root,
			       MPI_COMM_WORLD);
	return rc ? failed(c, rc, "broadcast", e) : 0;
}

static int mpi_gather(struct comm *c, const void *mine, size_t n, void *all, struct err *e)
{
	int rc;

	if (n > INT_MAX)
		return err_set(e, ERR_INTERNAL, "%zu bytes are too many to gather at once", n);
	rc = MPI_Gather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
	return rc ? failed(c, rc, "gather", e) : 0;
}

/*
 * Waits asleep: barriers are for evaluations, which need the processors that MPI_Barrier() would
 * keep busy.
 */
static int mpi_barrier(struct comm *c, struct err *e)
{
	MPI_Request request;
	int done = 0, rc = MPI_Ibarrier(MPI_COMM_WORLD, &request);

	while (!rc && !done) {
		rc = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (!rc && !done)
			usleep(BARRIER_POLL_US);
	}
	return rc ? failed(c, rc, "wait for the others", e) : 0;
}

static void mpi_abort(struct comm *c, int status)
{
	if (c->size > 1)
		MPI_Abort(MPI_COMM_WORLD, status);
}

static void mpi_close(struct comm *c)
{
	(void)c;
	MPI_Finalize();
}

int comm_mpi_open(struct comm *c, int *argc, char ***argv, struct err *e)
{
	MPI_Comm host;
	int given, rc = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);

	*c = (struct comm){
		.name = "mpi",
		.sum_floats = mpi_sum_floats,
		.sum_doubles = mpi_sum_doubles,
		.max_ints = mpi_max_ints,
		.broadcast = mpi_broadcast,
		.gather = mpi_gather,
		.barrier = mpi_barrier,
		.abort = mpi_abort,
		.close = mpi_close,
	};
	if (rc)
		return err_set(e, ERR_UNAVAILABLE, "MPI cannot be started");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c->size);
	rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL,
				 &host);
	if (rc) {
		failed(c, rc, "find the ranks of its host", e);
		MPI_Finalize();
		return e->code;
	}
	MPI_Comm_rank(host, &c->local_rank);
	MPI_Comm_size(host, &c->local_size);
	MPI_Comm_free(&host);
	return 0;
}
