/* trainer_staging.c - what ranks exchange, where a GPU computes; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/comm/comm_nccl.h"

int mirror_open(struct trainer *t, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);

	if (t->comm->size == 1)
		return 0;
	t->mirror = arena_is_host(t->model) ? model_grad_arena(t->model)
					    : mem_alloc_aligned(n, sizeof(*t->mirror), e);
	return t->mirror ? 0 : e->code;
}

void mirror_close(struct trainer *t)
{
	if (t->mirror && t->mirror != model_grad_arena(t->model))
		free(t->mirror);
	t->mirror = NULL;
}

size_t mirror_memory(const struct trainer *t, bool own_memory)
{
	return t->comm->size > 1 && own_memory ? t->reduce_how.buckets.floats * sizeof(float) : 0;
}

int mirror_connect(struct trainer *t, struct err *e)
{
	const struct ops *o = model_get_ops(t->model);

	if (t->comm->size == 1 || !o->open_queue)
		return 0;
	if (!comm_nccl_open(t->comm, e)) {
		t->reduce_how.ops = o;
		t->reduce_how.dev = model_get_dev(t->model);
		return 0;
	}
	if (e->code != ERR_UNAVAILABLE)
		return e->code;
	report_event(t, "info", "gradients go by way of the hosts' memory: %s", e->text);
	e->code = 0;
	return 0;
}

/* Do gradients pass through the mirror? */
static bool is_between(const struct trainer *t)
{
	return !arena_is_host(t->model) && !t->reduce_how.dev;
}

float *mirror_of_gradients(struct trainer *t)
{
	return t->reduce_how.dev ? model_grad_arena(t->model) : t->mirror;
}

int mirror_broadcast(struct trainer *t, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	float *view = arena_is_host(t->model) ? arena : t->mirror;

	if (is_first(t))
		view = arena_view(t->model, arena, t->mirror, n);
	if (t->comm->broadcast(t->comm, view, n * sizeof(*view), 0, e))
		return e->code;
	if (!is_first(t))
		arena_put(t->model, arena, view, n);
	return 0;
}

int mirror_settle(struct trainer *t, struct err *e)
{
	return model_get_ops(t->model)->sync(model_get_dev(t->model), e) ||
			       t->comm->check(t->comm, e)
		       ? e->code
		       : 0;
}

int mirror_sum(struct trainer *t, struct reduce *r, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	float *view = is_between(t) ? arena_view(t->model, arena, t->mirror, n) : arena;

	if (reduce_all(r, view, e))
		return e->code;
	arena_put(t->model, arena, view, n);
	return 0;
}

const float *mirror_of_residual(struct trainer *t)
{
	const float *own = reduce_residual(t->reduce);

	return t->reduce_how.dev ? arena_look(t->model, own, t->mirror,
					      (size_t)model_floats(t->model))
				 : own;
}

void mirror_set_residual(struct trainer *t)
{
	const size_t n = (size_t)model_floats(t->model);
	float *own = reduce_residual(t->reduce);

	if (t->reduce_how.dev)
		arena_put(t->model, own, t->mirror, n);
	else
		memcpy(own, t->mirror, n * sizeof(*own));
}

/* The pieces of this rank, between arena and mirror. */
static void take_own(struct trainer *t, const float *arena)
{
	const struct buckets *b = &t->reduce_how.buckets;

	for (size_t i = 0; i < b->count; i++) {
		const struct range p = buckets_piece(b, i, t->comm->rank);

		(void)arena_look(t->model, arena + p.at, t->mirror + p.at, p.n);
	}
}

int mirror_spread(struct trainer *t, float *arena, struct err *e)
{
	if (!is_between(t))
		return reduce_spread(t->reduce, arena, e);
	take_own(t, arena);
	if (reduce_spread(t->reduce, t->mirror, e))
		return e->code;
	arena_put(t->model, arena, t->mirror, (size_t)model_floats(t->model));
	return 0;
}

/* Bucket by bucket: the first are under way while others are still copied. */
void mirror_take_gradients(struct trainer *t)
{
	const struct buckets *b = &t->reduce_how.buckets;
	const float *arena = model_grad_arena(t->model);

	for (size_t i = 0; i < b->count && is_between(t); i++) {
		const struct range r = buckets_at(b, i);

		(void)arena_look(t->model, arena + r.at, t->mirror + r.at, r.n);
		reduce_ready(t->reduce, r.at);
	}
}

void mirror_put_gradients(struct trainer *t)
{
	const struct buckets *b = &t->reduce_how.buckets;
	float *arena = model_grad_arena(t->model);

	for (size_t i = 0; i < b->count && is_between(t); i++) {
		const struct range r = t->reduce_how.shards ? buckets_piece(b, i, t->comm->rank)
							    : buckets_at(b, i);

		arena_put(t->model, arena + r.at, t->mirror + r.at, r.n);
	}
}
