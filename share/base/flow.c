/* flow.c - see flow.h */
#include "share/base/flow.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "share/base/cores.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define MAX_THREADS 1024

enum state { EMPTY, MADE, DONE };

struct cell {
	enum state state;
	int rc; /* result of produce() or process(); 0 from produce(): the end */
	struct err e;
};

/* Item k of the run uses slot and cell k % n_slots. lock guards all fields after it. */
struct run {
	const struct flow *f;
	struct cell *ring; /* owned: (n_slots) */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int64_t made, begun; /* items produced; items that some worker has started */
	bool ended;	     /* produce() returned 0 or failed */
	bool stopped;	     /* consume() is not called any more */
	int next_worker;
};

static void *slot_at(const struct run *r, int64_t k)
{
	return (char *)r->f->slots + (size_t)(k % r->f->n_slots) * r->f->slot_bytes;
}

static struct cell *cell_at(const struct run *r, int64_t k)
{
	return &r->ring[k % r->f->n_slots];
}

static void *produce_all(void *argument)
{
	struct run *r = argument;
	struct cell *cell;
	bool go_on = true;

	while (go_on) {
		pthread_mutex_lock(&r->lock);
		cell = cell_at(r, r->made);
		while (cell->state != EMPTY && !r->stopped)
			pthread_cond_wait(&r->changed, &r->lock);
		go_on = !r->stopped;
		pthread_mutex_unlock(&r->lock);
		if (!go_on)
			break;
		cell->e = (struct err){ 0 };
		cell->rc = r->f->produce(r->f->context, slot_at(r, r->made), &cell->e);
		go_on = cell->rc > 0;
		pthread_mutex_lock(&r->lock);
		/* the end and a failure pass through the ring like a processed item */
		assert(cell->state == EMPTY && r->made - r->begun <= r->f->n_slots);
		cell->state = go_on ? MADE : DONE;
		r->made++;
		r->ended = !go_on;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static void *process_all(void *argument)
{
	struct run *r = argument;
	int worker;

	pthread_mutex_lock(&r->lock);
	worker = r->next_worker++;
	assert(worker < MIN(r->f->threads, MAX_THREADS)); /* the caller has one state for each */
	for (;;) {
		struct cell *cell;
		int64_t k;
		int rc;

		/* no worker starts the item that ends the run */
		while (r->begun >= r->made - r->ended && !r->ended && !r->stopped)
			pthread_cond_wait(&r->changed, &r->lock);
		if (r->stopped || r->begun >= r->made - r->ended)
			break;
		k = r->begun++;
		cell = cell_at(r, k);
		assert(cell->state == MADE);
		pthread_mutex_unlock(&r->lock);
		rc = r->f->process(r->f->context, worker, slot_at(r, k), &cell->e);
		pthread_mutex_lock(&r->lock);
		cell->rc = rc ? rc : 1;
		cell->state = DONE;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static int consume_all(struct run *r, struct err *e)
{
	int rc = 0;

	for (int64_t k = 0; !rc; k++) {
		struct cell *cell = cell_at(r, k);

		pthread_mutex_lock(&r->lock);
		while (cell->state != DONE)
			pthread_cond_wait(&r->changed, &r->lock);
		pthread_mutex_unlock(&r->lock);
		if (!cell->rc)
			break;
		if (cell->rc < 0) {
			*e = cell->e;
			rc = cell->rc;
			break;
		}
		rc = r->f->consume(r->f->context, slot_at(r, k), e);
		pthread_mutex_lock(&r->lock);
		cell->state = EMPTY;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_lock(&r->lock);
	r->stopped = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int flow_run_serial(const struct flow *f, struct err *e)
{
	int rc;

	while ((rc = f->produce(f->context, f->slots, e)) > 0) {
		rc = f->process(f->context, 0, f->slots, e);
		if (!rc)
			rc = f->consume(f->context, f->slots, e);
		if (rc)
			break;
	}
	return rc;
}

int flow_run(const struct flow *f, struct err *e)
{
	struct run r = { .f = f,
			 .lock = PTHREAD_MUTEX_INITIALIZER,
			 .changed = PTHREAD_COND_INITIALIZER };
	pthread_t *threads;
	int n = 0, wanted = 1 + MIN(f->threads, MAX_THREADS), rc = 0;

	assert(f->produce && f->process && f->consume && f->n_slots >= 1);
	if (f->threads <= 0)
		return flow_run_serial(f, e);
	r.ring = mem_alloc((size_t)f->n_slots, sizeof(*r.ring), e);
	threads = r.ring ? mem_alloc((size_t)wanted, sizeof(*threads), e) : NULL;
	if (!threads) {
		free(r.ring);
		return e->code;
	}
	while (n < wanted && !pthread_create(&threads[n], NULL, n ? process_all : produce_all, &r))
		n++;
	if (n < 2) {
		pthread_mutex_lock(&r.lock);
		r.stopped = true;
		pthread_cond_broadcast(&r.changed);
		pthread_mutex_unlock(&r.lock);
		rc = err_set(e, ERR_NOMEM,
			     "cannot start two threads: raise the limit of processes (ulimit -u)");
	} else {
		rc = consume_all(&r, e); /* fewer workers than requested are enough */
	}
	while (n)
		pthread_join(threads[--n], NULL);
	free(threads);
	free(r.ring);
	return rc;
}

int flow_threads(int asked)
{
	return MIN(asked > 0 ? asked : cores_count(), MAX_THREADS);
}
