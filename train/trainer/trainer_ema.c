/* trainer_ema.c - the moving average of the weights; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "share/base/mem.h"

size_t trainer_ema_memory(const struct trainer *t)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;

	if (t->conf->ema <= 0)
		return 0;
	return ema_memory(t->comm->size > 1 ? buckets_owned(b, t->comm->rank) : b->floats);
}

/* With one rank the average of all weights, else of the pieces that this rank owns. */
static int open_ema_parts(struct trainer *t, struct err *e)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;
	const size_t n = t->comm->size > 1 ? b->count : 1;
	struct range *parts = mem_alloc(n, sizeof(*parts), e);

	if (!parts)
		return e->code;
	parts[0] = (struct range){ 0, b->floats };
	for (size_t i = 0; t->comm->size > 1 && i < n; i++)
		parts[i] = buckets_piece(b, i, t->comm->rank);
	t->ema = ema_open(t->model, t->conf->ema, parts, n, e);
	free(parts);
	return t->ema ? 0 : e->code;
}

/* The average of the checkpoint; it passes through the gradient array. */
static int load_average(struct trainer *t, struct err *e)
{
	float *arena = model_grad_arena(t->model);

	if (trainer_is_first(t) && ckpt_load_average(t->resumed, t->model, arena, e))
		return e->code;
	if (t->comm->size > 1 && staging_broadcast(t, arena, e))
		return e->code;
	ema_set_from_arena(t->ema, arena);
	return 0;
}

int trainer_ema_open(struct trainer *t, struct err *e)
{
	if (t->conf->ema <= 0)
		return 0;
	if (open_ema_parts(t, e) ||
	    t->comm->broadcast(t->comm, &t->resumed_average, sizeof(t->resumed_average), 0, e))
		return e->code;
	if (t->resumed_average)
		return load_average(t, e);
	ema_set_from_arena(t->ema, model_param_arena(t->model));
	return 0;
}

void trainer_ema_step(struct trainer *t)
{
	if (!t->ema)
		return;
	t->ema_pending_steps++;
	if (!t->ranks.in_sync)
		return;
	assert(t->ema_pending_steps <= t->state.step);
	ema_update(t->ema, t->state.step, t->ema_pending_steps);
	t->ema_pending_steps = 0;
}

int trainer_ema_gather(struct trainer *t, const float **whole, struct err *e)
{
	float *arena = model_grad_arena(t->model);

	*whole = t->ema ? ema_arena(t->ema) : NULL;
	if (!t->ema || t->comm->size == 1)
		return 0;
	ema_copy_to_arena(t->ema, arena);
	if (staging_all_gather(t, arena, e) || staging_synchronise(t, e))
		return e->code;
	/* discard the counters of this all-gather: it is not part of a step */
	reduce_collect_sent(t->ranks.reduce);
	reduce_collect_busy(t->ranks.reduce);
	reduce_collect_exposed(t->ranks.reduce);
	*whole = arena;
	return 0;
}
