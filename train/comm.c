/* comm.c - see comm.h: the choice, and the world of one */
#include "train/comm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static int one_sum_floats(struct comm *c, float *x, size_t n, struct err *e)
{
	(void)c, (void)x, (void)n, (void)e;
	return 0;
}

static int one_sum_doubles(struct comm *c, double *x, size_t n, struct err *e)
{
	(void)c, (void)x, (void)n, (void)e;
	return 0;
}

static int one_max_ints(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	(void)c, (void)x, (void)n, (void)e;
	return 0;
}

static int one_broadcast(struct comm *c, void *bytes, size_t n, int root, struct err *e)
{
	(void)c, (void)bytes, (void)n, (void)root, (void)e;
	return 0;
}

static int one_gather(struct comm *c, const void *mine, size_t n, void *all, struct err *e)
{
	(void)c, (void)e;
	memcpy(all, mine, n);
	return 0;
}

static int one_barrier(struct comm *c, struct err *e)
{
	(void)c, (void)e;
	return 0;
}

static void one_abort(struct comm *c, int status)
{
	(void)c, (void)status;
}

static void one_close(struct comm *c)
{
	(void)c;
}

static void open_one(struct comm *c)
{
	*c = (struct comm){
		.name = "one",
		.size = 1,
		.local_size = 1,
		.sum_floats = one_sum_floats,
		.sum_doubles = one_sum_doubles,
		.max_ints = one_max_ints,
		.broadcast = one_broadcast,
		.gather = one_gather,
		.barrier = one_barrier,
		.abort = one_abort,
		.close = one_close,
	};
}

/* Open MPI, MPICH and other launchers that speak PMI tell their children so. */
static bool started_by_mpirun(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

int comm_open(struct comm *c, const char *name, int *argc, char ***argv, struct err *e)
{
	bool mpi = !strcmp(name, "mpi") || (!strcmp(name, "auto") && started_by_mpirun());

	if (!mpi && strcmp(name, "auto") != 0 && strcmp(name, "one") != 0)
		return err_set(e, ERR_USAGE,
			       "no communication is called \"%s\": there are auto, one and mpi",
			       name);
	if (!mpi) {
		open_one(c);
		return 0;
	}
#ifdef HAVE_MPI
	return comm_mpi_open(c, argc, argv, e);
#else
	(void)argc, (void)argv;
	return err_set(e, ERR_UNAVAILABLE,
		       "several ranks were started, but this Werkbank was built without MPI: "
		       "train with one rank, or configure --with-mpi");
#endif
}
