/* reduce.c - chooses the kind of reduction and calls its functions; see reduce.h */
#include "train/comm/reduce_internal.h"

#include <assert.h>

#include "share/base/clock.h"

struct reduce *reduce_open(struct comm *comm, const struct reduce_options *how, struct err *e)
{
	const struct reduce_kind *kind =
		how->dev && comm->gpus ? comm->gpu_reduce : &reduce_on_host;

	return kind->open(comm, how, e);
}

void reduce_free(struct reduce *r)
{
	if (r)
		r->kind->free(r);
}

void reduce_set_exact(struct reduce *r, bool is_exact)
{
	const enum wire_format w = is_exact ? WIRE_FP32 : r->how.wire;

	assert(r->how.may_be_exact || w == r->how.wire);
	if (w != r->wire)
		r->kind->set_wire(r, w);
}

void reduce_begin(struct reduce *r, float *x)
{
	r->kind->begin(r, x);
}

void reduce_ready(struct reduce *r, size_t from)
{
	assert(from <= r->how.buckets.floats);
	r->kind->ready(r, from);
}

int reduce_poll(struct reduce *r, bool *done, struct err *e)
{
	return r->kind->poll(r, done, e);
}

int reduce_all(struct reduce *r, float *x, struct err *e)
{
	const double begun = clock_mono_s();
	bool done = false;

	reduce_begin(r, x);
	reduce_ready(r, 0);
	for (;;) {
		if (reduce_poll(r, &done, e))
			return e->code;
		if (done)
			return 0;
		comm_pause(clock_mono_s() - begun);
	}
}

int reduce_all_gather(struct reduce *r, float *x, struct err *e)
{
	return r->kind->all_gather(r, x, e);
}

int reduce_numbers(struct reduce *r, double *x, size_t n, struct err *e)
{
	assert(r->kind->numbers && n <= REDUCE_NUMBERS);
	return r->kind->numbers(r, x, n, e);
}

bool reduce_backward_is_done(struct reduce *r)
{
	assert(r->kind->backward_is_done);
	return r->kind->backward_is_done(r);
}

struct reduce_counts reduce_collect(struct reduce *r)
{
	struct reduce_counts counts;

	if (r->kind->measure)
		r->kind->measure(r);
	counts = (struct reduce_counts){ r->sent, r->busy, r->exposed };
	r->sent = r->busy = r->exposed = 0;
	return counts;
}

float *reduce_error_feedback(struct reduce *r)
{
	return r->error_feedback;
}
