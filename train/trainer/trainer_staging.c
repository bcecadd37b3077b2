/* trainer_staging.c - exchange of arrays between ranks through host memory; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/comm/comm_nccl.h"

int staging_open(struct trainer *t, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);

	if (t->comm->size == 1)
		return 0;
	t->ranks.staging = arena_is_host(t->model)
				   ? model_grad_arena(t->model)
				   : mem_alloc_aligned(n, sizeof(*t->ranks.staging), e);
	return t->ranks.staging ? 0 : e->code;
}

void staging_close(struct trainer *t)
{
	if (t->ranks.staging && t->ranks.staging != model_grad_arena(t->model))
		free(t->ranks.staging);
	t->ranks.staging = NULL;
}

size_t staging_memory(const struct trainer *t, bool has_device_memory)
{
	return t->comm->size > 1 && has_device_memory
		       ? t->ranks.reduce_options.buckets.floats * sizeof(float)
		       : 0;
}

int staging_connect_gpus(struct trainer *t, struct err *e)
{
	const struct ops *o = model_get_ops(t->model);

	if (t->comm->size == 1 || !o->open_queue)
		return 0;
	if (!comm_nccl_open(t->comm, e)) {
		t->ranks.reduce_options.ops = o;
		t->ranks.reduce_options.dev = model_get_dev(t->model);
		return 0;
	}
	if (e->code != ERR_UNAVAILABLE)
		return e->code;
	report_event(t, "info", "gradients go through host memory: %s", e->text);
	e->code = 0;
	return 0;
}

/* Do gradients and weights pass through the staging buffer? */
static bool staging_is_needed(const struct trainer *t)
{
	return !arena_is_host(t->model) && !t->ranks.reduce_options.dev;
}

float *staging_gradients(struct trainer *t)
{
	return t->ranks.reduce_options.dev ? model_grad_arena(t->model) : t->ranks.staging;
}

int staging_broadcast(struct trainer *t, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	float *view = arena_is_host(t->model) ? arena : t->ranks.staging;

	assert(t->comm->size > 1);
	if (trainer_is_first(t))
		view = arena_view(t->model, arena, t->ranks.staging, n);
	if (t->comm->broadcast(t->comm, view, n * sizeof(*view), 0, e))
		return e->code;
	if (!trainer_is_first(t))
		arena_write_back(t->model, arena, view, n);
	return 0;
}

int staging_synchronise(struct trainer *t, struct err *e)
{
	return model_get_ops(t->model)->sync(model_get_dev(t->model), e) ||
			       t->comm->check(t->comm, e)
		       ? e->code
		       : 0;
}

int staging_all_reduce(struct trainer *t, struct reduce *r, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(t->model);
	float *view =
		staging_is_needed(t) ? arena_view(t->model, arena, t->ranks.staging, n) : arena;

	if (reduce_all(r, view, e))
		return e->code;
	arena_write_back(t->model, arena, view, n);
	return 0;
}

const float *staging_error_feedback(struct trainer *t)
{
	const float *own = reduce_error_feedback(t->ranks.reduce);

	return t->ranks.reduce_options.dev ? arena_view_const(t->model, own, t->ranks.staging,
							      (size_t)model_floats(t->model))
					   : own;
}

void staging_set_error_feedback(struct trainer *t)
{
	const size_t n = (size_t)model_floats(t->model);
	float *own = reduce_error_feedback(t->ranks.reduce);

	if (t->ranks.reduce_options.dev)
		arena_write_back(t->model, own, t->ranks.staging, n);
	else
		memcpy(own, t->ranks.staging, n * sizeof(*own));
}

/* Copy the pieces of this rank to the staging buffer. */
static void staging_copy_own_pieces(struct trainer *t, const float *arena)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;

	for (size_t i = 0; i < b->count; i++) {
		const struct range p = buckets_piece(b, i, t->comm->rank);

		(void)arena_view_const(t->model, arena + p.at, t->ranks.staging + p.at, p.n);
	}
}

int staging_all_gather(struct trainer *t, float *arena, struct err *e)
{
	if (!staging_is_needed(t))
		return reduce_all_gather(t->ranks.reduce, arena, e);
	staging_copy_own_pieces(t, arena);
	if (reduce_all_gather(t->ranks.reduce, t->ranks.staging, e))
		return e->code;
	arena_write_back(t->model, arena, t->ranks.staging, (size_t)model_floats(t->model));
	return 0;
}

/* Bucket by bucket: the first ones are sent while others are still copied. */
void staging_copy_to_host(struct trainer *t)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;
	const float *arena = model_grad_arena(t->model);

	for (size_t i = 0; i < b->count && staging_is_needed(t); i++) {
		const struct range r = buckets_at(b, i);

		(void)arena_view_const(t->model, arena + r.at, t->ranks.staging + r.at, r.n);
		reduce_ready(t->ranks.reduce, r.at);
	}
}

void staging_copy_to_device(struct trainer *t)
{
	const struct buckets *b = &t->ranks.reduce_options.buckets;
	float *arena = model_grad_arena(t->model);

	for (size_t i = 0; i < b->count && staging_is_needed(t); i++) {
		const struct range r = t->ranks.reduce_options.shards
					       ? buckets_piece(b, i, t->comm->rank)
					       : buckets_at(b, i);

		arena_write_back(t->model, arena + r.at, t->ranks.staging + r.at, r.n);
	}
}
