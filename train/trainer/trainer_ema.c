/* trainer_ema.c - the moving average of weights; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <stdlib.h>

#include "share/base/mem.h"

size_t trainer_ema_memory(const struct trainer *t)
{
	const struct buckets *b = &t->reduce_options.buckets;

	if (t->conf->ema <= 0)
		return 0;
	return ema_memory(t->comm->size > 1 ? buckets_owned(b, t->comm->rank) : b->floats);
}

/* Whole on one rank, else the pieces that this one owns. */
static int open_parts(struct trainer *t, struct err *e)
{
	const struct buckets *b = &t->reduce_options.buckets;
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

/* The average that the checkpoint has passes through the arena of gradients. */
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
	if (open_parts(t, e) ||
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
	t->unaveraged++;
	if (!t->in_sync)
		return;
	ema_update(t->ema, t->state.step, t->unaveraged);
	t->unaveraged = 0;
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
	reduce_collect_sent(t->reduce); /* no part of a step */
	reduce_collect_busy(t->reduce);
	reduce_collect_exposed(t->reduce);
	*whole = arena;
	return 0;
}
