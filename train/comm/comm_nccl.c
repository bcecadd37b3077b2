/* comm_nccl.c - communication between the GPUs of the ranks by NCCL; see comm_nccl.h */
#include "train/comm/comm_nccl.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "train/comm/comm_nccl_library.h"
#include "train/comm/reduce_internal.h"
#include "train/host/host_net.h"

#define INIT_LIMIT_S	 300.0 /* limit for all ranks to call comm_nccl_open() */
#define FINALIZE_LIMIT_S 10.0  /* limit for all ranks to close */
#define POLL_MS		 100   /* the thread polls NCCL for errors at this interval */

struct gpus {
	const struct nccl_library *nccl;
	struct comm base_comm; /* the communicator before comm_nccl_open() */
	char name[64];	       /* of the new communicator */
	int rank, size;
	bool shares_links; /* see gpus_share_host_links() */

	pthread_mutex_t lock; /* protects all fields below, and calls of NCCL with comm */
	pthread_cond_t wake;
	pthread_t thread;
	bool watched, quit;
	ncclComm_t comm;    /* owned; NULL: aborted */
	struct err trouble; /* why it was aborted; code 0: it was not */
};

/* ---- errors ------------------------------------------------------------- */

/* The same sentence as mpi_set_error(). Under the lock. */
static int gpus_set_error(struct gpus *g, ncclResult_t result, const char *doing, struct err *e)
{
	const char *more = g->comm ? g->nccl->GetLastError(g->comm) : "";

	return err_set(e, ERR_NOHOST, "rank %d of %d failed to %s: NCCL: %s%s%.300s", g->rank,
		       g->size, doing, g->nccl->GetErrorString(result), more && *more ? ": " : "",
		       more ? more : "");
}

/* The asynchronous failure, if there was one. Under the lock. */
static int gpus_recorded_error(const struct gpus *g, struct err *e)
{
	if (g->trouble.code)
		*e = g->trouble;
	return g->trouble.code;
}

/* State of the NCCL communicator; a failed earlier call shows here as well. Under the lock. */
static ncclResult_t gpus_async_state(struct gpus *g)
{
	ncclResult_t state = ncclSuccess, rc = g->nccl->CommGetAsyncError(g->comm, &state);

	return rc == ncclSuccess ? state : rc;
}

/*
 * Abort the communicator after an error. Called under the lock, which it releases during the
 * abort: an abort can take long, and other threads can read the error in the meantime.
 */
static void gpus_abort_comm(struct gpus *g, ncclResult_t result)
{
	ncclComm_t comm = g->comm;

	assert(comm);
	gpus_set_error(g, result, "communicate", &g->trouble);
	g->comm = NULL;
	pthread_mutex_unlock(&g->lock);
	g->nccl->CommAbort(comm);
	pthread_mutex_lock(&g->lock);
}

static void *gpus_watch_thread(void *arg)
{
	struct gpus *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->quit && g->comm) {
		const ncclResult_t state = gpus_async_state(g);
		struct timespec until;

		if (state != ncclSuccess && state != ncclInProgress) {
			gpus_abort_comm(g, state);
			break;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += POLL_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&g->wake, &g->lock, &until);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* ---- calls ---------------------------------------------------------------- */

/*
 * Wait until NCCL has enqueued a call on the GPU or the call has failed. result: what the call
 * returned. limit_s 0: no limit, the watchdog ends a hanging process. Called under the lock, which
 * it releases between polls.
 */
static int gpus_wait_call(struct gpus *g, ncclResult_t result, double limit_s, const char *doing,
			  struct err *e)
{
	const double begun = clock_mono_s();

	while (result == ncclInProgress) {
		const double waited = clock_mono_s() - begun;

		if (limit_s > 0 && waited > limit_s)
			return err_set(e, ERR_NOHOST,
				       "rank %d of %d failed to %s: NCCL has waited %.0f s for "
				       "other ranks; look at their logs",
				       g->rank, g->size, doing, waited);
		pthread_mutex_unlock(&g->lock);
		comm_pause(waited);
		pthread_mutex_lock(&g->lock);
		if (gpus_recorded_error(g, e))
			return e->code;
		result = gpus_async_state(g);
	}
	return result == ncclSuccess ? 0 : gpus_set_error(g, result, doing, e);
}

/*
 * A call of NCCL: gpus_begin_call() takes the lock and checks for an earlier failure; after a
 * failure gpus_leave_call(), else gpus_end_call() with the result of the call; both release it.
 */

static int gpus_begin_call(struct gpus *g, struct err *e)
{
	pthread_mutex_lock(&g->lock);
	return gpus_recorded_error(g, e);
}

static int gpus_end_call(struct gpus *g, ncclResult_t result, const char *doing, struct err *e)
{
	const int rc = gpus_wait_call(g, result, 0, doing, e);

	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int gpus_leave_call(struct gpus *g, struct err *e)
{
	pthread_mutex_unlock(&g->lock);
	return e->code;
}

static ncclDataType_t nccl_type_of(enum wire_format type)
{
	return type == WIRE_BF16 ? ncclBfloat16 : ncclFloat32;
}

static size_t bytes_of(enum wire_format type)
{
	return type == WIRE_BF16 ? 2 : 4;
}

bool gpus_share_host_links(const struct gpus *g)
{
	return g->shares_links;
}

int gpus_all_reduce(struct gpus *g, void *x, size_t n, enum wire_format type, void *stream,
		    struct err *e)
{
	if (gpus_begin_call(g, e))
		return gpus_leave_call(g, e);
	return gpus_end_call(g,
			     g->nccl->AllReduce(x, x, n, nccl_type_of(type), ncclSum, g->comm,
						(cudaStream_t)stream),
			     "reduce", e);
}

int gpus_reduce_scatter(struct gpus *g, void *x, size_t each, enum wire_format type, void *stream,
			struct err *e)
{
	void *own = (char *)x + (size_t)g->rank * each * bytes_of(type);

	if (gpus_begin_call(g, e))
		return gpus_leave_call(g, e);
	return gpus_end_call(g,
			     g->nccl->ReduceScatter(x, own, each, nccl_type_of(type), ncclSum,
						    g->comm, (cudaStream_t)stream),
			     "reduce", e);
}

int gpus_all_gather(struct gpus *g, float *x, size_t each, void *stream, struct err *e)
{
	const float *own = x + (size_t)g->rank * each;

	if (gpus_begin_call(g, e))
		return gpus_leave_call(g, e);
	return gpus_end_call(
		g, g->nccl->AllGather(own, x, each, ncclFloat32, g->comm, (cudaStream_t)stream),
		"spread weights", e);
}

int gpus_all_gather_bytes(struct gpus *g, void *all, const void *own, size_t bytes, void *stream,
			  struct err *e)
{
	if (gpus_begin_call(g, e))
		return gpus_leave_call(g, e);
	return gpus_end_call(
		g, g->nccl->AllGather(own, all, bytes, ncclUint8, g->comm, (cudaStream_t)stream),
		"sum up", e);
}

/* All messages as one group, so that NCCL can choose their order. */
static ncclResult_t send_and_receive(struct gpus *g, const struct comm_exchange *x,
				     cudaStream_t stream)
{
	ncclResult_t rc = g->nccl->GroupStart(), end;

	for (int i = 0; i < g->size && (rc == ncclSuccess || rc == ncclInProgress); i++) {
		if (i == g->rank)
			continue;
		if (x->to_bytes[i])
			rc = g->nccl->Send(x->to[i], x->to_bytes[i], ncclUint8, i, g->comm, stream);
		if (x->from_bytes[i] && (rc == ncclSuccess || rc == ncclInProgress))
			rc = g->nccl->Recv(x->from[i], x->from_bytes[i], ncclUint8, i, g->comm,
					   stream);
	}
	end = g->nccl->GroupEnd();
	return rc == ncclSuccess || rc == ncclInProgress ? end : rc;
}

int gpus_exchange(struct gpus *g, const struct comm_exchange *x, void *stream, struct err *e)
{
	if (gpus_begin_call(g, e))
		return gpus_leave_call(g, e);
	return gpus_end_call(g, send_and_receive(g, x, (cudaStream_t)stream),
			     "exchange data with other ranks", e);
}

/* ---- functions of comm.h ----------------------------------------------------- */

static int gpus_check(struct comm *c, struct err *e)
{
	struct gpus *g = c->gpus;
	ncclResult_t state;
	int rc;

	pthread_mutex_lock(&g->lock);
	state = g->comm ? gpus_async_state(g) : ncclSuccess;
	if (state != ncclSuccess && state != ncclInProgress)
		gpus_abort_comm(g, state);
	rc = gpus_recorded_error(g, e);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int gpus_test(struct comm *c, struct comm_request *r, bool *done, struct err *e)
{
	if (gpus_check(c, e))
		return e->code;
	return c->gpus->base_comm.test(c, r, done, e);
}

/* Don't abort NCCL here: that could hang, and the process with its GPU context ends anyway. */
static void gpus_abort(struct comm *c, int status)
{
	c->gpus->base_comm.abort(c, status);
}

static void stop_watching(struct gpus *g)
{
	if (!g->watched)
		return;
	pthread_mutex_lock(&g->lock);
	g->quit = true;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
}

static void free_gpus(struct gpus *g)
{
	stop_watching(g);
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static void gpus_close(struct comm *c)
{
	struct gpus *g = c->gpus;
	struct err ignored = { 0 };

	stop_watching(g);
	g->watched = false;
	pthread_mutex_lock(&g->lock);
	if (g->comm &&
	    !gpus_wait_call(g, g->nccl->CommFinalize(g->comm), FINALIZE_LIMIT_S, "end", &ignored))
		g->nccl->CommDestroy(g->comm);
	else if (g->comm)
		g->nccl->CommAbort(g->comm);
	g->comm = NULL;
	pthread_mutex_unlock(&g->lock);
	*c = g->base_comm;
	free_gpus(g);
	c->close(c);
}

/* ---- opening ----------------------------------------------------------------- */

static const char *version_text(int version, char text[24])
{
	snprintf(text, 24, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return text;
}

/* The library and its version; NULL: *why is the reason. */
static const struct nccl_library *find_library(int *version, const char **why)
{
	const struct nccl_library *l = nccl_load(why);

	*version = 0;
	if (l && l->GetVersion(version) != ncclSuccess) {
		*why = "NCCL does not report its version";
		l = NULL;
	}
	return l;
}

bool comm_nccl_find(char *text, size_t room)
{
	char version[24];
	const char *why;
	int number;

	if (!find_library(&number, &why)) {
		snprintf(text, room, "%s", why);
		return false;
	}
	snprintf(text, room, "%s", version_text(number, version));
	return true;
}

/* All ranks need the library in the same version; otherwise this fails on all ranks. */
static int gpus_agree_version(struct comm *c, struct gpus *g, int version, const char *why,
			      struct err *e)
{
	int64_t x[] = { g->nccl == NULL, version, -version, c->local_size };
	char lower[24], higher[24];

	if (c->max_ints(c, x, ARRAY_LEN(x), e))
		return e->code;
	g->shares_links = x[3] > 1 && x[3] < c->size;
	if (!g->nccl)
		return err_set(e, ERR_UNAVAILABLE, "%s", why);
	if (x[0])
		return err_set(e, ERR_UNAVAILABLE, "another host has no NCCL: install it there");
	if (x[1] != -x[2])
		return err_set(
			e, ERR_UNAVAILABLE,
			"hosts have different versions of NCCL, %s to %s: install one version",
			version_text((int)-x[2], lower), version_text((int)x[1], higher));
	return 0;
}

/* NCCL uses the network of the job; the name of its interface differs from host to host. */
static int choose_interface(const struct comm *c, struct err *e)
{
	const char *network = getenv("WERKBANK_NETWORK");
	struct host_interface found;
	struct host_roots roots;
	char name[HOST_INTERFACE_MAX + 2];

	if (getenv("NCCL_SOCKET_IFNAME") || !network || !*network || c->local_size == c->size)
		return 0;
	host_roots_find(&roots);
	if (host_interface_find(network, &roots, &found, e))
		return e->code;
	snprintf(name, sizeof(name), "=%s", found.name);
	setenv("NCCL_SOCKET_IFNAME", name, 0);
	return 0;
}

static int gpus_init_comm(struct comm *c, struct gpus *g, struct err *e)
{
	struct {
		int64_t rc;
		ncclUniqueId id;
	} first = { 0 };
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	int rc;

	if (!c->rank)
		first.rc = g->nccl->GetUniqueId(&first.id);
	if (c->broadcast(c, &first, sizeof(first), 0, e))
		return e->code;
	pthread_mutex_lock(&g->lock);
	config.blocking = 0;
	rc = first.rc ? gpus_set_error(g, (ncclResult_t)first.rc, "connect to other ranks", e)
		      : gpus_wait_call(g,
				       g->nccl->CommInitRankConfig(&g->comm, c->size, first.id,
								   c->rank, &config),
				       INIT_LIMIT_S, "connect to other ranks", e);
	if (rc && g->comm)
		g->nccl->CommAbort(g->comm);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int start_watching(struct gpus *g, struct err *e)
{
	g->watched = !proc_start_thread(&g->thread, gpus_watch_thread, g, "watches NCCL", e);
	return g->watched ? 0 : e->code;
}

int comm_nccl_open(struct comm *c, struct err *e)
{
	struct gpus *g = mem_alloc(1, sizeof(*g), e);
	const char *why = "";
	char version[24];
	int number = 0;

	if (!g)
		return e->code;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->wake, NULL);
	g->base_comm = *c;
	g->rank = c->rank;
	g->size = c->size;
	g->nccl = find_library(&number, &why);
	if (gpus_agree_version(c, g, number, why, e) || choose_interface(c, e) ||
	    gpus_init_comm(c, g, e) || start_watching(g, e)) {
		free_gpus(g);
		return e->code;
	}
	snprintf(g->name, sizeof(g->name), "%s and nccl %s", c->name,
		 version_text(number, version));
	c->name = g->name;
	c->gpus = g;
	c->gpu_reduce = &reduce_on_gpu;
	c->test = gpus_test;
	c->check = gpus_check;
	c->abort = gpus_abort;
	c->close = gpus_close;
	return 0;
}
