/* telemetry.c - samples hosts, adds up steps and gathers both; see telemetry.h */
#include "train/watch/telemetry.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "train/watch/telemetry_internal.h"

#define SAMPLE_EVERY_S 1.0
#define GRACE_S	       2.0 /* for the thread to end: a driver or a file system may hang */

struct telemetry {
	struct telemetry_options
		how;	   /* don't use its texts after telemetry_open(): they may be gone */
	struct comm *comm; /* borrowed */
	struct step_times sum;
	int64_t steps;
	double reported;	  /* clock_mono_s() of the last report */
	struct telemetry_row row; /* of this rank */
	char *all;		  /* first rank: (ranks) rows, owned */
	double *order;		  /* first rank: (ranks) workspace, owned */
	unsigned *warned_kinds;	  /* first rank: (ranks) bits of the warnings so far, owned */
	/* only on the first rank of a host */
	struct host_watch *host_watcher; /* NULL: other ranks, or no telemetry */
	bool counting;			 /* between telemetry_begin() and telemetry_pause() */
	struct host_net_sent counted_from;
	double sent, again; /* during steps: bytes, retransmitted TCP segments; NAN: unknown */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool end, ended; /* under the lock: the thread shall end; it has ended */
};

/* ---- the thread -------------------------------------------------------- */

static struct timespec deadline_after(double seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)seconds;
	t.tv_nsec += (long)((seconds - floor(seconds)) * 1e9);
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static void *host_watcher(void *argument)
{
	struct telemetry *t = argument;
	struct timespec until;

	pthread_mutex_lock(&t->lock);
	while (!t->end) {
		until = deadline_after(SAMPLE_EVERY_S);
		pthread_mutex_unlock(&t->lock);
		host_watch_sample(t->host_watcher, clock_mono_s());
		pthread_mutex_lock(&t->lock);
		while (!t->end && !pthread_cond_timedwait(&t->wake, &t->lock, &until))
			;
	}
	t->ended = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void init_lock(struct telemetry *t)
{
	pthread_condattr_t how;

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &how);
	pthread_condattr_destroy(&how);
}

static int telemetry_start_thread(struct telemetry *t, struct err *e)
{
	t->has_thread = !proc_start_thread(&t->thread, host_watcher, t, "samples the host", e);
	return t->has_thread ? 0 : e->code;
}

/* False: the thread hangs in a system call, so its memory must not be freed. */
static bool stop_thread(struct telemetry *t)
{
	struct timespec until = deadline_after(GRACE_S);
	bool ended;

	if (!t->has_thread)
		return true;
	pthread_mutex_lock(&t->lock);
	t->end = true;
	pthread_cond_broadcast(&t->wake);
	while (!t->ended && !pthread_cond_timedwait(&t->wake, &t->lock, &until))
		;
	ended = t->ended;
	pthread_mutex_unlock(&t->lock);
	if (ended)
		pthread_join(t->thread, NULL);
	else
		pthread_detach(t->thread);
	return ended;
}

/* ---- opening and closing ----------------------------------------------- */

static void clear_row(struct telemetry *t)
{
	struct telemetry_row *row = &t->row;

	memset(row, 0, sizeof(*row));
	if (gethostname(row->host, sizeof(row->host) - 1))
		snprintf(row->host, sizeof(row->host), "?");
	row->local_rank = t->comm->local_rank;
	row->local_size = t->comm->local_size;
	host_report_clear(&row->report);
}

static int telemetry_open_first(struct telemetry *t, struct err *e)
{
	size_t n = (size_t)t->comm->size;

	t->all = mem_alloc(n, sizeof(struct telemetry_row), e);
	t->order = mem_alloc(n, sizeof(*t->order), e);
	t->warned_kinds = mem_alloc(n, sizeof(*t->warned_kinds), e);
	return t->all && t->order && t->warned_kinds ? 0 : e->code;
}

struct telemetry *telemetry_open(const struct telemetry_options *how, struct comm *comm,
				 struct err *e)
{
	struct telemetry *t = mem_alloc(1, sizeof(*t), e);
	struct host_roots roots;

	if (!t)
		return NULL;
	init_lock(t);
	t->how = *how;
	t->comm = comm;
	t->reported = clock_mono_s();
	if (!(how->every_s > 0))
		return t;
	if (!comm->rank && telemetry_open_first(t, e))
		goto failed;
	if (!comm->local_rank) {
		host_roots_find(&roots);
		t->host_watcher = host_watch_open(&roots, how->network, how->workspace, e);
		if (!t->host_watcher || telemetry_start_thread(t, e))
			goto failed;
	}
	return t;
failed:
	telemetry_free(t);
	return NULL;
}

void telemetry_free(struct telemetry *t)
{
	if (!t)
		return;
	free(t->all);
	free(t->order);
	free(t->warned_kinds);
	if (!stop_thread(t))
		return; /* leak the memory that the hanging thread uses */
	host_watch_free(t->host_watcher);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- steps ------------------------------------------------------------- */

/*
 * The bytes of evaluations and checkpoints don't count: the interface's counters are read when a
 * sequence of steps begins and when it ends.
 */
void telemetry_begin(struct telemetry *t)
{
	if (!t->host_watcher || t->counting)
		return;
	host_watch_sent(t->host_watcher, &t->counted_from);
	t->counting = true;
}

void telemetry_pause(struct telemetry *t)
{
	struct host_net_sent now;

	if (!t->counting)
		return;
	host_watch_sent(t->host_watcher, &now);
	t->sent += host_net_sent_between(&t->counted_from, &now);
	t->again += t->counted_from.again_known && now.again_known
			    ? (double)now.again - (double)t->counted_from.again
			    : NAN;
	t->counting = false;
}

void telemetry_step(struct telemetry *t, const struct step_times *times)
{
	struct step_times *sum = &t->sum;

	sum->input += times->input;
	sum->compute += times->compute;
	sum->exposed += times->exposed;
	sum->wait += times->wait;
	sum->update += times->update;
	sum->step += times->step;
	sum->transfer += times->transfer;
	sum->sent_bytes += times->sent_bytes;
	sum->wire_ratio += times->wire_ratio;
	t->steps++;
}

bool telemetry_due(struct telemetry *t)
{
	return !t->comm->rank && t->how.every_s > 0 &&
	       clock_mono_s() - t->reported >= t->how.every_s;
}

/* ---- reports ----------------------------------------------------------- */

static void telemetry_fill_row(struct telemetry *t)
{
	struct telemetry_row *row = &t->row;
	double n = (double)t->steps;

	clear_row(t);
	row->steps = t->steps;
	if (t->steps)
		row->mean = (struct step_times){
			.input = t->sum.input / n,
			.compute = t->sum.compute / n,
			.exposed = t->sum.exposed / n,
			.wait = t->sum.wait / n,
			.update = t->sum.update / n,
			.step = t->sum.step / n,
			.transfer = t->sum.transfer / n,
			.sent_bytes = t->sum.sent_bytes / n,
			.wire_ratio = t->sum.wire_ratio / n,
		};
	t->sum = (struct step_times){ 0 };
	t->steps = 0;
	if (!t->host_watcher)
		return;
	telemetry_pause(t);
	host_watch_collect(t->host_watcher, &row->report, row->gpus, HOST_GPUS_MAX);
	row->report.tx_step_bytes = n > 0 ? t->sent / n : NAN;
	row->report.retransmits_step = n > 0 && isfinite(t->again) ? fmax(t->again, 0) / n : NAN;
	t->sent = t->again = 0;
	if (!row->report.trouble[0])
		snprintf(row->report.trouble, sizeof(row->report.trouble), "%.199s",
			 host_watch_trouble(t->host_watcher));
}

/* Write a warning, once for each rank and kind; kind: a GPU, or HOST_GPUS_MAX for the host. */
static int telemetry_warn_once(struct telemetry *t, int rank, int kind, const char *text,
			       int64_t step, struct journal *j, struct err *e)
{
	assert(kind >= 0 && kind < 32 && rank >= 0 && rank < t->comm->size);
	if (t->warned_kinds[rank] & (1u << kind))
		return 0;
	t->warned_kinds[rank] |= 1u << kind;
	return journal_write_event(j, "warning", step, text, e);
}

static int telemetry_warn_of_hosts(struct telemetry *t, const struct telemetry_rows *rows,
				   int64_t step, struct journal *j, struct err *e)
{
	char text[400];
	int rc = 0;

	for (int i = 0; !rc && i < rows->n; i++) {
		const struct telemetry_row *row = telemetry_row(rows, i);

		if (row->report.trouble[0]) {
			snprintf(text, sizeof(text), "%.63s: %.199s", row->host,
				 row->report.trouble);
			rc = telemetry_warn_once(t, i, HOST_GPUS_MAX, text, step, j, e);
		}
		for (int k = 0; !rc && k < row->report.n_gpus; k++)
			if (row->gpus[k].lost) {
				snprintf(text, sizeof(text),
					 "%.63s: GPU %d does not respond: it fell off the bus or "
					 "needs a reset; end its processes and restart the host",
					 row->host, k);
				rc = telemetry_warn_once(t, i, k, text, step, j, e);
			}
	}
	return rc;
}

int telemetry_report(struct telemetry *t, int64_t step, struct journal *journal, struct err *e)
{
	struct comm *c = t->comm;
	struct telemetry_rows rows = { .bytes = t->all, .n = c->size };
	int64_t most_gpus;

	if (!(t->how.every_s > 0))
		return 0;
	telemetry_fill_row(t);
	most_gpus = t->row.report.n_gpus;
	if (c->max_ints(c, &most_gpus, 1, e))
		return e->code;
	/* rows of all ranks have the length that the host with the most GPUs needs */
	rows.row_bytes =
		offsetof(struct telemetry_row, gpus) + (size_t)most_gpus * sizeof(struct host_gpu);
	if (c->gather(c, &t->row, rows.row_bytes, t->all, e))
		return e->code;
	t->reported = clock_mono_s();
	if (c->rank || !journal)
		return 0;
	if (telemetry_warn_of_hosts(t, &rows, step, journal, e))
		return e->code;
	return telemetry_write(&rows, &t->how, t->order, step, journal, e);
}
