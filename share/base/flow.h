/*
 * flow.h - a pipeline on threads that keeps the order of its items.
 *
 *	produce -> ring of slots -> process (several threads) -> consume, in the order of produce
 *
 *	static int produce(void *context, void *slot, struct err *e) …		1: filled; 0: no more; < 0: failure
 *	static int process(void *context, int worker, void *slot, struct err *e) …	0, or failure
 *	static int consume(void *context, void *slot, struct err *e) …		0, or failure
 *	struct flow f = { produce, process, consume, &context, slots, sizeof(*slots), n_slots, threads };
 *	rc = flow_run(&f, e);
 *
 * produce() runs on one thread, process() on `threads` threads (worker is 0 … threads - 1, an
 * index of per-thread state), consume() on the calling thread. Each of the three may change its
 * own part of context without locks; shared parts are read-only. The ring bounds the memory:
 * produce() waits while all slots are in use. A slot returns to produce() as consume() left it:
 * its buffers are reused, and the caller frees them at the end.
 *
 * The result does not depend on the number of threads. After a failure every item before it was
 * consumed and none after it; of several failures the one of the earliest item is reported.
 */
#ifndef WERKBANK_SHARE_BASE_FLOW_H
#define WERKBANK_SHARE_BASE_FLOW_H

#include <stddef.h>

#include "share/base/err.h"

struct flow {
	int (*produce)(void *context, void *slot, struct err *e);
	int (*process)(void *context, int worker, void *slot, struct err *e);
	int (*consume)(void *context, void *slot, struct err *e);
	void *context;
	void *slots;	   /* the ring: an array owned by the caller */
	size_t slot_bytes; /* size of one slot */
	int n_slots;	   /* threads + 2 is a good number */
	int threads;	   /* of process(); 0: everything on the calling thread */
};

/* 0, or the code of the failure. ERR_NOMEM: a thread cannot be started. */
int flow_run(const struct flow *f, struct err *e);

/* Number of threads to use: asked, or (0) the number of CPUs this process may run on. */
int flow_threads(int asked);

#endif
