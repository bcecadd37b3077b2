/*
 * comm_mpi.c - the communicator of an MPI job; see comm.h
 *
 * If MPI supports MPI_THREAD_SERIALIZED, several threads use the library under one lock. No
 * thread waits under the lock: a collective begins, and then the thread tests it with pauses
 * until its end. MPI's own waiting would keep a processor busy that computing ranks need.
 */
#include "train/comm/comm.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/cores.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define HOLD_S 60		 /* time to save after the end of mpirun */
#define PIECE  ((size_t)1 << 28) /* elements of one call: counts are int */

/*
 * Bytes of one message of an exchange. Over TCP, Open MPI sends messages up to 64 KiB with header
 * eagerly, and asks the receiver before larger ones. The answer would queue after all data that
 * the receiver itself sends on this connection, and one direction of the link would be idle.
 */
#define MESSAGE ((size_t)60 << 10)

struct comm_request {
	struct comm_request *next; /* in mpi_state.spare */
	MPI_Request *parts;	   /* (n of cap) owned */
	size_t n, cap;
};

struct mpi_state {
	pthread_mutex_t mpi_lock;   /* protects the list and every call of MPI */
	struct comm_request *spare; /* owned: finished requests, for reuse */
};

/* mpi_rc: what a function of MPI returned. */
static int mpi_set_error(struct comm *c, int mpi_rc, const char *doing, struct err *e)
{
	char text[MPI_MAX_ERROR_STRING];
	int n = 0;

	if (MPI_Error_string(mpi_rc, text, &n))
		n = 0;
	return err_set(e, ERR_NOHOST, "rank %d of %d failed to %s: %.*s", c->rank, c->size, doing,
		       n, text);
}

static void mpi_lock(struct comm *c)
{
	pthread_mutex_lock(&((struct mpi_state *)c->state)->mpi_lock);
}

static void mpi_unlock(struct comm *c)
{
	pthread_mutex_unlock(&((struct mpi_state *)c->state)->mpi_lock);
}

/* ---- requests ----------------------------------------------------------- */

/* Under the lock, like mpi_new_request(). */
static void mpi_release_request(struct mpi_state *w, struct comm_request *r)
{
	r->n = 0;
	r->next = w->spare;
	w->spare = r;
}

/* A request with room for n parts; NULL: ERR_NOMEM. */
static struct comm_request *mpi_new_request(struct mpi_state *w, size_t n, struct err *e)
{
	struct comm_request *r = w->spare;

	if (r)
		w->spare = r->next;
	else
		r = mem_alloc(1, sizeof(*r), e);
	if (r && mem_grow(&r->parts, &r->cap, n, sizeof(*r->parts), e)) {
		mpi_release_request(w, r);
		return NULL;
	}
	return r;
}

static int mpi_test(struct comm *c, struct comm_request *r, bool *done, struct err *e)
{
	int all = 1, rc;

	if (r) {
		mpi_lock(c);
		assert(r->n <= r->cap && r->n <= INT_MAX);
		rc = MPI_Testall((int)r->n, r->parts, &all, MPI_STATUSES_IGNORE);
		if (rc || all)
			mpi_release_request(c->state, r);
		if (rc)
			mpi_set_error(c, rc, "communicate", e);
		mpi_unlock(c);
		if (rc)
			return e->code;
	}
	*done = all != 0;
	return 0;
}

/* ---- collectives ------------------------------------------------------- */

typedef int begin_piece(void *x, int n, MPI_Datatype type, int argument, MPI_Request *r);

static int begin_sum_piece(void *x, int n, MPI_Datatype type, int argument, MPI_Request *r)
{
	(void)argument;
	return MPI_Iallreduce(MPI_IN_PLACE, x, n, type, MPI_SUM, MPI_COMM_WORLD, r);
}

static int begin_max_piece(void *x, int n, MPI_Datatype type, int argument, MPI_Request *r)
{
	(void)argument;
	return MPI_Iallreduce(MPI_IN_PLACE, x, n, type, MPI_MAX, MPI_COMM_WORLD, r);
}

static int begin_broadcast_piece(void *x, int n, MPI_Datatype type, int argument, MPI_Request *r)
{
	return MPI_Ibcast(x, n, type, argument, MPI_COMM_WORLD, r);
}

/* Begin a collective over n elements, in pieces of at most PIECE: MPI counts with int. */
static int mpi_begin_collective(struct comm *c, begin_piece *piece, void *x, size_t n,
				MPI_Datatype type, int argument, struct comm_request **r,
				struct err *e)
{
	struct comm_request *q;
	int rc, bytes = 1;

	mpi_lock(c);
	*r = q = mpi_new_request(c->state, n / PIECE + 1, e);
	rc = q ? MPI_Type_size(type, &bytes) : e->code;
	for (size_t at = 0; q && !rc && at < n; at += PIECE)
		rc = piece((char *)x + at * (size_t)bytes, (int)MIN(PIECE, n - at), type, argument,
			   &q->parts[q->n++]);
	if (q && rc)
		mpi_set_error(c, rc, "begin a collective", e);
	mpi_unlock(c);
	return rc ? e->code : 0;
}

static int mpi_run_collective(struct comm *c, begin_piece *piece, void *x, size_t n,
			      MPI_Datatype type, int argument, struct err *e)
{
	struct comm_request *r;

	return mpi_begin_collective(c, piece, x, n, type, argument, &r, e) ? e->code
									   : comm_wait(c, r, e);
}

/* Blocking: for measurements of the network. MPI's own waiting is faster, and nothing else runs. */
static int mpi_sum_floats(struct comm *c, float *x, size_t n, struct err *e)
{
	int rc = 0;

	mpi_lock(c);
	for (size_t at = 0; !rc && at < n; at += PIECE)
		rc = MPI_Allreduce(MPI_IN_PLACE, x + at, (int)MIN(PIECE, n - at), MPI_FLOAT,
				   MPI_SUM, MPI_COMM_WORLD);
	if (rc)
		mpi_set_error(c, rc, "reduce", e);
	mpi_unlock(c);
	return rc ? e->code : 0;
}

static int mpi_sum_doubles(struct comm *c, double *x, size_t n, struct err *e)
{
	return mpi_run_collective(c, begin_sum_piece, x, n, MPI_DOUBLE, 0, e);
}

static int mpi_max_ints(struct comm *c, int64_t *x, size_t n, struct err *e)
{
	return mpi_run_collective(c, begin_max_piece, x, n, MPI_INT64_T, 0, e);
}

static int mpi_broadcast(struct comm *c, void *bytes, size_t n, int root, struct err *e)
{
	return mpi_run_collective(c, begin_broadcast_piece, bytes, n, MPI_BYTE, root, e);
}

static int mpi_begin_sum(struct comm *c, double *x, size_t n, struct comm_request **r,
			 struct err *e)
{
	return mpi_begin_collective(c, begin_sum_piece, x, n, MPI_DOUBLE, 0, r, e);
}

static int mpi_gather(struct comm *c, const void *mine, size_t n, void *all, struct err *e)
{
	struct comm_request *r;
	int rc;

	if (n > INT_MAX)
		return err_set(e, ERR_INTERNAL, "cannot gather %zu bytes at once: the limit is %d",
			       n, INT_MAX);
	mpi_lock(c);
	r = mpi_new_request(c->state, 1, e);
	rc = r ? MPI_Igather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD,
			     &r->parts[r->n++])
	       : e->code;
	if (r && rc)
		mpi_set_error(c, rc, "gather", e);
	mpi_unlock(c);
	return rc ? e->code : comm_wait(c, r, e);
}

static int mpi_barrier(struct comm *c, struct err *e)
{
	struct comm_request *r;
	int rc;

	mpi_lock(c);
	r = mpi_new_request(c->state, 1, e);
	rc = r ? MPI_Ibarrier(MPI_COMM_WORLD, &r->parts[r->n++]) : e->code;
	if (r && rc)
		mpi_set_error(c, rc, "wait for other ranks", e);
	mpi_unlock(c);
	return rc ? e->code : comm_wait(c, r, e);
}

/* ---- exchanges --------------------------------------------------------- */

static size_t mpi_count_messages(const struct comm *c, const size_t *bytes)
{
	size_t n = 0;

	for (int i = 0; i < c->size; i++)
		n += i == c->rank ? 0 : CEIL_DIV(bytes[i], MESSAGE);
	return n;
}

/* All messages from (from set) or to one rank. */
static int mpi_begin_messages(struct comm_request *q, void *from, const void *to, size_t n,
			      int other, int channel)
{
	int rc = 0;

	for (size_t at = 0; !rc && at < n; at += MESSAGE) {
		const int count = (int)MIN(MESSAGE, n - at);
		MPI_Request *r = &q->parts[q->n++];

		if (from)
			rc = MPI_Irecv((char *)from + at, count, MPI_BYTE, other, channel,
				       MPI_COMM_WORLD, r);
		else
			rc = MPI_Isend((const char *)to + at, count, MPI_BYTE, other, channel,
				       MPI_COMM_WORLD, r);
	}
	return rc;
}

/* Each rank sends to its neighbour first, so that not all ranks send to rank 0 at once. */
static int mpi_exchange(struct comm *c, const struct comm_exchange *x, struct comm_request **r,
			struct err *e)
{
	struct comm_request *q;
	int rc = 0;

	assert(x->channel >= 0 && x->channel < COMM_CHANNELS);
	mpi_lock(c);
	*r = q = mpi_new_request(
		c->state, mpi_count_messages(c, x->to_bytes) + mpi_count_messages(c, x->from_bytes),
		e);
	for (int i = 1; q && !rc && i < c->size; i++) {
		const int other = (c->rank - i + c->size) % c->size;

		rc = mpi_begin_messages(q, x->from[other], NULL, x->from_bytes[other], other,
					x->channel);
	}
	for (int i = 1; q && !rc && i < c->size; i++) {
		const int other = (c->rank + i) % c->size;

		rc = mpi_begin_messages(q, NULL, x->to[other], x->to_bytes[other], other,
					x->channel);
	}
	if (rc)
		mpi_set_error(c, rc, "exchange data with other ranks", e);
	mpi_unlock(c);
	return !q || rc ? e->code : 0;
}

/* ---- open and close ----------------------------------------------------- */

/* MPI has no failures that only a check would find: test() reports them. */
static int mpi_check(struct comm *c, struct err *e)
{
	(void)c, (void)e;
	return 0;
}

/*
 * When mpirun or its daemon dies, a thread of Open MPI ends this process within milliseconds, although
 * the ranks can still talk to each other and save. Its variable abort_delay lets it wait: the variable
 * is read at each abort, so our own aborts need not wait. Without such a variable nothing changes.
 */
static void mpi_hold_aborts(int seconds)
{
	int *delay = dlsym(RTLD_DEFAULT, "opal_abort_delay");

	if (delay)
		*delay = seconds;
}

static void mpi_survive(struct comm *c)
{
	if (c->size > 1)
		mpi_hold_aborts(HOLD_S);
}

static void mpi_abort(struct comm *c, int status)
{
	if (c->size <= 1)
		return;
	mpi_hold_aborts(0);
	MPI_Abort(MPI_COMM_WORLD, status);
	_exit(status); /* an abort of MPI itself is under way in another thread */
}

static void mpi_close(struct comm *c)
{
	struct mpi_state *w = c->state;

	MPI_Finalize();
	while (w->spare) {
		struct comm_request *next = w->spare->next;

		free(w->spare->parts);
		free(w->spare);
		w->spare = next;
	}
	pthread_mutex_destroy(&w->mpi_lock);
	free(w);
}

static int mpi_find_local_rank(struct comm *c, struct err *e)
{
	int64_t users[CORES_MAX];
	MPI_Comm host;
	int rc;

	cores_mask(users);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c->size);
	rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL,
				 &host);
	if (rc)
		return mpi_set_error(c, rc, "find the ranks of its host", e);
	MPI_Comm_rank(host, &c->local_rank);
	MPI_Comm_size(host, &c->local_size);
	rc = MPI_Allreduce(MPI_IN_PLACE, users, CORES_MAX, MPI_INT64_T, MPI_SUM, host);
	MPI_Comm_free(&host);
	if (rc)
		return mpi_set_error(c, rc, "divide the cores of its host", e);
	c->cores = cores_share(users, c->local_size);
	c->shares_cores = true;
	for (int i = 0; i < CORES_MAX; i++)
		c->shares_cores &= !users[i] || users[i] == c->local_size;
	return 0;
}

int comm_mpi_open(struct comm *c, int *argc, char ***argv, struct err *e)
{
	struct mpi_state *w;
	int given;

	if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &given))
		return err_set(
			e, ERR_UNAVAILABLE,
			"MPI_Init_thread failed: MPI cannot be started, see mpirun's output");
	w = mem_alloc(1, sizeof(*w), e);
	if (!w)
		return e->code; /* mpirun ends the other ranks when this process ends */
	pthread_mutex_init(&w->mpi_lock, NULL);
	*c = (struct comm){
		.name = "mpi",
		.state = w,
		.threads = given >= MPI_THREAD_SERIALIZED,
		.sum_floats = mpi_sum_floats,
		.sum_doubles = mpi_sum_doubles,
		.max_ints = mpi_max_ints,
		.broadcast = mpi_broadcast,
		.gather = mpi_gather,
		.barrier = mpi_barrier,
		.begin_sum = mpi_begin_sum,
		.exchange = mpi_exchange,
		.test = mpi_test,
		.check = mpi_check,
		.survive = mpi_survive,
		.abort = mpi_abort,
		.close = mpi_close,
	};
	if (mpi_find_local_rank(c, e)) {
		mpi_close(c);
		return e->code;
	}
	return 0;
}
