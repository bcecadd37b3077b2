/* weight_average.c - see weight_average.h */
#include "train/trainer/weight_average.h"

#include <assert.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "train/ckpt/ckpt.h"

size_t weight_average_memory(const struct exchange *x, double decay)
{
	const struct buckets *b = &x->options.buckets;

	if (decay <= 0)
		return 0;
	return ema_memory(x->comm->size > 1 ? buckets_owned(b, x->comm->rank) : b->floats);
}

/* The average of the checkpoint; it passes through the gradient array. resumed: first rank. */
static int load_average(struct weight_average *a, const struct exchange *x, const char *resumed,
			struct err *e)
{
	float *arena = model_grad_arena(x->model);

	if (resumed && ckpt_load_average(resumed, x->model, arena, e))
		return e->code;
	if (x->comm->size > 1 && exchange_broadcast(x, arena, e))
		return e->code;
	ema_set_from_arena(a->ema, arena);
	return 0;
}

/* With one rank the average of all weights, else of the pieces that this rank owns. */
int weight_average_open(struct weight_average *a, const struct exchange *x, double decay,
			const char *resumed, struct err *e)
{
	const struct range all = { 0, x->options.buckets.floats };
	const bool is_alone = x->comm->size == 1;
	bool is_resumed = resumed != NULL;

	if (decay <= 0)
		return 0;
	a->ema = ema_open(x->model, decay, is_alone ? &all : x->own_pieces,
			  is_alone ? 1 : x->options.buckets.count, e);
	if (!a->ema || x->comm->broadcast(x->comm, &is_resumed, sizeof(is_resumed), 0, e))
		return e->code;
	if (is_resumed)
		return load_average(a, x, resumed, e);
	ema_set_from_arena(a->ema, model_param_arena(x->model));
	return 0;
}

void weight_average_step(struct weight_average *a, int64_t step, bool in_sync)
{
	if (!a->ema)
		return;
	a->pending_steps++;
	if (!in_sync)
		return;
	assert(a->pending_steps <= step);
	ema_update(a->ema, step, a->pending_steps);
	a->pending_steps = 0;
}

int weight_average_gather(const struct weight_average *a, const struct exchange *x,
			  const float **whole, struct err *e)
{
	float *arena = model_grad_arena(x->model);

	*whole = a->ema ? ema_arena(a->ema) : NULL;
	if (!a->ema || x->comm->size == 1)
		return 0;
	ema_copy_to_arena(a->ema, arena);
	if (exchange_all_gather(x, arena, e) || exchange_synchronise(x, e))
		return e->code;
	/* discard the counters of this all-gather: it is not part of a step */
	(void)reduce_collect(x->reduce);
	*whole = arena;
	return 0;
}
