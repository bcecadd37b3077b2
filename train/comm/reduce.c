/* reduce.c - see reduce.h: which kind it is */
#include "train/comm/reduce_internal.h"

#include "share/base/clock.h"

struct reduce *reduce_open(struct comm *comm, const struct reduce_how *how, struct err *e)
{
	const struct reduce_kind *kind = how->dev && comm->gpus ? comm->gpu_reduce
								: &reduce_on_host;

	return kind->open(comm, how, e);
}

void reduce_free(struct reduce *r)
{
	if (r)
		r->kind->free(r);
}

void reduce_begin(struct reduce *r, float *x)
{
	r->kind->begin(r, x);
}

void reduce_ready(struct reduce *r, size_t from)
{
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

int reduce_spread(struct reduce *r, float *x, struct err *e)
{
	return r->kind->spread(r, x, e);
}

int reduce_numbers(struct reduce *r, double *x, size_t n, struct err *e)
{
	return r->kind->numbers(r, x, n, e);
}

bool reduce_is_reached(struct reduce *r)
{
	return r->kind->is_reached(r);
}

static void measure(struct reduce *r)
{
	if (r->kind->measure)
		r->kind->measure(r);
}

double reduce_take_sent(struct reduce *r)
{
	const double sent = r->sent;

	r->sent = 0;
	return sent;
}

double reduce_take_busy(struct reduce *r)
{
	double busy;

	measure(r);
	busy = r->busy;
	r->busy = 0;
	return busy;
}

double reduce_take_exposed(struct reduce *r)
{
	double exposed;

	measure(r);
	exposed = r->exposed;
	r->exposed = 0;
	return exposed;
}

float *reduce_residual(struct reduce *r)
{
	return r->residual;
}
