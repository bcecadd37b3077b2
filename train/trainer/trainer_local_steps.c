/* trainer_local_steps.c - steps of each rank alone, between averages of the weights; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"

struct local_steps {
	struct reduce *moments; /* owned: reduction of moments */
	float *base;		/* (floats) owned, backend's memory: weights of the last average */
	double sums[N_SUMS];	/* of this rank since the last average */
};

struct reduce_options local_steps_moment_options(const struct reduce_options *weights)
{
	struct reduce_options how = *weights;

	/* not 2bit or 1bit: their levels would change second moments to 0, and Adam divides by them */
	how.wire = weights->wire == WIRE_FP32 ? WIRE_FP32 : WIRE_BF16;
	return how;
}

/* ---- flat arrays in the backend's memory --------------------------------- */

#define COLUMNS 4096 /* arrays are added as matrices, whose rows a backend divides among threads */

/* x += y */
static void add_arenas(const struct trainer *t, float *x, float *y)
{
	const struct ops *o = model_get_ops(t->model);
	const int64_t n = model_floats(t->model), rows = n / COLUMNS, rest = n - rows * COLUMNS;

	if (rows)
		o->add(model_get_dev(t->model), tensor_f32(x, rows, COLUMNS),
		       tensor_f32(y, rows, COLUMNS));
	x += n - rest;
	y += n - rest;
	if (rest)
		o->add(model_get_dev(t->model), tensor_f32(x, 1, rest), tensor_f32(y, 1, rest));
}

static void clear_arena(const struct trainer *t, float *x)
{
	model_get_ops(t->model)->zero(model_get_dev(t->model), x,
				      (size_t)model_floats(t->model) * sizeof(*x));
}

static void scale_arena(const struct trainer *t, float *x, float by)
{
	model_get_ops(t->model)->scale(model_get_dev(t->model), x, model_floats(t->model), by);
}

/* ---- opening and closing ------------------------------------------------- */

int local_steps_open(struct trainer *t, struct err *e)
{
	const size_t bytes = (size_t)model_floats(t->model) * sizeof(float);
	const struct reduce_options how = local_steps_moment_options(&t->ranks.reduce_options);
	struct local_steps *a = t->ranks.local_steps =
		mem_alloc(1, sizeof(*t->ranks.local_steps), e);

	if (!a)
		return e->code;
	a->moments = reduce_open(t->comm, &how, e);
	if (a->moments)
		a->base = model_get_ops(t->model)->alloc(model_get_dev(t->model), bytes, e);
	if (!a->base)
		return e->code;
	add_arenas(t, a->base, model_param_arena(t->model));
	return 0;
}

void local_steps_close(struct trainer *t)
{
	if (!t->ranks.local_steps)
		return;
	reduce_free(t->ranks.local_steps->moments);
	if (t->ranks.local_steps->base)
		model_get_ops(t->model)->release(model_get_dev(t->model),
						 t->ranks.local_steps->base);
	free(t->ranks.local_steps);
	t->ranks.local_steps = NULL;
}

bool local_steps_is_due(const struct trainer *t)
{
	const struct conf *c = t->conf;
	const int64_t step = t->state.step;

	return !t->ranks.local_steps || step % c->local_steps == 0 || step % c->save_every == 0 ||
	       step % c->eval_every == 0 || step == c->steps;
}

/*
 * base += mean over ranks of (weights - base); weights = base. The changes are computed in the
 * gradient array, by separate ops: a backend could fuse a combined expression, and ranks on
 * different hosts would get different bits.
 */
static int local_steps_mean_weights(struct trainer *t, struct err *e)
{
	float *w = model_param_arena(t->model), *base = t->ranks.local_steps->base,
	      *change = model_grad_arena(t->model);

	clear_arena(t, change);
	add_arenas(t, change, base);
	scale_arena(t, change, -1);
	add_arenas(t, change, w);
	if (staging_all_reduce(t, t->ranks.reduce, change, e))
		return e->code;
	scale_arena(t, change, 1 / (float)t->comm->size);
	add_arenas(t, base, change);
	clear_arena(t, w);
	add_arenas(t, w, base);
	return 0;
}

static int local_steps_mean_moments(struct trainer *t, float *arena, struct err *e)
{
	if (staging_all_reduce(t, t->ranks.local_steps->moments, arena, e))
		return e->code;
	scale_arena(t, arena, 1 / (float)t->comm->size);
	return 0;
}

int local_steps_end_step(struct trainer *t, double sums[N_SUMS], struct err *e)
{
	struct local_steps *a = t->ranks.local_steps;
	const double begun = clock_mono_s();

	assert(a);
	for (int i = 0; i < N_SUMS; i++)
		a->sums[i] += sums[i];
	t->ranks.in_sync = local_steps_is_due(t);
	if (!t->ranks.in_sync) {
		memset(sums, 0, N_SUMS * sizeof(*sums));
		return 0;
	}
	trainer_at_phase(t, PHASE_REDUCE);
	memcpy(sums, a->sums, sizeof(a->sums));
	memset(a->sums, 0, sizeof(a->sums));
	if (t->comm->sum_doubles(t->comm, sums, N_SUMS, e))
		return e->code;
	t->last_step.times.wait += clock_mono_s() - begun;
	if (local_steps_mean_weights(t, e) || local_steps_mean_moments(t, t->adam.first, e) ||
	    local_steps_mean_moments(t, t->adam.second, e) || staging_synchronise(t, e))
		return e->code;
	t->last_step.times.exposed += clock_mono_s() - begun;
	t->last_step.times.transfer +=
		reduce_collect_busy(t->ranks.reduce) + reduce_collect_busy(a->moments);
	t->last_step.times.sent_bytes +=
		reduce_collect_sent(t->ranks.reduce) + reduce_collect_sent(a->moments);
	return 0;
}
