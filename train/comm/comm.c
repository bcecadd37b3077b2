/* comm.c - choice of a communicator, and the one of a single process; see comm.h */
#include "train/comm/comm.h"

#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "share/base/clock.h"
#include "share/base/cores.h"
#include "share/base/mem.h"

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

static int one_begin_sum(struct comm *c, double *x, size_t n, struct comm_request **r,
			 struct err *e)
{
	(void)c, (void)x, (void)n, (void)e;
	*r = NULL;
	return 0;
}

static int one_exchange(struct comm *c, const struct comm_exchange *x, struct comm_request **r,
			struct err *e)
{
	(void)c, (void)x, (void)e;
	*r = NULL;
	return 0;
}

static int one_test(struct comm *c, struct comm_request *r, bool *done, struct err *e)
{
	(void)c, (void)r, (void)e;
	*done = true;
	return 0;
}

static int one_check(struct comm *c, struct err *e)
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

static void comm_open_single(struct comm *c)
{
	*c = (struct comm){
		.name = "one",
		.size = 1,
		.local_size = 1,
		.cores = cores_count(),
		.threads = true,
		.sum_floats = one_sum_floats,
		.sum_doubles = one_sum_doubles,
		.max_ints = one_max_ints,
		.broadcast = one_broadcast,
		.gather = one_gather,
		.barrier = one_barrier,
		.begin_sum = one_begin_sum,
		.exchange = one_exchange,
		.test = one_test,
		.check = one_check,
		.abort = one_abort,
		.close = one_close,
	};
}

/* Open MPI, MPICH and other PMI launchers set these variables for their children. */
static bool started_by_mpirun(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

int comm_open(struct comm *c, const char *name, int *argc, char ***argv, struct err *e)
{
	bool mpi = !strcmp(name, "mpi") || (!strcmp(name, "auto") && started_by_mpirun());

	if (!mpi && strcmp(name, "auto") != 0 && strcmp(name, "one") != 0)
		return err_set(e, ERR_USAGE, "unknown communicator \"%s\": use auto, one or mpi",
			       name);
	if (!mpi) {
		comm_open_single(c);
		return 0;
	}
#ifdef HAVE_MPI
	return comm_mpi_open(c, argc, argv, e);
#else
	(void)argc, (void)argv;
	return err_set(e, ERR_UNAVAILABLE,
		       "mpirun started several ranks, but this Werkbank was built without MPI: "
		       "train with one rank, or rebuild it with configure --with-mpi");
#endif
}

/* ---- waiting ----------------------------------------------------------- */

void comm_pause(double waited_s)
{
	if (waited_s < 200e-6)
		sched_yield();
	else
		usleep(waited_s < 5e-3 ? 30 : waited_s < 1 ? 150 : 1000);
}

int comm_wait(struct comm *c, struct comm_request *r, struct err *e)
{
	const double begun = clock_mono_s();
	bool done = false;

	for (;;) {
		if (c->test(c, r, &done, e))
			return e->code;
		if (done)
			return 0;
		comm_pause(clock_mono_s() - begun);
	}
}

/* ---- one rank to another ----------------------------------------------- */

#define PAIR_CHANNEL (COMM_CHANNELS - 1)

int comm_begin_pair(struct comm *c, const void *to, void *from, size_t n, int other,
		    struct comm_request **r, struct err *e)
{
	const size_t size = (size_t)c->size;
	void **pointers = mem_alloc(2 * size, sizeof(*pointers), e);
	size_t *bytes = mem_alloc(2 * size, sizeof(*bytes), e);
	const void **sent = (const void **)pointers;
	int rc = pointers && bytes ? 0 : e->code;

	assert(other >= 0 && other < c->size && other != c->rank);
	assert(!to != !from);
	if (!rc) {
		const struct comm_exchange x = { PAIR_CHANNEL, sent, bytes, pointers + size,
						 bytes + size };

		sent[other] = to;
		pointers[size + (size_t)other] = from;
		bytes[(from ? size : 0) + (size_t)other] = n;
		rc = c->exchange(c, &x, r, e);
	}
	free(pointers);
	free(bytes);
	return rc;
}

int comm_send(struct comm *c, const void *bytes, size_t n, int to, struct err *e)
{
	struct comm_request *r;

	return comm_begin_pair(c, bytes, NULL, n, to, &r, e) ? e->code : comm_wait(c, r, e);
}

int comm_receive(struct comm *c, void *bytes, size_t n, int from, struct err *e)
{
	struct comm_request *r;

	return comm_begin_pair(c, NULL, bytes, n, from, &r, e) ? e->code : comm_wait(c, r, e);
}
