/* trainer_average.c - steps that ranks make alone; see trainer_internal.h */
#include "train/trainer_internal.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"

struct average {
	struct reduce *moments;		/* owned */
	float *base;		/* (floats) owned, the host's: weights after the last time */
	double sums[N_SUMS];		/* of this rank since then */
};

struct reduce_how average_moments_how(const struct reduce_how *weights)
{
	struct reduce_how how = *weights;

	/* levels would make moments of 0, which Adam divides by */
	how.wire = weights->wire == WIRE_FP32 ? WIRE_FP32 : WIRE_BF16;
	return how;
}

int average_open(struct trainer *t, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	const struct reduce_how how = average_moments_how(&t->reduce_how);

	t->average = mem_alloc(1, sizeof(*t->average), e);
	if (!t->average)
		return e->code;
	t->average->moments = reduce_open(t->comm, &how, e);
	t->average->base = t->average->moments ? mem_alloc_aligned(n, sizeof(float), e) : NULL;
	if (!t->average->base)
		return e->code;
	model_get_ops(t->model)->to_host(model_get_dev(t->model), t->average->base,
					 model_param_arena(t->model), n * sizeof(float));
	return model_get_ops(t->model)->sync(model_get_dev(t->model), e);
}

void average_close(struct trainer *t)
{
	if (!t->average)
		return;
	reduce_free(t->average->moments);
	free(t->average->base);
	free(t->average);
	t->average = NULL;
}

bool average_is_due(const struct trainer *t)
{
	const struct conf *c = t->conf;
	const int64_t step = t->state.step;

	return !t->average || step % c->local_steps == 0 || step % c->save_every == 0 ||
	       step % c->eval_every == 0 || step == c->steps;
}

static void scale(float *x, size_t n, float by)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= by;
}

static int average_weights(struct trainer *t, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	float *arena = model_param_arena(t->model), *change = t->mirror, *base = t->average->base,
	      *w = arena_view(t->model, arena, change, n);	/* of a GPU: where change will be */
	const float share = 1 / (float)t->comm->size;

	for (size_t i = 0; i < n; i++)
		change[i] = w[i] - base[i];
	if (reduce_all(t->reduce, change, e))
		return e->code;
	for (size_t i = 0; i < n; i++)
		w[i] = base[i] = base[i] + change[i] * share;
	arena_put(t->model, arena, w, n);
	return 0;
}

static int average_moments(struct trainer *t, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	float *view = arena_view(t->model, arena, t->mirror, n);

	if (reduce_all(t->average->moments, view, e))
		return e->code;
	scale(view, n, 1 / (float)t->comm->size);
	arena_put(t->model, arena, view, n);
	return 0;
}

int average_step(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	struct average *a = t->average;
	const double begun = clock_mono_s();

	for (int i = 0; i < N_SUMS; i++)
		a->sums[i] += sums[i];
	t->together = average_is_due(t);
	if (!t->together) {
		memset(sums, 0, N_SUMS * sizeof(*sums));
		return 0;
	}
	at_phase(t, PULSE_REDUCE);
	memcpy(sums, a->sums, sizeof(a->sums));
	memset(a->sums, 0, sizeof(a->sums));
	if (t->comm->sum_doubles(t->comm, sums, N_SUMS, e))
		return e->code;
	t->times.wait += clock_mono_s() - begun;
	if (average_weights(t, e) || average_moments(t, t->adam.first, e) ||
	    average_moments(t, t->adam.second, e))
		return e->code;
	t->times.exposed += clock_mono_s() - begun;
	t->times.transfer += reduce_take_busy(t->reduce) + reduce_take_busy(a->moments);
	t->times.sent_bytes += reduce_take_sent(t->reduce) + reduce_take_sent(a->moments);
	return 0;
}
