/* decode.c - batches, steps and workers of the decoder; see decode.h */
#include "eval/decode/decode.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/decode_internal.h"
#include "eval/decode/sampling.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

/*
 * Limits of the rows of a step; decode_tokens / 8 is a further limit. They keep the logits of a
 * large vocabulary small.
 */
#define MAX_ROWS	   1024
#define MAX_FULL_ROWS	   64 /* all logits are copied to the host: 8 MB for 32,000 tokens */
#define MAX_SHORTLIST_ROWS 64 /* few sentences have few candidates together */

/* A source and its index in the caller's list. */
struct sorted_source {
	int32_t n; /* tokens that are translated */
	size_t index;
};

/* The sources of one batch: sorted[first .. first + n). */
struct batch_range {
	size_t first, n;
};

static void worker_free(struct decode_worker *w)
{
	for (int32_t i = 0; i < w->n_models; i++)
		incremental_free(w->decoders[i]);
	batch_free(&w->batch);
	free(w->beams);
	free(w->ints);
	shortlist_candidates_free(&w->candidates);
	free(w->constraints);
	free(w->all);
	free(w->next_model_all);
	*w = (struct decode_worker){ .model = NULL };
}

static int worker_init(struct decode_worker *w, struct model *const *models, int32_t n,
		       int32_t capacity, struct err *e)
{
	w->model = models[0];
	for (; w->n_models < n; w->n_models++) {
		w->decoders[w->n_models] = incremental_new(models[w->n_models], e);
		if (!w->decoders[w->n_models])
			return e->code;
	}
	return batch_alloc(&w->batch, MAX(1, capacity / 2), capacity, e) ? e->code : 0;
}

struct decoder *decoder_new_ensemble(struct model *const *models, int32_t n, int32_t capacity,
				     int32_t workers, struct err *e)
{
	struct decoder *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	for (; d->n_models < n; d->n_models++)
		d->base_models[d->n_models] = models[d->n_models];
	d->capacity = capacity;
	d->n_workers = MAX(1, workers);
	if (worker_init(&d->main_worker, models, n, capacity, e)) {
		decoder_free(d);
		return NULL;
	}
	return d;
}

struct decoder *decoder_new(struct model *m, int32_t capacity, int32_t workers, struct err *e)
{
	return decoder_new_ensemble(&m, 1, capacity, workers, e);
}

static void free_workers(struct decoder *d)
{
	for (int32_t i = 0; d->workers && i < d->n_workers; i++)
		worker_free(&d->workers[i]);
	for (int32_t i = 0; d->models && i < d->n_workers * d->n_models; i++)
		model_free(d->models[i]);
	free(d->workers);
	free(d->models);
	d->workers = NULL;
	d->models = NULL;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	worker_free(&d->main_worker);
	free_workers(d);
	free(d);
}

static int make_workers(struct decoder *d, struct err *e)
{
	const int32_t n = d->n_models;

	if (d->workers)
		return 0;
	d->workers = mem_alloc((size_t)d->n_workers, sizeof(*d->workers), e);
	d->models = mem_alloc((size_t)d->n_workers, (size_t)n * sizeof(*d->models), e);
	if (!d->workers || !d->models)
		goto fail;
	for (int32_t i = 0; i < d->n_workers * n; i++) {
		d->models[i] =
			model_share(d->base_models[i % n], d->capacity, MAX(1, d->capacity / 2), e);
		if (!d->models[i])
			goto fail;
	}
	for (int32_t i = 0; i < d->n_workers; i++)
		if (worker_init(&d->workers[i], &d->models[i * n], n, d->capacity, e))
			goto fail;
	return 0;
fail:
	free_workers(d);
	return e->code;
}

int decode_options_from_conf(struct decode_options *o, const struct conf *c, struct err *e)
{
	memset(o, 0, sizeof(*o));
	o->beam = (int32_t)c->beam;
	o->n_best = (int32_t)c->n_best;
	o->alpha = c->alpha;
	o->max_length_factor = c->max_length_factor;
	o->max_length_extra = (int32_t)c->max_length_extra;
	o->decode_tokens = (int32_t)c->decode_tokens;
	o->alignments = c->alignments;
	o->sample = c->sample;
	o->temperature = c->temperature;
	o->top_k = (int32_t)c->top_k;
	o->top_p = c->top_p;
	o->seed = (uint64_t)c->seed;
	if (o->sample)
		o->beam = o->n_best;
	if (o->n_best > o->beam)
		return err_set(e, ERR_USAGE,
			       "--n-best %d needs a beam of at least %d, but the beam is %d: give "
			       "--beam %d",
			       o->n_best, o->n_best, o->beam, o->n_best);
	return 0;
}

void decode_results_free(struct decode_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (int32_t h = 0; results[i].hypotheses && h < results[i].n; h++) {
			free(results[i].hypotheses[h].tokens);
			free(results[i].hypotheses[h].aligned);
			free(results[i].hypotheses[h].log_probs);
		}
		free(results[i].hypotheses);
		memset(&results[i], 0, sizeof(results[i]));
	}
}

/* Longest first: the largest batch sets all buffer sizes. Equal lengths in the caller's order. */
static int by_length(const void *a, const void *b)
{
	const struct sorted_source *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->index > y->index ? 1 : -1;
}

int decode_reserve(struct decode_worker *d, int32_t sentences, int32_t rows, struct err *e)
{
	size_t n = (size_t)rows, need;
	int32_t *at;

	if (mem_grow(&d->beams, &d->cap_sentences, (size_t)sentences, sizeof(*d->beams), e))
		return e->code;
	if (rows <= d->cap_rows)
		return 0;
	if (!mem_mul(n, 7 + 2 * INCREMENTAL_MAX_K, &need))
		return err_set(e, ERR_NOMEM,
			       "cannot decode %d hypotheses at once: lower --decode-tokens", rows);
	free(d->ints);
	d->cap_rows = 0;
	at = d->ints = mem_alloc(need, sizeof(*at), e);
	if (!at)
		return e->code;
	d->rows.sentence = at;
	d->rows.parent = at + n;
	d->rows.token = at + 2 * n;
	d->next.sentence = at + 3 * n;
	d->next.parent = at + 4 * n;
	d->next.token = at + 5 * n;
	d->found.aligned = at + 6 * n;
	d->found.ids = at + 7 * n;
	d->found.values = (float *)(at + (7 + INCREMENTAL_MAX_K) * n);
	d->cap_rows = rows;
	return 0;
}

static int32_t max_length(const struct decode_options *o, int32_t n_source)
{
	double n = floor(o->max_length_factor * n_source) + o->max_length_extra;

	return n < 1 ? 1 : n > 1e6 ? 1000000 : (int32_t)n;
}

/* Do steps need the log-probabilities of all tokens on the host? */
static bool needs_all_tokens(const struct decode_options *o, int32_t n_models)
{
	return o->sample || o->constraints || o->forbid || n_models > 1;
}

int decode_ensemble_step(struct decode_worker *d, struct incremental_output *found, struct err *e)
{
	const int32_t vocabulary = model_get_shape(d->model)->vocabulary,
		      n_real = model_get_shape(d->model)->real_vocabulary;
	const size_t floats = (size_t)d->rows.n * (size_t)vocabulary;

	if (mem_grow(&d->all, &d->cap_all, floats, sizeof(*d->all), e) ||
	    (d->n_models > 1 && mem_grow(&d->next_model_all, &d->cap_next_model_all, floats,
					 sizeof(*d->next_model_all), e)))
		return e->code;
	for (int32_t i = 0; i < d->n_models; i++) {
		found->all = i ? d->next_model_all : d->all;
		if (incremental_step(d->decoders[i], &d->rows, 0, found, e))
			return e->code;
		found->aligned = NULL; /* alignments come from the first model */
		for (int32_t r = 0; i && r < d->rows.n; r++)
			sampling_log_add(d->all + (int64_t)r * vocabulary,
					 d->next_model_all + (int64_t)r * vocabulary, n_real);
	}
	for (int32_t r = 0; d->n_models > 1 && r < d->rows.n; r++)
		sampling_shift(d->all + (int64_t)r * vocabulary, n_real, -log(d->n_models));
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
		beam_ban_phrases(d->beams[d->rows.sentence[first]],
				 d->all + (int64_t)first * vocabulary, vocabulary);
	if (full && beam_wants_best(d->beams[d->rows.sentence[first]]))
		for (int64_t r = first; r < end; r++)
			sampling_top_k(d->all + r * vocabulary, n_real, k, d->found.values + r * k,
				       d->found.ids + r * k);
	return own;
}

/* One step of all sentences of the batch. */
static int step_sentences(struct decode_worker *d, const struct decode_options *o, int32_t k,
			  struct err *e)
{
	const bool full = needs_all_tokens(o, d->n_models);
	struct incremental_output found = d->found;
	struct incremental_rows swap;
	struct beam_live live;
	int32_t *aligned = o->alignments ? d->found.aligned : NULL;

	found.aligned = aligned;
	if (full ? decode_ensemble_step(d, &found, e)
		 : incremental_step(d->decoders[0], &d->rows, k, &found, e))
		return e->code;
	d->next.n = 0;
	for (int32_t r = 0, end; r < d->rows.n; r = end) {
		int32_t sentence = d->rows.sentence[r];
		struct beam_scores own;

		for (end = r; end < d->rows.n && d->rows.sentence[end] == sentence;)
			end++;
		own = view_sentence_rows(d, aligned, r, end, k, full);
		if (beam_advance(d->beams[sentence], &own, &live, e))
			return e->code;
		for (int32_t i = 0; i < live.n; i++) {
			d->next.sentence[d->next.n] = sentence;
			d->next.parent[d->next.n] = r + live.parent[i];
			d->next.token[d->next.n++] = live.token[i];
		}
	}
	assert(d->next.n <= d->cap_rows);
	swap = d->rows;
	d->rows = d->next;
	d->next = swap;
	return 0;
}

/* Tokens that a constraint adds to the greatest length. */
static int32_t constraint_length(const struct decode_constraint *w)
{
	int32_t n = w->n_prefix;

	for (int32_t i = 0; i < w->n_phrases; i++)
		n += w->phrases[i].n;
	return n;
}

/* Finds the candidates of a shortlist and encodes the batch with each model. */
static int begin_steps(struct decode_worker *d, const struct decode_options *o,
		       const struct sorted_source *sorted, int32_t steps, struct err *e)
{
	const struct incremental_options how = {
		.max_rows = d->batch.n * o->beam,
		.max_steps = steps,
		.all = needs_all_tokens(o, d->n_models),
		.candidates = o->shortlist ? &d->candidates : NULL,
	};

	if (o->shortlist) {
		if (mem_grow(&d->constraints, &d->cap_constraints, (size_t)d->batch.n,
			     sizeof(*d->constraints), e))
			return e->code;
		for (int32_t i = 0; i < d->batch.n; i++)
			d->constraints[i] =
				o->constraints ? &o->constraints[sorted[i].index] : NULL;
		if (shortlist_candidates_find(&d->candidates, o->shortlist,
					      model_get_shape(d->model)->vocabulary, &d->batch,
					      d->constraints, e))
			return e->code;
	}
	for (int32_t i = 0; i < d->n_models; i++)
		if (incremental_begin(d->decoders[i], &d->batch, &how, e))
			return e->code;
	return 0;
}

/* Decodes d->batch; source i of the batch is sorted[i]. */
static int decode_batch(struct decode_worker *d, const struct decode_options *o,
			const struct sorted_source *sorted, struct decode_result *results,
			struct err *e)
{
	int32_t n = d->batch.n, steps = 0;
	int rc = 0;
	int32_t k = (int32_t)MIN(beam_width(o), model_get_shape(d->model)->real_vocabulary);

	if (decode_reserve(d, n, n * o->beam, e))
		return e->code;
	memset(d->beams, 0, (size_t)n * sizeof(*d->beams));
	for (int32_t i = 0; i < n; i++) {
		const struct decode_constraint *constraint =
			o->constraints ? &o->constraints[sorted[i].index] : NULL;
		int32_t longest =
			max_length(o, d->batch.source_start[i + 1] - d->batch.source_start[i] - 1);

		longest += constraint ? constraint_length(constraint) : 0;
		steps = MAX(steps, longest);
		d->rows.sentence[i] = i;
		d->rows.token[i] = TOKEN_START;
		d->beams[i] =
			beam_new(o, constraint, constraint ? constraint->number : sorted[i].index,
				 longest, e);
		if (!d->beams[i]) {
			rc = e->code;
			goto out;
		}
	}
	d->rows.n = n;
	rc = begin_steps(d, o, sorted, steps, e);
	while (!rc && d->rows.n > 0)
		rc = step_sentences(d, o, k, e);
	for (int32_t i = 0; i < n && !rc; i++)
		rc = beam_result(d->beams[i], &results[sorted[i].index], e);
out:
	for (int32_t i = 0; i < n; i++)
		beam_free(d->beams[i]);
	return rc;
}

/* The result of a source without tokens: one empty hypothesis. */
static int empty_result(const struct decode_options *o, struct decode_result *result, struct err *e)
{
	result->hypotheses = mem_alloc(1, sizeof(*result->hypotheses), e);
	if (!result->hypotheses)
		return e->code;
	result->n = 1;
	result->hypotheses->finished = true;
	result->hypotheses->tokens = mem_alloc(1, sizeof(int32_t), e);
	if (o->alignments && result->hypotheses->tokens)
		result->hypotheses->aligned = mem_alloc(1, sizeof(int32_t), e);
	if (!result->hypotheses->tokens || (o->alignments && !result->hypotheses->aligned))
		return e->code;
	return 0;
}

/* One call of decoder_run(). */
struct decode_job {
	struct decoder *decoder;
	const struct decode_options *options;
	const struct decode_source *sources;
	struct decode_result *results;
	const struct sorted_source *sorted; /* by falling length */
	size_t n_sorted, n_taken;
	int32_t tokens; /* source tokens times beam of a batch, at most */
};

/* Cuts the next batch: as many sorted sources as fit. 1: cut; 0: no source is left. Flow's make. */
static int cut_batch(void *context, void *slot, struct err *e)
{
	struct decode_job *job = context;
	struct batch_range *range = slot;
	const struct decode_options *o = job->options;
	int32_t row_limit = needs_all_tokens(o, job->decoder->n_models) ? MAX_FULL_ROWS
			    : o->shortlist				? MAX_SHORTLIST_ROWS
									: MAX_ROWS;
	int32_t max_rows = MAX(o->beam, MIN(row_limit, o->decode_tokens / 8));
	int32_t capacity = job->decoder->capacity;
	int64_t tokens = 0;

	*range = (struct batch_range){ job->n_taken, 0 };
	for (; range->first + range->n < job->n_sorted; range->n++) {
		tokens += job->sorted[range->first + range->n].n + 1;
		if (tokens > capacity || (int64_t)range->n + 1 > MAX(1, capacity / 2) ||
		    (range->n > 0 && (tokens * o->beam > job->tokens ||
				      ((int64_t)range->n + 1) * o->beam > max_rows)))
			break;
	}
	if (range->n == 0 && range->first < job->n_sorted)
		return err_set(e, ERR_INTERNAL,
			       "a sentence of %d tokens does not fit an empty batch",
			       job->sorted[range->first].n);
	job->n_taken += range->n;
	return range->n > 0;
}

static int decode_range(struct decode_job *job, struct decode_worker *w,
			const struct batch_range *range, struct err *e)
{
	const struct sorted_source *sorted = job->sorted + range->first;

	batch_clear(&w->batch);
	for (size_t i = 0; i < range->n; i++)
		if (!batch_add(&w->batch, (int64_t)sorted[i].index,
			       job->sources[sorted[i].index].ids, sorted[i].n, NULL, 0))
			return err_set(e, ERR_INTERNAL, "a batch of %zu sentences does not fit",
				       range->n);
	return decode_batch(w, job->options, sorted, job->results, e);
}

/* Flow's work. */
static int decode_slot(void *context, int worker, void *slot, struct err *e)
{
	struct decode_job *job = context;

	return decode_range(job, &job->decoder->workers[worker], slot, e);
}

/* Flow's take: decode_slot() has written the results already. */
static int finish_slot(void *context, void *slot, struct err *e)
{
	(void)context, (void)slot, (void)e;
	return 0;
}

static int decode_serially(struct decode_job *job, struct err *e)
{
	struct batch_range range;
	int rc;

	while ((rc = cut_batch(job, &range, e)) > 0)
		if (decode_range(job, &job->decoder->main_worker, &range, e))
			return e->code;
	return rc;
}

/* Decodes with all workers; batches are made small enough that every worker gets some. */
static int decode_in_parallel(struct decode_job *job, struct err *e)
{
	int32_t n = job->decoder->n_workers;
	struct batch_range *slots;
	struct flow flow = { cut_batch, decode_slot,	finish_slot, job,
			     NULL,	sizeof(*slots), n + 2,	     n };
	int64_t tokens = 0;
	int rc = make_workers(job->decoder, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < job->n_sorted; i++)
		tokens += job->sorted[i].n + 1;
	tokens = CEIL_DIV(tokens * job->options->beam, n);
	job->tokens = (int32_t)MIN(job->tokens, tokens);
	slots = mem_alloc((size_t)flow.n_slots, sizeof(*slots), e);
	if (!slots)
		return e->code;
	flow.slots = slots;
	rc = flow_run(&flow, e);
	free(slots);
	return rc;
}

int decoder_run(struct decoder *d, const struct decode_options *o,
		const struct decode_source *sources, size_t n, struct decode_result *results,
		struct err *e)
{
	struct sorted_source *sorted = mem_alloc(n, sizeof(*sorted), e);
	struct decode_job job = { d, o, sources, results, sorted, 0, 0, o->decode_tokens };
	int rc = 0;

	memset(results, 0, n * sizeof(*results));
	if (!sorted)
		return e->code;
	for (size_t i = 0; i < n && !rc; i++) {
		results[i].truncated = sources[i].n > d->capacity - 1;
		if (sources[i].n == 0)
			rc = empty_result(o, &results[i], e);
		else
			sorted[job.n_sorted++] =
				(struct sorted_source){ MIN(sources[i].n, d->capacity - 1), i };
	}
	qsort(sorted, job.n_sorted, sizeof(*sorted), by_length);
	if (!rc && d->n_workers > 1 && job.n_sorted >= 2 * (size_t)d->n_workers)
		rc = decode_in_parallel(&job, e);
	else if (!rc)
		rc = decode_serially(&job, e);
	free(sorted);
	if (rc)
		decode_results_free(results, n);
	return rc;
}
