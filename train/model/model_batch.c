/*
 * model_batch.c - a batch on its way to the backend; see model_internal.h
 *
 * All of it goes over in one piece. Where a GPU keeps what comes again (struct graph_key) batches of many
 * shapes become batches of few: rows that stand for nothing follow the real ones, up to a multiple of
 * a granule or the most there may be, in sentences of their own that are no longer than the longest may be, and sentences without
 * rows follow those. Such a row has no token (its embedding is its position's alone), costs nothing
 * and is seen by none but its like: what it adds to gradients is exactly zero.
 */
#include "train/model/model_internal.h"

#include <string.h>

#include "share/base/util.h"

#define LEAST_ROWS	64 /* of a granule; also what its size is a multiple of */
#define GRANULES	32 /* of a whole batch: 1.6 % of its rows are added on average */
#define LEAST_LENGTH	16 /* attention on GPUs knows 16, 32, 64 and their multiples */
#define LEAST_SENTENCES 8

static int32_t round_up_to_multiple(int32_t n, int32_t each)
{
	return CEIL_DIV(n, each) * each;
}

static int32_t padding_granule(int32_t tokens)
{
	return round_up_to_multiple(MAX(tokens / GRANULES, LEAST_ROWS), LEAST_ROWS);
}

static int32_t power_of_two(int32_t n, int32_t least)
{
	while (least < n)
		least *= 2;
	return least;
}

struct batch_extent model_max_extent(int32_t tokens, int32_t sentences, bool pads_batches)
{
	const int32_t rows = pads_batches ? round_up_to_multiple(tokens, LEAST_ROWS) : tokens;

	if (pads_batches)
		sentences = power_of_two(sentences + padding_granule(tokens) / LEAST_LENGTH,
					 LEAST_SENTENCES);
	return (struct batch_extent){ .source = rows, .target = rows, .sentences = sentences };
}

struct batch_extent model_extent(const struct batch *b, int32_t most_tokens, bool pads_batches)
{
	struct batch_extent x = { b->n_source, b->n_target, b->n, b->max_source, b->max_target };
	const int32_t each = padding_granule(most_tokens),
		      most = round_up_to_multiple(most_tokens, LEAST_ROWS);
	int32_t more;

	if (!pads_batches)
		return x;
	x.source = MIN(round_up_to_multiple(b->n_source, each), most);
	x.target = MIN(round_up_to_multiple(b->n_target, each), most);
	x.max_source = power_of_two(b->max_source, LEAST_LENGTH);
	x.max_target = power_of_two(b->max_target, LEAST_LENGTH);
	more = MAX(CEIL_DIV(x.source - b->n_source, x.max_source),
		   CEIL_DIV(x.target - b->n_target, x.max_target));
	x.sentences = power_of_two(b->n + more, LEAST_SENTENCES);
	return x;
}

void model_plan_ids(struct device_batch *b, const struct batch_extent *x, struct arena_plan *c)
{
	b->rng_step = arena_plan_array(c, 2, sizeof(uint32_t));
	b->source = arena_plan_array(c, x->source, sizeof(int32_t));
	b->source_position = arena_plan_array(c, x->source, sizeof(int32_t));
	b->target_in = arena_plan_array(c, x->target, sizeof(int32_t));
	b->target_out = arena_plan_array(c, x->target, sizeof(int32_t));
	b->target_position = arena_plan_array(c, x->target, sizeof(int32_t));
	b->source_start = arena_plan_array(c, x->sentences + 1, sizeof(int32_t));
	b->target_start = arena_plan_array(c, x->sentences + 1, sizeof(int32_t));
}

size_t model_batch_bytes(const struct batch_extent *x)
{
	struct arena_plan count = { 0 };
	struct device_batch ignored;

	model_plan_ids(&ignored, x, &count);
	return count.used;
}

/* The n of a batch and what the rows after them have. */
static void fill_padded_ids(int32_t *to, const int32_t *from, int32_t n, int32_t rows, int32_t rest)
{
	if (n)
		memcpy(to, from, (size_t)n * sizeof(*to));
	for (; n < rows; n++)
		to[n] = rest;
}

/* Where sentences begin: n real ones, then full ones, a last one, empty ones. */
static void fill_starts(int32_t *to, const int32_t *from, int32_t n, const struct batch_extent *x,
			bool source)
{
	const int32_t rows = source ? x->source : x->target,
		      most = source ? x->max_source : x->max_target;

	memcpy(to, from, (size_t)(n + 1) * sizeof(*to));
	for (; n < x->sentences; n++)
		to[n + 1] = MIN(to[n] + most, rows);
}

static void write_batch(const struct device_batch *to, const struct model_pass *p)
{
	const struct batch *b = p->b;
	const struct batch_extent *x = &p->extent;

	to->rng_step[0] = p->how ? p->how->step : 0;
	to->rng_step[1] = p->how ? p->how->micro : 0;
	fill_padded_ids(to->source, b->source, b->n_source, x->source, -1);
	fill_padded_ids(to->source_position, b->source_position, b->n_source, x->source, 0);
	fill_padded_ids(to->target_in, b->target_in, b->n_target, x->target, -1);
	fill_padded_ids(to->target_out, b->target_out, b->n_target, x->target, -1);
	fill_padded_ids(to->target_position, b->target_position, b->n_target, x->target, 0);
	fill_starts(to->source_start, b->source_start, b->n, x, true);
	fill_starts(to->target_start, b->target_start, b->n, x, false);
}

/* To the side that the last pass has not used, and which the one before it may be using still. */
void model_send_batch(const struct model_pass *p)
{
	struct model *m = p->m;
	const struct ops *o = m->ops;
	struct arena_plan here = { .base = m->staging }, there = { 0 };
	struct device_batch written;

	m->batch_slot = o->to_device_async ? 1 - m->batch_slot : 0;
	there.base = m->acts.batch_slots[m->batch_slot];
	model_plan_ids(&written, &p->extent, &here);
	model_plan_ids(&m->acts.ids, &p->extent, &there);
	write_batch(&written, p);
	if (o->to_device_async) {
		o->to_device_async(m->dev, there.base, here.base, here.used);
		o->swap_staging(m->dev);
	} else {
		o->to_device(m->dev, there.base, here.base, here.used);
	}
}
