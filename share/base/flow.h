/*
 * flow.h - work spread over threads whose results keep their order.
 *
 *	make -> a ring of slots -> work, several at once -> take, in the order of make
 *
 *	static int make(void *context, void *slot, struct err *e) …		1: filled; 0: no more; < 0: failure
 *	static int work(void *context, int worker, void *slot, struct err *e) …	0, or failure
 *	static int take(void *context, void *slot, struct err *e) …		0, or failure
 *	struct flow f = { make, work, take, &context, slots, sizeof(*slots), n_slots, threads };
 *	rc = flow_run(&f, e);
 *
 * make runs on a thread of its own, work on as many as asked for (worker is
 * 0 … threads - 1, so that each may have tools of its own), take on the calling
 * thread. So each may use its own part of context without locks; what they
 * share must not change. The ring bounds the memory: make waits while all
 * slots are in use. A slot comes back to make as take left it: buffers in it
 * are reused, and freed by the caller at the end.
 *
 * The outcome does not depend on the number of threads: after a failure
 * everything before it has been taken and nothing behind it, and of several
 * failures the one of the earliest slot is reported.
 */
#ifndef WERKBANK_BASE_FLOW_H
#define WERKBANK_BASE_FLOW_H

#include <stddef.h>

#include "share/base/err.h"

struct flow {
	int (*produce)(void *context, void *slot, struct err *e);
	int (*process)(void *context, int worker, void *slot, struct err *e);
	int (*consume)(void *context, void *slot, struct err *e);
	void *context;
	void *slots;	   /* the ring: an array of the caller's */
	size_t slot_bytes; /* of one of them */
	int n_slots;	   /* threads + 2 is a good number */
	int threads;	   /* for work; 0: all on the calling thread, slot after slot */
};

/* 0, or the failure. No thread can be started: ERR_NOMEM. */
int flow_run(const struct flow *f, struct err *e);

/* Threads for work: asked, or (0) one for each processor this process may use. */
int flow_threads(int asked);

#endif
