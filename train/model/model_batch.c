/*
 * model_batch.c - sends a batch to the backend, padded on a GPU; see model_internal.h
 *
 * A batch is sent in one copy. A CUDA graph can be replayed only for a batch with the same extent
 * (struct graph_key). So, when a GPU trains, padding makes batches of many extents equal. Without
 * graphs, too: products of other sizes may have other algorithms, and so other bits.
 *
 *	rows		rounded up to a multiple of padding_granule(), at most the reserve
 *	longest		rounded up to a power of two
 *	sentences	rounded up to a power of two
 *
 * R-Drop computes a batch as two copies (model_set_copies): rows and sentences of the first copy, with its
 * padding, then those of the second.
 *
 * Padding rows follow the real rows, in sentences of their own, which are no longer than the
 * longest sentence may be; empty sentences follow them. Padding rows have token -1: their
 * embedding is that of the position alone, their loss is 0, and no real row attends to them. They
 * add exactly zero to every gradient.
 */
#include "train/model/model_internal.h"

#include <assert.h>
#include <string.h>

#include "share/base/util.h"

#define MIN_GRANULE   64 /* rows; padding_granule() is a multiple of it */
#define GRANULES      32 /* in a full batch: on average, padding adds 1.6 % of the rows */
#define MIN_LENGTH    16 /* GPU attention works in lengths of 16, 32, 64 and multiples */
#define MIN_SENTENCES 8

static int32_t round_up_to_multiple(int32_t n, int32_t each)
{
	return CEIL_DIV(n, each) * each;
}

/* tokens: of a full batch. */
static int32_t padding_granule(int32_t tokens)
{
	return round_up_to_multiple(MAX(tokens / GRANULES, MIN_GRANULE), MIN_GRANULE);
}

/* The first of least, 2 least, 4 least, … that is at least n. */
static int32_t round_up_to_power(int32_t n, int32_t least)
{
	while (least < n)
		least *= 2;
	return least;
}

struct batch_extent model_max_extent(int32_t tokens, int32_t sentences, bool pad)
{
	const int32_t rows = pad ? round_up_to_multiple(tokens, MIN_GRANULE) : tokens;

	if (pad)
		sentences = round_up_to_power(sentences + padding_granule(tokens) / MIN_LENGTH,
					      MIN_SENTENCES);
	return (struct batch_extent){ .source = rows, .target = rows, .sentences = sentences };
}

struct batch_extent model_copies_extent(struct batch_extent x, int32_t copies)
{
	x.source *= copies;
	x.target *= copies;
	x.sentences *= copies;
	return x;
}

struct batch_extent model_extent(const struct batch *b, int32_t max_tokens, bool pad)
{
	struct batch_extent x = { b->n_source, b->n_target, b->n, b->max_source, b->max_target };
	const int32_t granule = padding_granule(max_tokens),
		      max_rows = round_up_to_multiple(max_tokens, MIN_GRANULE);
	int32_t padding_sentences;

	if (!pad)
		return x;
	x.source = MIN(round_up_to_multiple(b->n_source, granule), max_rows);
	x.target = MIN(round_up_to_multiple(b->n_target, granule), max_rows);
	x.max_source = round_up_to_power(b->max_source, MIN_LENGTH);
	x.max_target = round_up_to_power(b->max_target, MIN_LENGTH);
	padding_sentences = MAX(CEIL_DIV(x.source - b->n_source, x.max_source),
				CEIL_DIV(x.target - b->n_target, x.max_target));
	x.sentences = round_up_to_power(b->n + padding_sentences, MIN_SENTENCES);
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

/* to (rows) = from (n), followed by padding. */
static void fill_padded_ids(int32_t *to, const int32_t *from, int32_t n, int32_t rows,
			    int32_t padding)
{
	assert(n <= rows);
	if (n)
		memcpy(to, from, (size_t)n * sizeof(*to));
	for (; n < rows; n++)
		to[n] = padding;
}

/*
 * to (sentences + 1) = starts of the n real sentences, then of padding sentences, then of empty ones.
 * x: of one copy, which has the rows from `before` on.
 */
static void fill_starts(int32_t *to, const int32_t *from, int32_t n, const struct batch_extent *x,
			bool source, int32_t before)
{
	const int32_t rows = before + (source ? x->source : x->target),
		      longest = source ? x->max_source : x->max_target;

	for (int32_t s = 0; s <= n; s++)
		to[s] = before + from[s];
	for (; n < x->sentences; n++)
		to[n + 1] = MIN(to[n] + longest, rows);
	assert(to[x->sentences] == rows);
}

/* Copy number `copy` of a batch, each of extent x. */
static void write_copy(const struct device_batch *to, const struct model_pass *p,
		       const struct batch_extent *x, int32_t copy)
{
	const struct batch *b = p->b;
	const int32_t source = copy * x->source, target = copy * x->target,
		      sentence = copy * x->sentences;

	fill_padded_ids(to->source + source, b->source, b->n_source, x->source, -1);
	fill_padded_ids(to->source_position + source, b->source_position, b->n_source, x->source,
			0);
	fill_padded_ids(to->target_in + target, b->target_in, b->n_target, x->target, -1);
	for (int32_t s = 0; s < b->n; s++)
		if (b->target_start[s] < b->target_start[s + 1])
			to->target_in[target + b->target_start[s]] =
				model_start_token(&p->m->shape);
	fill_padded_ids(to->target_out + target, b->target_out, b->n_target, x->target, -1);
	fill_padded_ids(to->target_position + target, b->target_position, b->n_target, x->target,
			0);
	fill_starts(to->source_start + sentence, b->source_start, b->n, x, true, source);
	fill_starts(to->target_start + sentence, b->target_start, b->n, x, false, target);
}

static void write_batch(const struct device_batch *to, const struct model_pass *p)
{
	struct batch_extent one = p->extent;

	one.source /= p->copies;
	one.target /= p->copies;
	one.sentences /= p->copies;
	to->rng_step[0] = p->how ? p->how->step : 0;
	to->rng_step[1] = p->how ? p->how->micro : 0;
	for (int32_t copy = 0; copy < p->copies; copy++)
		write_copy(to, p, &one, copy);
}

/*
 * Asynchronous copies alternate between two slots: the pass before may still read the other slot.
 * The pass that used this slot before comes earlier in the backend's queue than the copy.
 */
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
	assert(here.used == there.used);
	write_batch(&written, p);
	if (o->to_device_async) {
		o->to_device_async(m->dev, there.base, here.base, here.used);
		o->swap_staging(m->dev);
	} else {
		o->to_device(m->dev, there.base, here.base, here.used);
	}
}
