/* local_steps.c - see local_steps.h */
#include "train/trainer/local_steps.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/clock.h"
#include "share/base/mem.h"

struct local_steps {
	const struct conf *conf;  /* borrowed */
	const struct exchange *x; /* borrowed */
	struct adam *adam;	  /* borrowed */
	struct reduce *moments;	  /* owned: reduction of moments */
	float *base;	     /* (floats) owned, backend's memory: weights of the last average */
	double sums[N_SUMS]; /* of this rank since the last average */
};

struct reduce_options local_steps_moment_options(const struct reduce_options *weights)
{
	struct reduce_options how = *weights;

	/* no levels or scales: they would change small second moments to 0, and Adam divides by them */
	how.wire = weights->wire == WIRE_FP32 ? WIRE_FP32 : WIRE_BF16;
	how.may_be_exact = false;
	return how;
}

/* ---- flat arrays in the backend's memory --------------------------------- */

#define COLUMNS 4096 /* arrays are added as matrices, whose rows a backend divides among threads */

/* x += y */
static void add_arenas(struct model *m, float *x, float *y)
{
	const struct ops *o = model_get_ops(m);
	const int64_t n = model_floats(m), rows = n / COLUMNS, rest = n - rows * COLUMNS;

	if (rows)
		o->add(model_get_dev(m), tensor_f32(x, rows, COLUMNS),
		       tensor_f32(y, rows, COLUMNS));
	x += n - rest;
	y += n - rest;
	if (rest)
		o->add(model_get_dev(m), tensor_f32(x, 1, rest), tensor_f32(y, 1, rest));
}

static void clear_arena(struct model *m, float *x)
{
	model_get_ops(m)->zero(model_get_dev(m), x, (size_t)model_floats(m) * sizeof(*x));
}

static void scale_arena(struct model *m, float *x, float by)
{
	model_get_ops(m)->scale(model_get_dev(m), x, model_floats(m), by);
}

/* ---- opening and closing ------------------------------------------------- */

struct local_steps *local_steps_open(const struct conf *c, const struct exchange *x,
				     struct adam *adam, struct err *e)
{
	const size_t bytes = (size_t)model_floats(x->model) * sizeof(float);
	const struct reduce_options how = local_steps_moment_options(&x->options);
	struct local_steps *a = mem_alloc(1, sizeof(*a), e);

	if (!a)
		return NULL;
	*a = (struct local_steps){ .conf = c, .x = x, .adam = adam };
	a->moments = reduce_open(x->comm, &how, e);
	if (a->moments)
		a->base = model_get_ops(x->model)->alloc(model_get_dev(x->model), bytes, e);
	if (!a->base) {
		local_steps_close(a);
		return NULL;
	}
	add_arenas(x->model, a->base, model_param_arena(x->model));
	return a;
}

void local_steps_close(struct local_steps *a)
{
	if (!a)
		return;
	reduce_free(a->moments);
	if (a->base)
		model_get_ops(a->x->model)->release(model_get_dev(a->x->model), a->base);
	free(a);
}

bool local_steps_is_due(const struct local_steps *a, int64_t step)
{
	const struct conf *c = a ? a->conf : NULL;

	return !a || step % c->local_steps == 0 || step % c->save_every == 0 ||
	       step % c->eval_every == 0 || step == c->steps;
}

/*
 * base += mean over ranks of (weights - base); weights = base. The changes are computed in the
 * gradient array, by separate ops: a backend could fuse a combined expression, and ranks on
 * different hosts would get different bits.
 */
static int local_steps_mean_weights(struct local_steps *a, struct err *e)
{
	struct model *m = a->x->model;
	float *w = model_param_arena(m), *change = model_grad_arena(m);

	clear_arena(m, change);
	add_arenas(m, change, a->base);
	scale_arena(m, change, -1);
	add_arenas(m, change, w);
	if (exchange_all_reduce(a->x, a->x->reduce, change, e))
		return e->code;
	scale_arena(m, change, 1 / (float)a->x->comm->size);
	add_arenas(m, a->base, change);
	clear_arena(m, w);
	add_arenas(m, w, a->base);
	return 0;
}

static int local_steps_mean_moments(struct local_steps *a, float *arena, struct err *e)
{
	if (exchange_all_reduce(a->x, a->moments, arena, e))
		return e->code;
	scale_arena(a->x->model, arena, 1 / (float)a->x->comm->size);
	return 0;
}

int local_steps_end_step(struct local_steps *a, int64_t step, double sums[N_SUMS],
			 struct step_times *times, struct err *e)
{
	const double begun = clock_mono_s();
	struct reduce_counts weights, moments;

	for (int i = 0; i < N_SUMS; i++)
		a->sums[i] += sums[i];
	if (!local_steps_is_due(a, step)) {
		memset(sums, 0, sizeof(a->sums));
		return 0;
	}
	memcpy(sums, a->sums, sizeof(a->sums));
	memset(a->sums, 0, sizeof(a->sums));
	if (a->x->comm->sum_doubles(a->x->comm, sums, N_SUMS, e))
		return e->code;
	times->wait += clock_mono_s() - begun;
	if (local_steps_mean_weights(a, e) || local_steps_mean_moments(a, a->adam->first, e) ||
	    local_steps_mean_moments(a, a->adam->second, e) || exchange_synchronise(a->x, e))
		return e->code;
	times->exposed += clock_mono_s() - begun;
	weights = reduce_collect(a->x->reduce);
	moments = reduce_collect(a->moments);
	times->transfer += weights.busy_s + moments.busy_s;
	times->sent_bytes += weights.sent_bytes + moments.sent_bytes;
	return 0;
}
