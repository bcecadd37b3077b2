/* rank_arrays.c - see rank_arrays.h */
#include "train/trainer/rank_arrays.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "train/model/arena.h"

static size_t arena_bytes(const struct exchange *x)
{
	return x->options.buckets.floats * sizeof(float);
}

/* ---- saving -------------------------------------------------------------- */

struct rank_arrays rank_arrays_begin(const struct exchange *x, const struct adam *adam)
{
	const int feedback = exchange_has_feedback(x) ? x->comm->size : 0;

	return (struct rank_arrays){ x, adam, adam->factored ? CKPT_SECOND : CKPT_FIRST,
				     CKPT_FEEDBACK + feedback };
}

/* Copy a rank's parts of a moment to their places in the whole array. */
static void place_parts(const struct exchange *x, int rank, float *arena, const float *parts)
{
	const struct buckets *b = &x->options.buckets;

	for (size_t i = 0; i < b->count; i++) {
		const struct range p = buckets_piece(b, i, rank);

		memcpy(arena + p.at, parts, p.n * sizeof(*parts));
		parts += p.n;
	}
}

/* First rank: collect the parts of a moment in the staging buffer, which is free now. */
static int collect_parts(const struct exchange *x, const float *own, struct err *e)
{
	float *arena = x->staging;
	const size_t most = buckets_owned(&x->options.buckets, 0);
	float *parts = mem_alloc(MAX(most, (size_t)1), sizeof(*parts), e);
	int rc = parts ? 0 : e->code;

	if (!rc)
		place_parts(x, 0, arena, arena_view_const(x->model, own, parts, most));
	for (int rank = 1; !rc && rank < x->comm->size; rank++) {
		const size_t n = buckets_owned(&x->options.buckets, rank);

		rc = comm_receive(x->comm, parts, n * sizeof(*parts), rank, e);
		if (!rc)
			place_parts(x, rank, arena, parts);
	}
	free(parts);
	return rc;
}

int rank_arrays_get(void *arg, int which, struct ckpt_arena *found, struct err *e)
{
	struct rank_arrays *a = arg;
	const struct exchange *x = a->x;
	const float *moments = which == CKPT_FIRST ? a->adam->first : a->adam->second;
	const int rank = which - CKPT_FEEDBACK;

	assert(which == a->next && which < a->n);
	a->next = which + 1;
	*found = (struct ckpt_arena){ .x = x->staging, .on_host = true };
	if (which < CKPT_FEEDBACK && x->options.shards)
		return collect_parts(x, moments, e);
	if (which < CKPT_FEEDBACK)
		*found = (struct ckpt_arena){ .x = moments };
	else if (rank == 0)
		found->x = exchange_feedback(x);
	else
		return comm_receive(x->comm, x->staging, arena_bytes(x), rank, e);
	return 0;
}

int rank_arrays_drain(struct rank_arrays *a, struct err *e)
{
	while (a->next < a->n)
		if (rank_arrays_get(a, a->next, &(struct ckpt_arena){ 0 }, e))
			return e->code;
	return 0;
}

static int send_parts(const struct rank_arrays *a, const float *own, struct err *e)
{
	const struct exchange *x = a->x;
	const size_t n = a->adam->floats;

	return comm_send(x->comm, arena_view_const(x->model, own, x->staging, n), n * sizeof(*own),
			 0, e);
}

int rank_arrays_send(const struct rank_arrays *a, struct err *e)
{
	const struct exchange *x = a->x;

	if (x->options.shards &&
	    (send_parts(a, a->adam->first, e) || send_parts(a, a->adam->second, e)))
		return e->code;
	if (a->n > CKPT_FEEDBACK)
		return comm_send(x->comm, exchange_feedback(x), arena_bytes(x), 0, e);
	return 0;
}

/* ---- loading ------------------------------------------------------------- */

/* Sharded optimizer: each rank gets its parts of a moment. They pass through the gradient array. */
static int distribute_moment(const struct rank_arrays *a, const char *path, int which,
			     struct err *e)
{
	const struct exchange *x = a->x;
	float *arena = model_grad_arena(x->model),
	      *own = which == CKPT_FIRST ? a->adam->first : a->adam->second;

	if (exchange_is_first(x) && ckpt_load_arena(path, x->model, which, arena, e))
		return e->code;
	if (exchange_broadcast(x, arena, e))
		return e->code;
	for (size_t i = 0; i < a->adam->n_parts; i++) {
		const struct range p = a->adam->parts[i];

		arena_write_back(x->model, own, x->staging + p.at, p.n);
		own += p.n;
	}
	return 0;
}

static int distribute_feedback(const struct exchange *x, const char *path, struct err *e)
{
	const size_t bytes = arena_bytes(x);
	const bool is_first = exchange_is_first(x);

	if (!is_first && comm_receive(x->comm, x->staging, bytes, 0, e))
		return e->code;
	for (int rank = x->comm->size - 1; is_first && rank >= 0; rank--)
		if (ckpt_load_arena(path, x->model, CKPT_FEEDBACK + rank, x->staging, e) ||
		    (rank && comm_send(x->comm, x->staging, bytes, rank, e)))
			return e->code;
	exchange_set_feedback(x);
	return 0;
}

/* All ranks get the state of the optimizer. */
static int distribute_optimizer(const struct rank_arrays *a, const char *path, struct err *e)
{
	const struct exchange *x = a->x;
	const struct adam *adam = a->adam;

	if (x->options.shards)
		return distribute_moment(a, path, CKPT_FIRST, e) ||
				       distribute_moment(a, path, CKPT_SECOND, e)
			       ? e->code
			       : 0;
	if (adam->factored)
		return x->comm->broadcast(x->comm, adam->second,
					  adam->floats * sizeof(*adam->second), 0, e);
	return exchange_broadcast(x, adam->first, e) || exchange_broadcast(x, adam->second, e)
		       ? e->code
		       : 0;
}

int rank_arrays_load(const struct rank_arrays *a, const char *path, const struct ckpt_state *s,
		     struct run_records *records, struct err *e)
{
	const struct exchange *x = a->x;

	if (distribute_optimizer(a, path, e))
		return e->code;
	if (!s->feedback_ranks)
		return 0;
	if (!exchange_has_feedback(x) || s->feedback_ranks != x->comm->size ||
	    s->feedback_wire != (int32_t)x->options.wire ||
	    s->feedback_bucket != (int64_t)x->options.buckets.each)
		return run_records_event(
			records, "info",
			"the checkpoint's error feedback of %d rank%s is not used: the "
			"number of ranks, wire or bucket_mb has changed",
			s->feedback_ranks, text_plural(s->feedback_ranks));
	return distribute_feedback(x, path, e);
}
