/* exchange.c - see exchange.h */
#include "train/trainer/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/comm/comm_nccl.h"
#include "train/common/network.h"
#include "train/model/arena.h"

int64_t exchange_exact_steps(const struct conf *c)
{
	return network_exact_steps(c, c->wire);
}

int64_t exchange_held_after(const struct conf *c)
{
	const bool is_noisy = (c->wire == WIRE_2BIT || c->wire == WIRE_1BIT) && c->local_steps == 1;

	return is_noisy ? exchange_exact_steps(c) : 0;
}

int exchange_plan(struct exchange *x, const struct conf *c, const struct model_shape *shape,
		  struct comm *comm, struct err *e)
{
	struct model_param *params;
	size_t n_params;
	int64_t floats;

	if (model_params(shape, &params, &n_params, &floats, e))
		return e->code;
	free(params);
	x->comm = comm;
	x->options = (struct reduce_options){
		.buckets = buckets_make((size_t)floats, c->bucket_mb, comm->size),
		.wire = (enum wire_format)c->wire,
		.may_be_exact = exchange_exact_steps(c) > 0,
		.shards = c->shard_optimizer && comm->size > 1,
		.thread = c->overlap_reduce,
	};
	return 0;
}

static int connect_gpus(struct exchange *x, struct run_records *records, struct err *e)
{
	const struct ops *o = model_get_ops(x->model);

	if (!o->open_queue)
		return 0;
	if (!comm_nccl_open(x->comm, e)) {
		x->options.ops = o;
		x->options.dev = model_get_dev(x->model);
		return 0;
	}
	if (e->code != ERR_UNAVAILABLE)
		return e->code;
	run_records_event(records, "info", "gradients go through host memory: %s", e->text);
	e->code = 0;
	return 0;
}

int exchange_open(struct exchange *x, struct model *model, struct run_records *records,
		  struct err *e)
{
	const struct buckets *b = &x->options.buckets;
	const size_t n = (size_t)model_floats(model);

	x->model = model;
	assert(b->floats == n);
	if (x->comm->size == 1)
		return 0;
	x->staging = arena_is_host(model) ? model_grad_arena(model)
					  : mem_alloc_aligned(n, sizeof(*x->staging), e);
	if (!x->staging || connect_gpus(x, records, e))
		return e->code;
	x->reduce = reduce_open(x->comm, &x->options, e);
	x->own_pieces = x->reduce ? mem_alloc(b->count, sizeof(*x->own_pieces), e) : NULL;
	for (size_t i = 0; x->own_pieces && i < b->count; i++)
		x->own_pieces[i] = buckets_piece(b, i, x->comm->rank);
	return x->own_pieces ? 0 : e->code;
}

void exchange_close(struct exchange *x)
{
	reduce_free(x->reduce);
	if (x->staging && x->staging != model_grad_arena(x->model))
		free(x->staging);
	free(x->own_pieces);
}

size_t exchange_memory(const struct exchange *x, bool has_device_memory)
{
	return x->comm->size > 1 && has_device_memory ? x->options.buckets.floats * sizeof(float)
						      : 0;
}

/* Do gradients and weights pass through the staging buffer? */
static bool needs_staging(const struct exchange *x)
{
	return !arena_is_host(x->model) && !x->options.dev;
}

float *exchange_gradients(const struct exchange *x)
{
	return x->options.dev ? model_grad_arena(x->model) : x->staging;
}

int exchange_broadcast(const struct exchange *x, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(x->model);
	float *view = arena_is_host(x->model) ? arena : x->staging;

	assert(x->comm->size > 1);
	if (exchange_is_first(x))
		view = arena_view(x->model, arena, x->staging, n);
	if (x->comm->broadcast(x->comm, view, n * sizeof(*view), 0, e))
		return e->code;
	if (!exchange_is_first(x))
		arena_write_back(x->model, arena, view, n);
	return 0;
}

int exchange_synchronise(const struct exchange *x, struct err *e)
{
	return model_get_ops(x->model)->sync(model_get_dev(x->model), e) ||
			       x->comm->check(x->comm, e)
		       ? e->code
		       : 0;
}

int exchange_all_reduce(const struct exchange *x, struct reduce *r, float *arena, struct err *e)
{
	const size_t n = (size_t)model_floats(x->model);
	float *view = needs_staging(x) ? arena_view(x->model, arena, x->staging, n) : arena;

	if (reduce_all(r, view, e))
		return e->code;
	arena_write_back(x->model, arena, view, n);
	return 0;
}

bool exchange_has_feedback(const struct exchange *x)
{
	return x->reduce && reduce_error_feedback(x->reduce);
}

const float *exchange_feedback(const struct exchange *x)
{
	const float *own = reduce_error_feedback(x->reduce);

	return x->options.dev
		       ? arena_view_const(x->model, own, x->staging, (size_t)model_floats(x->model))
		       : own;
}

void exchange_set_feedback(const struct exchange *x)
{
	const size_t n = (size_t)model_floats(x->model);
	float *own = reduce_error_feedback(x->reduce);

	if (x->options.dev)
		arena_write_back(x->model, own, x->staging, n);
	else
		memcpy(own, x->staging, n * sizeof(*own));
}

/* Copy the pieces of this rank to the staging buffer. */
static void stage_own_pieces(const struct exchange *x, const float *arena)
{
	const struct buckets *b = &x->options.buckets;

	for (size_t i = 0; i < b->count; i++) {
		const struct range p = buckets_piece(b, i, x->comm->rank);

		(void)arena_view_const(x->model, arena + p.at, x->staging + p.at, p.n);
	}
}

int exchange_all_gather(const struct exchange *x, float *arena, struct err *e)
{
	if (!needs_staging(x))
		return reduce_all_gather(x->reduce, arena, e);
	stage_own_pieces(x, arena);
	if (reduce_all_gather(x->reduce, x->staging, e))
		return e->code;
	arena_write_back(x->model, arena, x->staging, (size_t)model_floats(x->model));
	return 0;
}

/* Bucket by bucket: the first ones are sent while others are still copied. */
void exchange_copy_to_host(const struct exchange *x)
{
	const struct buckets *b = &x->options.buckets;
	const float *arena = model_grad_arena(x->model);

	for (size_t i = 0; i < b->count && needs_staging(x); i++) {
		const struct range r = buckets_at(b, i);

		(void)arena_view_const(x->model, arena + r.at, x->staging + r.at, r.n);
		reduce_ready(x->reduce, r.at);
	}
}

void exchange_copy_to_device(const struct exchange *x)
{
	const struct buckets *b = &x->options.buckets;
	float *arena = model_grad_arena(x->model);

	for (size_t i = 0; i < b->count && needs_staging(x); i++) {
		const struct range r =
			x->options.shards ? buckets_piece(b, i, x->comm->rank) : buckets_at(b, i);

		arena_write_back(x->model, arena + r.at, x->staging + r.at, r.n);
	}
}
