/* loader.c - plans windows, cuts and shuffles micro-batches, prefetches one: see loader.h */
#include "data/shard/loader.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "data/shard/shuffle.h"
#include "share/base/mem.h"

#define WINDOW_PAIRS 65536 /* about that many are sorted together; more for very large batches */
#define WINDOW_LIMIT (1 << 21)
#define SAMPLE_PAIRS 2000 /* sample that measures the growth by dropout … */
#define SPARE	     0.99 /* … and the part of batch_tokens to plan with */

enum { SHUFFLE_PAIRS = RNG_SHUFFLE | 1 << 8, SHUFFLE_BATCHES = RNG_SHUFFLE | 2 << 8 };

struct loader_entry {
	int64_t pair;
	int32_t n_source, n_target; /* with special tokens */
	uint32_t pass;		    /* how often the pair came before */
};

/*
 * With dropout a thread fills the next micro-batch while training computes the current one. While
 * the thread runs, it owns all of struct loader: call prefetch_join() before any access.
 */
struct batch_prefetch {
	pthread_t thread;
	bool is_running, is_filled; /* is_filled: the thread filled batch, or failed (rc) */
	uint64_t number;
	struct batch batch; /* owned */
	int rc;
	struct err e;
};

/* The planned window: micro-batch k has the entries first[k] … first[k + 1] - 1. */
struct loader {
	const struct shard *shard; /* borrowed */
	struct tag_mix *mix;	   /* owned; NULL: each pair comes once an epoch */
	struct loader_options options;
	int64_t pairs, windows; /* of an epoch */
	int32_t max_length;	/* longest side of a pair, with its special token */
	uint64_t next;		/* number of this rank's next micro-batch */
	double done;		/* epochs */

	uint64_t epoch;
	int64_t window; /* the planned window of that epoch */
	uint64_t base;	/* number of its first micro-batch */
	int64_t n_entries, n_batches;
	struct loader_entry *entry, *unsorted; /* owned: one block; (largest window) each */
	int64_t *first;			       /* owned: (n_batches + 1) */
	size_t cap_first;
	int64_t *bucket;	  /* owned: (max_length + 1), for counting sort */
	int32_t *source, *target; /* owned: one block; (max_length) each: the current pair */
	int64_t source_limit, target_limit; /* tokens of a side to plan for a micro-batch */
	/* with dropout: the new pieces of the current pair */
	struct resplit_sentence {
		int32_t *ids; /* owned */
		size_t n, cap;
	} sides[2];
	struct batch_prefetch prefetch;

	uint64_t *epoch_base; /* owned: first micro-batch of each epoch planned so far */
	size_t n_epoch_base, cap_epoch_base;
};

static inline void loader_read_lengths(const struct loader *l, struct loader_entry *x)
{
	shard_lengths(l->shard, x->pair, &x->n_source, &x->n_target);
	x->n_source++;
	x->n_target++;
}

static struct loader_entry loader_read_entry(const struct loader *l, int64_t pair)
{
	struct loader_entry x = { .pair = pair };

	loader_read_lengths(l, &x);
	return x;
}

static int32_t entry_length(const struct loader_entry *x)
{
	return MAX(x->n_source, x->n_target);
}

static int64_t window_start(const struct loader *l, int64_t w)
{
	/* Windows of equal size: no small one at the end of an epoch. */
	return (int64_t)((unsigned __int128)w * (uint64_t)l->pairs / (uint64_t)l->windows);
}

/* ---- planning ---- */

/* Element i of the epoch's permutation. */
static inline void loader_choose_pair(const struct loader *l, int64_t i, struct loader_entry *x)
{
	x->pass = (uint32_t)l->epoch;
	x->pair = l->mix ? tag_mix_pair(l->mix, l->epoch, i, &x->pass) : i;
}

/*
 * Sort the pairs of the window by length, with a stable sort: pairs of equal length stay
 * shuffled.
 */
static void loader_sort_window(struct loader *l)
{
	struct shuffle order = shuffle_make(
		l->pairs, rng_key_make(l->options.seed, SHUFFLE_PAIRS, (uint32_t)l->epoch, 0));
	int64_t start = window_start(l, l->window), n = window_start(l, l->window + 1) - start,
		sum = 0;

	assert(l->window >= 0 && l->window < l->windows && n >= 1);
	for (int32_t k = 0; k <= l->max_length; k++)
		l->bucket[k] = 0;
	/* Separate loops, so that the cache misses of one loop overlap. */
	for (int64_t i = 0; i < n; i++)
		loader_choose_pair(l, shuffle_at(&order, start + i), &l->unsorted[i]);
	for (int64_t i = 0; i < n; i++)
		loader_read_lengths(l, &l->unsorted[i]);
	for (int64_t i = 0; i < n; i++)
		l->bucket[entry_length(&l->unsorted[i])]++;
	for (int32_t k = 0; k <= l->max_length; k++) {
		int64_t here = l->bucket[k];

		l->bucket[k] = sum;
		sum += here;
	}
	assert(sum == n); /* each pair is in a bucket */
	for (int64_t i = 0; i < n; i++)
		l->entry[l->bucket[entry_length(&l->unsorted[i])]++] = l->unsorted[i];
	l->n_entries = n;
}

/* Cut the sorted window into micro-batches, before a side exceeds its limit. */
static int loader_cut_window(struct loader *l, struct err *e)
{
	int64_t source = 0, target = 0;

	l->n_batches = 0;
	for (int64_t i = 0; i < l->n_entries; i++) {
		source += l->entry[i].n_source;
		target += l->entry[i].n_target;
		if (i && source <= l->source_limit && target <= l->target_limit)
			continue;
		if (mem_grow(&l->first, &l->cap_first, (size_t)l->n_batches + 2, sizeof(*l->first),
			     e))
			return e->code;
		l->first[l->n_batches++] = i;
		source = l->entry[i].n_source;
		target = l->entry[i].n_target;
	}
	assert(l->n_batches >= 1); /* a window has a pair or more */
	l->first[l->n_batches] = l->n_entries;
	return 0;
}

static int loader_plan_window(struct loader *l, uint64_t epoch, int64_t window, uint64_t base,
			      struct err *e)
{
	l->epoch = epoch;
	l->window = window;
	l->base = base;
	loader_sort_window(l);
	return loader_cut_window(l, e);
}

static int loader_save_epoch_start(struct loader *l, uint64_t epoch, uint64_t base, struct err *e)
{
	if (epoch < l->n_epoch_base)
		return 0;
	if (mem_grow(&l->epoch_base, &l->cap_epoch_base, l->n_epoch_base + 1,
		     sizeof(*l->epoch_base), e))
		return e->code;
	l->epoch_base[l->n_epoch_base++] = base;
	return 0;
}

/*
 * Plan window after window up to that of micro-batch position, which is not before the current
 * one.
 */
static int loader_plan_up_to(struct loader *l, uint64_t position, struct err *e)
{
	assert(position >= l->base);
	while (position >= l->base + (uint64_t)l->n_batches) {
		uint64_t base = l->base + (uint64_t)l->n_batches, epoch = l->epoch;
		int64_t window = l->window + 1;

		if (window == l->windows) {
			window = 0;
			if (loader_save_epoch_start(l, ++epoch, base, e))
				return e->code;
		}
		if (loader_plan_window(l, epoch, window, base, e))
			return e->code;
	}
	return 0;
}

/* ---- opening ---- */

static int loader_find_max_length(struct loader *l, struct err *e)
{
	for (int64_t i = 0; i < l->pairs; i++) {
		struct loader_entry x = loader_read_entry(l, i);

		if (entry_length(&x) > l->options.batch_tokens)
			return err_set(
				e, ERR_CONFIG,
				"batch-tokens is %d, but pair %" PRId64
				" of the training shard has %d source and %d target tokens "
				"(with special tokens): raise batch-tokens, or lower max-tokens "
				"and prepare again",
				l->options.batch_tokens, i, x.n_source, x.n_target);
		l->max_length = MAX(l->max_length, entry_length(&x));
	}
	return 0;
}

static int loader_allocate(struct loader *l, struct err *e)
{
	int64_t window = MAX((int64_t)WINDOW_PAIRS, 2 * (int64_t)l->options.batch_tokens), largest;

	window = MIN(window, WINDOW_LIMIT);
	l->windows = MAX((l->pairs + window / 2) / window, 1);
	largest = l->pairs / l->windows + 1;
	l->entry = mem_alloc((size_t)largest, 2 * sizeof(*l->entry), e);
	l->bucket = mem_alloc((size_t)l->max_length + 1, sizeof(*l->bucket), e);
	l->source = mem_alloc((size_t)l->max_length, 2 * sizeof(*l->source), e);
	if (!l->entry || !l->bucket || !l->source)
		return e->code;
	l->unsorted = l->entry + largest;
	l->target = l->source + l->max_length;
	return 0;
}

/* ---- new splits in each epoch ---- */

static int loader_resplit_sentence(struct loader *l, const struct resplit_key *place,
				   const int32_t *ids, int32_t n, struct err *e)
{
	struct resplit_sentence *s = &l->sides[place->side];
	struct resplit *own = place->side == 0 ? l->options.source_resplit : NULL;

	s->n = 0;
	if (resplit_sentence(own ? own : l->options.resplit, place, ids, n, &s->ids, &s->n, &s->cap,
			     e))
		return e->code;
	return mem_grow(&s->ids, &s->cap, 1, sizeof(*s->ids), e);
}

/* Read a pair and split it as this pass over the pair does. */
static int loader_resplit_pair(struct loader *l, const struct loader_entry *x, struct err *e)
{
	struct resplit_key place = { x->pair, x->pass, 0 };

	shard_read(l->shard, x->pair, l->source, l->target);
	if (loader_resplit_sentence(l, &place, l->source, x->n_source - 1, e))
		return e->code;
	place.side = 1;
	return loader_resplit_sentence(l, &place, l->target, x->n_target - 1, e);
}

/* Measure on a sample how much longer dropout makes the sentences, and lower the limits by that. */
static int loader_find_token_limits(struct loader *l, struct err *e)
{
	int64_t n = MIN(l->pairs, SAMPLE_PAIRS), before[2] = { 0 }, after[2] = { 0 };
	double room = (double)l->options.batch_tokens;

	l->source_limit = l->target_limit = l->options.batch_tokens;
	if (!l->options.resplit)
		return 0;
	for (int64_t i = 0; i < n; i++) {
		struct loader_entry x = loader_read_entry(
			l, (int64_t)((unsigned __int128)i * (uint64_t)l->pairs / (uint64_t)n));

		if (loader_resplit_pair(l, &x, e))
			return e->code;
		before[0] += x.n_source;
		before[1] += x.n_target;
		after[0] += (int64_t)l->sides[0].n + 1;
		after[1] += (int64_t)l->sides[1].n + 1;
	}
	l->source_limit = (int64_t)(room * SPARE * (double)before[0] / (double)after[0]);
	l->target_limit = (int64_t)(room * SPARE * (double)before[1] / (double)after[1]);
	return 0;
}

/*
 * The new pieces of a side, or its usual ones: if the new ones are longer than any side of the
 * shard, or do not fit into the batch with its other sentences (others: their tokens).
 */
static const int32_t *loader_choose_ids(const struct loader *l, int side, const int32_t *usual,
					int64_t others, int32_t *n)
{
	const struct resplit_sentence *s = &l->sides[side];

	assert((side == 0 || side == 1) && others >= 0);
	if ((int64_t)s->n >= l->max_length || (int64_t)s->n + 1 + others > l->options.batch_tokens)
		return usual;
	*n = (int32_t)s->n;
	return s->ids;
}

static int loader_open_mix(struct loader *l, struct err *e)
{
	const struct tag_mix_options *o = l->options.tags;

	if (!o || o->temperature <= 1)
		return 0;
	l->mix = tag_mix_new(l->shard, o, l->options.seed, e);
	return l->mix ? 0 : e->code;
}

struct loader *loader_new(const struct shard *s, const struct loader_options *o, struct err *e)
{
	struct loader *l = mem_alloc(1, sizeof(*l), e);

	if (!l)
		return NULL;
	l->shard = s;
	l->options = *o;
	l->pairs = shard_pairs(s);
	l->next = (uint64_t)o->rank;
	if (o->ranks < 1 || o->rank < 0 || o->rank >= o->ranks || o->batch_tokens < 1)
		err_set(e, ERR_INTERNAL, "invalid loader: rank %d of %d, batches of %d tokens",
			o->rank, o->ranks, o->batch_tokens);
	else if (!l->pairs)
		err_set(e, ERR_DATA, "the training shard has no pairs: prepare the corpus again");
	else if (!loader_open_mix(l, e) && !loader_find_max_length(l, e) &&
		 !loader_allocate(l, e) && !loader_find_token_limits(l, e) &&
		 !loader_save_epoch_start(l, 0, 0, e) && !loader_plan_window(l, 0, 0, 0, e))
		return l;
	loader_free(l);
	return NULL;
}

/* ---- micro-batches ---- */

/* others_…: tokens of the other sentences of the batch; sentences to come count as in the shard. */
static int loader_add_pair(struct loader *l, struct batch *b, const struct loader_entry *x,
			   int64_t others_source, int64_t others_target, struct err *e)
{
	const int32_t *source = l->source, *target = l->target;
	int32_t n_source = x->n_source - 1, n_target = x->n_target - 1;

	if (!l->options.resplit) {
		shard_read(l->shard, x->pair, l->source, l->target);
	} else {
		if (loader_resplit_pair(l, x, e))
			return e->code;
		source = loader_choose_ids(l, 0, l->source, others_source, &n_source);
		target = loader_choose_ids(l, 1, l->target, others_target, &n_target);
	}
	if (batch_add(b, x->pair, source, n_source, target, n_target))
		return 0;
	return err_set(e, ERR_INTERNAL,
		       "a batch for %d sentences and %d tokens is too small for "
		       "batch-tokens %d",
		       b->cap_n, b->cap_tokens, l->options.batch_tokens);
}

/* Fill b with a micro-batch of the current window or of a later one. */
static int loader_fill_batch(struct loader *l, uint64_t number, struct batch *b, struct err *e)
{
	struct shuffle order;
	int64_t k, rest_source = 0, rest_target = 0;

	batch_clear(b);
	if (loader_plan_up_to(l, number, e))
		return e->code;
	assert(number >= l->base && number - l->base < (uint64_t)l->n_batches);
	order = shuffle_make(l->n_batches, rng_key_make(l->options.seed, SHUFFLE_BATCHES,
							(uint32_t)l->epoch, (uint32_t)l->window));
	k = shuffle_at(&order, (int64_t)(number - l->base));
	for (int64_t i = l->first[k]; i < l->first[k + 1]; i++) {
		rest_source += l->entry[i].n_source;
		rest_target += l->entry[i].n_target;
	}
	for (int64_t i = l->first[k]; i < l->first[k + 1]; i++) {
		const struct loader_entry *x = &l->entry[i];

		rest_source -= x->n_source;
		rest_target -= x->n_target;
		assert(rest_source >= 0 && rest_target >= 0);
		if (loader_add_pair(l, b, x, b->n_source + rest_source, b->n_target + rest_target,
				    e))
			return e->code;
	}
	return 0;
}

static double epochs_done(const struct loader *l)
{
	uint64_t done = l->next > l->base ? l->next - l->base : 0;
	int64_t batches = (int64_t)MIN(done, (uint64_t)l->n_batches);
	double in_window = (double)l->n_entries * (double)batches / (double)l->n_batches;

	return (double)l->epoch +
	       ((double)window_start(l, l->window) + in_window) / (double)l->pairs;
}

/* ---- prefetching one micro-batch ---- */

static void *prefetch_thread(void *argument)
{
	struct loader *l = argument;
	struct batch_prefetch *a = &l->prefetch;

	a->rc = loader_fill_batch(l, a->number, &a->batch, &a->e);
	return NULL;
}

static void prefetch_join(struct loader *l)
{
	if (l->prefetch.is_running)
		pthread_join(l->prefetch.thread, NULL);
	l->prefetch.is_running = false;
}

/*
 * Start to fill the next micro-batch, in memory of the size of b. If no thread can be created,
 * loader_next() fills it later.
 */
static int prefetch_start(struct loader *l, const struct batch *b, struct err *e)
{
	struct batch_prefetch *a = &l->prefetch;

	assert(!a->is_running);
	if (a->batch.cap_n != b->cap_n || a->batch.cap_tokens != b->cap_tokens) {
		batch_free(&a->batch);
		if (batch_alloc(&a->batch, b->cap_n, b->cap_tokens, e))
			return e->code;
	}
	a->batch.without_source_end = b->without_source_end;
	a->number = l->next;
	a->e = (struct err){ 0 };
	a->is_filled = a->is_running = !pthread_create(&a->thread, NULL, prefetch_thread, l);
	return 0;
}

/* Exchange b and the prefetched batch; without a matching one, fill b now. */
static int prefetch_swap_batch(struct loader *l, struct batch *b, struct err *e)
{
	struct batch_prefetch *a = &l->prefetch;
	struct batch other = *b;

	prefetch_join(l);
	if (!a->is_filled || a->number != l->next || a->batch.cap_n != b->cap_n ||
	    a->batch.cap_tokens != b->cap_tokens)
		return loader_seek(l, l->next, e) ? e->code : loader_fill_batch(l, l->next, b, e);
	a->is_filled = false;
	if (a->rc) {
		*e = a->e;
		return a->rc;
	}
	*b = a->batch;
	a->batch = other;
	return 0;
}

/* ---- the interface ---- */

int loader_next(struct loader *l, struct batch *b, struct err *e)
{
	int rc = l->options.resplit ? prefetch_swap_batch(l, b, e)
				    : loader_fill_batch(l, l->next, b, e);

	if (rc)
		return rc;
	l->next += (uint64_t)l->options.ranks;
	l->done = epochs_done(l);
	return l->options.resplit ? prefetch_start(l, b, e) : 0;
}

uint64_t loader_position(const struct loader *l)
{
	return l->next;
}

int loader_seek(struct loader *l, uint64_t position, struct err *e)
{
	uint64_t ranks = (uint64_t)l->options.ranks, rank = (uint64_t)l->options.rank;
	size_t epoch;

	prefetch_join(l);
	l->prefetch.is_filled = false;
	epoch = l->n_epoch_base - 1;
	position += (rank + ranks - position % ranks) % ranks;
	/* Start from the last known epoch before position, unless the current window is nearer. */
	while (l->epoch_base[epoch] > position)
		epoch--;
	if ((position < l->base || epoch > l->epoch) &&
	    loader_plan_window(l, epoch, 0, l->epoch_base[epoch], e))
		return e->code;
	if (loader_plan_up_to(l, position, e))
		return e->code;
	l->next = position;
	l->done = epochs_done(l);
	return 0;
}

double loader_epoch(const struct loader *l)
{
	return l->done;
}

const struct tag_mix *loader_tag_mix(const struct loader *l)
{
	return l->mix;
}

int32_t loader_max_sentences(const struct loader *l)
{
	return (int32_t)MIN((int64_t)l->options.batch_tokens, l->pairs);
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	prefetch_join(l);
	batch_free(&l->prefetch.batch);
	tag_mix_free(l->mix);
	free(l->entry);
	free(l->first);
	free(l->bucket);
	free(l->source);
	free(l->sides[0].ids);
	free(l->sides[1].ids);
	free(l->epoch_base);
	free(l);
}
