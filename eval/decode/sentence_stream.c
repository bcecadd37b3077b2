/*
 * sentence_stream.c - decodes sentences of all lengths in one stream of steps; see decode_internal.h
 *
 * A step advances all hypotheses of all sentences that are being decoded. When a sentence ends, its
 * slot and its cache rows become free. When the free part reaches 1 / ADMIT_SHARE of the limits,
 * the next sentences are encoded together and join the stream with their first token. So the rows
 * of a step stay nearly full until no sentence waits, and the encoder always gets several
 * sentences.
 *
 * Steps with a shortlist compute logits for the candidates of all sentences together, whose
 * weights are gathered once: new sentences must wait until the last one has ended.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "eval/decode/decode_internal.h"
#include "eval/decode/sampling.h"
#include "share/base/mem.h"

/*
 * Limits of the rows of a step; decode_tokens / 8 is a further limit. They keep the logits of a
 * large vocabulary small.
 */
#define MAX_ROWS	   1024
#define MAX_FULL_ROWS	   64 /* all logits are copied to the host: 8 MB for 32,000 tokens */
#define MAX_SHORTLIST_ROWS 64 /* few sentences have few candidates together */

/*
 * With a feed, rows for each thread of a CPU: more of them make matrix products hardly faster, but leave the cache, and each step,
 * so each sentence, takes longer.
 */
#define FED_ROWS 96

/* Tokens of a phrase of a constraint that a stream with a feed has room for. */
#define MAX_PHRASE_STEPS 64

/* Encoding few sentences takes about as long as a step, so room for several is awaited. */
#define ADMIT_SHARE 4

static int32_t max_length(const struct decode_options *o, int32_t n_source)
{
	double n = floor(o->max_length_factor * n_source) + o->max_length_extra;

	n = MAX(n, o->min_length + 1.0);
	return n < 1 ? 1 : n > 1e6 ? 1000000 : (int32_t)n;
}

/* Do steps need the log-probabilities of all tokens on the host? */
static bool needs_all_tokens(const struct decode_options *o, int32_t n_models)
{
	return o->sample || o->constraints || o->forbid || n_models > 1 || decode_has_penalties(o);
}

static const struct decode_constraint *constraint_of(const struct decode_job *job,
						     const struct sorted_source *source)
{
	const struct decode_options *o = job->options;

	if (job->feed)
		return source->fed->constraint;
	return o->constraints ? &o->constraints[source->index] : NULL;
}

static const int32_t *source_ids(const struct decode_job *job, const struct sorted_source *source)
{
	return job->feed ? source->fed->source.ids : job->sources[source->index].ids;
}

/* The greatest number of target tokens of a sorted source. */
static int32_t longest_target(const struct decode_job *job, const struct sorted_source *source)
{
	const struct decode_options *o = job->options;
	const struct decode_constraint *c = constraint_of(job, source);

	return MIN(max_length(o, source->n) + (job->decoder->first_token != TOKEN_PAD) +
			   (c ? c->n_prefix + beam_phrase_tokens(c, UINT32_MAX) : 0),
		   job->feed ? job->limits.max_steps : job->decoder->longest);
}

/* ---- limits ---------------------------------------------------------------- */

/* Sources of a feed may have any length; the cache grows when they come. */
static void limit_fed_stream(struct decode_job *job)
{
	struct incremental_options *limits = &job->limits;
	const struct decoder *d = job->decoder;
	const int32_t threads = job->is_parallel ? 1 : d->n_workers,
		      rows = model_get_ops(d->base_models[0])->has_device_memory
				     ? job->max_rows
				     : MAX(job->options->beam, FED_ROWS * threads);

	limits->max_source = d->capacity;
	limits->max_steps = MIN(d->longest, max_length(job->options, d->capacity) +
						    DECODE_MAX_PHRASES * MAX_PHRASE_STEPS);
	limits->max_rows = MIN(job->max_rows, rows);
	limits->cache_rows = limits->max_source + 8 * limits->max_rows;
}

void decode_stream_limits(struct decode_job *job)
{
	const struct decode_options *o = job->options;
	const int32_t row_limit = needs_all_tokens(o, job->decoder->n_models) ? MAX_FULL_ROWS
				  : o->shortlist			      ? MAX_SHORTLIST_ROWS
									      : MAX_ROWS;
	struct incremental_options *limits = &job->limits;
	int64_t tokens = 0, most = 0;

	job->max_rows = MAX(o->beam, MIN(row_limit, o->decode_tokens / 8));
	*limits = (struct incremental_options){
		.all = needs_all_tokens(o, job->decoder->n_models),
	};
	if (job->feed) {
		limit_fed_stream(job);
		return;
	}
	limits->max_source = job->sorted[0].n + 1;
	/* the shortest sources, from the end, show how many fit at the same time */
	for (size_t i = job->n_sorted; i-- > 0;) {
		const int64_t n = job->sorted[i].n + 1;

		limits->max_steps = MAX(limits->max_steps, longest_target(job, &job->sorted[i]));
		tokens += n;
		if (limits->max_rows == 0 || (tokens * o->beam <= job->max_tokens &&
					      limits->max_rows + o->beam <= job->max_rows))
			limits->max_rows += o->beam;
	}
	/* Most translations are about as long as their source. A longer one grows the cache. */
	most = MIN(tokens, MAX(job->max_tokens / o->beam, limits->max_source));
	limits->cache_rows = most + MIN((int64_t)limits->max_rows * limits->max_steps,
					most * o->beam + (int64_t)limits->max_rows * 8);
}

/* ---- new sentences ---------------------------------------------------------- */

/* Is enough room free to let sentences join? */
static bool may_admit(const struct decode_job *job, const struct decode_worker *w)
{
	const int32_t beam = job->options->beam, free_tokens = job->max_tokens - w->tokens * beam,
		      free_rows = job->limits.max_rows - w->n_sentences * beam;

	if (job->feed && decode_feed_wants_workers(job))
		return false;
	if (w->n_sentences == 0)
		return true;
	if (job->feed && !decode_feed_admits(job, w->n_sentences, w->steps_waited))
		return false;
	return !job->options->shortlist && !job->options->whole_batches &&
	       free_tokens >= job->max_tokens / ADMIT_SHARE &&
	       free_rows >= MAX(beam, job->limits.max_rows / ADMIT_SHARE);
}

/* Does the source fit together with the live sentences and those of the new batch? */
static bool source_fits(const struct decode_job *job, const struct decode_worker *w, int32_t tokens)
{
	const int32_t beam = job->options->beam, capacity = job->decoder->capacity;
	const int64_t all_tokens = (int64_t)w->tokens + w->batch.n_source + tokens,
		      sentences = (int64_t)w->n_sentences + w->batch.n + 1;

	if (w->batch.n_source + tokens > capacity || w->batch.n + 1 > MAX(1, capacity / 2))
		return false;
	return sentences == 1 ||
	       (all_tokens * beam <= job->max_tokens && sentences * beam <= job->limits.max_rows);
}

/* Moves waiting sources, as many as fit, to w->batch and to their slots. */
static void take_sources(struct decode_job *job, struct decode_worker *w)
{
	size_t most;
	int32_t slot = 0;

	batch_clear(&w->batch);
	pthread_mutex_lock(&job->lock);
	most = job->feed ? decode_feed_share(job) : job->n_sorted;
	for (; most && job->n_taken < job->n_sorted; most--) {
		const struct sorted_source *source = &job->sorted[job->n_taken];
		bool is_added;

		if (!source_fits(job, w, source->n + 1))
			break;
		is_added = batch_add(&w->batch, (int64_t)job->n_taken, source_ids(job, source),
				     source->n, NULL, 0);
		assert(is_added);
		(void)is_added;
		while (w->slots[slot].beam)
			slot++;
		w->slots[slot].source = *source;
		w->new_slots[w->batch.n - 1] = slot++;
		job->n_taken++;
	}
	pthread_mutex_unlock(&job->lock);
}

/* Lets nobody take further sources, after a failure. */
static void drop_sources(struct decode_job *job)
{
	pthread_mutex_lock(&job->lock);
	job->n_taken = job->n_sorted;
	pthread_mutex_unlock(&job->lock);
}

/* Starts the search of source i of w->batch. */
static int start_sentence(const struct decode_job *job, struct decode_worker *w, int32_t i,
			  struct err *e)
{
	const int32_t slot = w->new_slots[i], r = w->rows.n;
	const struct sorted_source *source = &w->slots[slot].source;
	const struct decode_constraint *constraint = constraint_of(job, source);
	struct decode_options o = *job->options;

	if (job->feed) {
		o.n_best = source->fed->n_best;
		o.alignments |= source->fed->alignments;
	}
	w->slots[slot].is_cancelled = false;
	w->slots[slot].beam =
		beam_new(&o, constraint, constraint ? constraint->number : source->index,
			 job->decoder->first_token, longest_target(job, source), e);
	if (!w->slots[slot].beam)
		return e->code;
	w->n_sentences++;
	w->n_aligned += job->feed && source->fed->alignments;
	w->tokens += source->n + 1;
	assert(r < w->cap_rows);
	w->rows.sentence[r] = slot;
	w->rows.parent[r] = 0;
	w->rows.token[r] = TOKEN_START;
	w->rows.n++;
	return 0;
}

static int find_candidates(const struct decode_job *job, struct decode_worker *w, struct err *e)
{
	if (mem_grow(&w->constraints, &w->cap_constraints, (size_t)w->batch.n,
		     sizeof(*w->constraints), e))
		return e->code;
	for (int32_t i = 0; i < w->batch.n; i++)
		w->constraints[i] = constraint_of(job, &w->slots[w->new_slots[i]].source);
	return shortlist_candidates_find(&w->candidates, job->options->shortlist,
					 model_get_shape(w->model)->vocabulary, &w->batch,
					 w->constraints, e);
}

/* Encodes waiting sentences, if there are any and enough room is free. */
static int admit_sentences(struct decode_job *job, struct decode_worker *w, struct err *e)
{
	struct incremental_options limits = job->limits;
	const bool is_first = w->n_sentences == 0;

	if (!may_admit(job, w))
		return 0;
	take_sources(job, w);
	if (w->batch.n == 0)
		return 0;
	w->steps_waited = 0;
	if (job->options->shortlist) {
		if (find_candidates(job, w, e))
			return e->code;
		limits.candidates = &w->candidates;
	}
	for (int32_t i = 0; i < w->batch.n; i++)
		if (start_sentence(job, w, i, e))
			return e->code;
	for (int32_t i = 0; i < w->n_models; i++)
		if ((is_first && incremental_begin(w->decoders[i], &limits, e)) ||
		    incremental_add(w->decoders[i], &w->batch, w->new_slots, e))
			return e->code;
	return 0;
}

/* ---- steps ------------------------------------------------------------------- */

/* Stores the result of a slot, or hands it to the feed. */
static int keep_result(struct decode_job *job, const struct decode_slot *s, struct err *e)
{
	struct decode_result result = { .n = 0 };

	if (!job->feed)
		return beam_result(s->beam, &job->results[s->source.index], e);
	if (s->is_cancelled)
		return decode_feed_finish(job, s->source.fed, NULL, e);
	if (beam_result(s->beam, &result, e))
		return e->code;
	return decode_feed_finish(job, s->source.fed, &result, e);
}

/* A search is over: stores its result and frees its slot. */
static int end_sentence(struct decode_job *job, struct decode_worker *w, int32_t slot,
			struct err *e)
{
	struct decode_slot *s = &w->slots[slot];

	w->n_aligned -= job->feed && s->source.fed->alignments;
	if (keep_result(job, s, e))
		return e->code;
	for (int32_t i = 0; i < w->n_models; i++)
		incremental_remove(w->decoders[i], slot);
	w->n_sentences--;
	w->tokens -= s->source.n + 1;
	beam_free(s->beam);
	s->beam = NULL;
	return 0;
}

/* The scores of the rows first ... end - 1, which belong to one sentence. */
static struct beam_scores view_sentence_rows(struct decode_worker *d, const int32_t *aligned,
					     int32_t first, int32_t end, int32_t k, bool full)
{
	const int32_t vocabulary = model_get_shape(d->model)->vocabulary,
		      n_real = model_get_shape(d->model)->real_vocabulary;
	const struct beam_scores own = {
		.values = d->found.values + (int64_t)first * k,
		.ids = d->found.ids + (int64_t)first * k,
		.aligned = aligned ? aligned + first : NULL,
		.k = k,
		.all = full ? d->all + (int64_t)first * vocabulary : NULL,
		.stride = vocabulary,
		.n_real = n_real,
	};

	if (full)
		beam_change_scores(d->slots[d->rows.sentence[first]].beam,
				   d->all + (int64_t)first * vocabulary, vocabulary, n_real);
	if (full && beam_wants_best(d->slots[d->rows.sentence[first]].beam))
		for (int64_t r = first; r < end; r++)
			sampling_top_k(d->all + r * vocabulary, n_real, k, d->found.values + r * k,
				       d->found.ids + r * k);
	return own;
}

/* Advances the search of the rows first ... end - 1 and adds their successors to w->next. */
static int advance_sentence(struct decode_job *job, struct decode_worker *w, int32_t first,
			    const struct beam_scores *scores, struct err *e)
{
	const int32_t slot = w->rows.sentence[first];
	struct beam_live live;

	if (w->slots[slot].is_cancelled)
		return end_sentence(job, w, slot, e);
	if (beam_advance(w->slots[slot].beam, scores, &live, e))
		return e->code;
	for (int32_t i = 0; i < live.n; i++) {
		w->next.sentence[w->next.n] = slot;
		w->next.parent[w->next.n] = first + live.parent[i];
		w->next.token[w->next.n++] = live.token[i];
	}
	return live.n ? 0 : end_sentence(job, w, slot, e);
}

/* One step of all sentences. */
static int step_sentences(struct decode_job *job, struct decode_worker *w, struct err *e)
{
	const struct decode_options *o = job->options;
	const int32_t k = MIN(beam_width(o), model_get_shape(w->model)->real_vocabulary);
	const bool full = needs_all_tokens(o, w->n_models);
	struct incremental_output found = w->found;
	struct incremental_rows swap;
	int32_t *aligned = o->alignments || w->n_aligned ? w->found.aligned : NULL;

	found.aligned = aligned;
	if (full ? decode_ensemble_step(w, &found, e)
		 : incremental_step(w->decoders[0], &w->rows, k, &found, e))
		return e->code;
	w->next.n = 0;
	for (int32_t r = 0, end; r < w->rows.n; r = end) {
		struct beam_scores own;

		for (end = r; end < w->rows.n && w->rows.sentence[end] == w->rows.sentence[r];)
			end++;
		own = view_sentence_rows(w, aligned, r, end, k, full);
		if (advance_sentence(job, w, r, &own, e))
			return e->code;
	}
	assert(w->next.n <= w->cap_rows);
	swap = w->rows;
	w->rows = w->next;
	w->next = swap;
	return 0;
}

int decode_stream_run(struct decode_job *job, struct decode_worker *w, struct err *e)
{
	const int32_t n_slots = job->limits.max_rows;
	int rc = decode_reserve(w, n_slots, n_slots, e);

	for (int32_t i = 0; i < n_slots && !rc; i++)
		w->slots[i].beam = NULL;
	w->rows.n = w->n_sentences = w->n_aligned = w->tokens = 0;
	if (job->feed)
		decode_feed_begin_stream(job);
	while (!rc) {
		if (job->feed)
			rc = decode_feed_update(job, w, e);
		if (!rc)
			rc = admit_sentences(job, w, e);
		if (!rc && w->rows.n)
			rc = step_sentences(job, w, e);
		else if (rc || !job->feed || !decode_feed_wait(job))
			break;
	}
	if (rc && job->feed)
		decode_feed_end(job);
	else if (rc)
		drop_sources(job);
	for (int32_t i = 0; w->n_sentences > 0 && i < n_slots; i++) {
		beam_free(w->slots[i].beam);
		w->slots[i].beam = NULL;
	}
	return rc;
}
