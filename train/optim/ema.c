/*
 * ema.c - an exponential moving average of the weights; see ema.h
 *
 * One op a range: average += (1 - decay) (weights - average). If n steps were made since the last
 * update, as with local steps, the decays of these steps are multiplied first: the average moves as
 * far as n updates with unchanged weights would have moved it.
 */
#include "train/optim/ema.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "share/base/mem.h"

struct ema {
	struct model *model; /* borrowed */
	float *average;	     /* (floats) owned, in the backend's memory */
	struct range *parts; /* (n) owned */
	size_t n, floats;
	double decay;
};

size_t ema_memory(size_t floats)
{
	return floats * sizeof(float); /* no overflow: the parameters themselves are in memory */
}

struct ema *ema_open(struct model *m, double decay, const struct range *parts, size_t n,
		     struct err *e)
{
	struct ema *a = mem_alloc(1, sizeof(*a), e);

	if (!a)
		return NULL;
	a->model = m;
	a->decay = decay;
	a->parts = mem_alloc(n, sizeof(*a->parts), e);
	for (; a->parts && a->n < n; a->n++) {
		a->parts[a->n] = parts[a->n];
		a->floats += parts[a->n].n;
	}
	if (a->parts)
		a->average = model_get_ops(m)->alloc(model_get_dev(m),
						     ema_memory(MAX(a->floats, (size_t)1)), e);
	if (a->average)
		return a;
	ema_free(a);
	return NULL;
}

void ema_free(struct ema *a)
{
	if (!a)
		return;
	if (a->average)
		model_get_ops(a->model)->release(model_get_dev(a->model), a->average);
	free(a->parts);
	free(a);
}

static void ema_blend_parts(struct ema *a, const float *arena, float share)
{
	float *average = a->average;

	for (size_t i = 0; i < a->n; i++) {
		const struct range p = a->parts[i];

		if (p.n)
			model_get_ops(a->model)->blend(model_get_dev(a->model), average,
						       arena + p.at, (int64_t)p.n, share);
		average += p.n;
	}
}

/* x = y by the op blend: 0 + 1 * (y - 0) has the same bits as y. */
static void ema_copy_floats(const struct ema *a, float *x, const float *y, size_t n)
{
	const struct ops *o = model_get_ops(a->model);

	if (!n)
		return;
	o->zero(model_get_dev(a->model), x, n * sizeof(*x));
	o->blend(model_get_dev(a->model), x, y, (int64_t)n, 1);
}

void ema_set_from_arena(struct ema *a, const float *arena)
{
	float *average = a->average;

	for (size_t i = 0; i < a->n; i++) {
		ema_copy_floats(a, average, arena + a->parts[i].at, a->parts[i].n);
		average += a->parts[i].n;
	}
}

void ema_update(struct ema *a, int64_t step, int64_t steps)
{
	double decay = 1; /* of all these steps together */

	assert(steps >= 1 && steps <= step);
	for (int64_t t = step - steps + 1; t <= step; t++)
		decay *= fmin(a->decay, (1 + (double)t) / (10 + (double)t));
	ema_blend_parts(a, model_param_read(a->model), (float)(1 - decay));
}

void ema_copy_to_arena(const struct ema *a, float *arena)
{
	const float *from = a->average;

	for (size_t i = 0; i < a->n; i++) {
		ema_copy_floats(a, arena + a->parts[i].at, from, a->parts[i].n);
		from += a->parts[i].n;
	}
}

const float *ema_arena(const struct ema *a)
{
	return a->average;
}
