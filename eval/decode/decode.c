/*
 * decode.c - the decoder, its options, and the shares of its workers; see decode.h
 *
 * Sources are sorted by length, so that sentences decoded together end at about the same time. Each
 * worker decodes a stream of sentences (sentence_stream.c) with one thread: it takes the next sources
 * from the common list and writes their results to the caller's places.
 */
#include "eval/decode/decode.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/beam_internal.h"
#include "eval/decode/decode_internal.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

struct decoder *decoder_new_ensemble(struct model *const *models, int32_t n, int32_t capacity,
				     int32_t workers, struct err *e)
{
	struct decoder *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->longest = INT32_MAX;
	for (; d->n_models < n; d->n_models++) {
		d->base_models[d->n_models] = models[d->n_models];
		d->longest = MIN(d->longest,
				 model_longest_sentence(model_get_shape(models[d->n_models])));
	}
	d->capacity = MIN(capacity, d->longest);
	d->n_workers = MAX(1, workers);
	if (decode_worker_init(&d->main_worker, models, n, d->capacity, e)) {
		decoder_free(d);
		return NULL;
	}
	return d;
}

int32_t decoder_capacity(const struct decoder *d)
{
	return d->capacity;
}

void decoder_set_first_token(struct decoder *d, int32_t token)
{
	d->first_token = token;
}

struct decoder *decoder_new(struct model *m, int32_t capacity, int32_t workers, struct err *e)
{
	return decoder_new_ensemble(&m, 1, capacity, workers, e);
}

static void free_workers(struct decoder *d)
{
	for (int32_t i = 0; d->workers && i < d->n_workers; i++)
		decode_worker_free(&d->workers[i]);
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
	decode_worker_free(&d->main_worker);
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
		if (decode_worker_init(&d->workers[i], &d->models[i * n], n, d->capacity, e))
			goto fail;
	return 0;
fail:
	free_workers(d);
	return e->code;
}

/* --mbr: the number of hypotheses of the search, of which --n-best are kept. */
static int read_mbr(struct decode_options *o, const struct conf *c, struct err *e)
{
	if (c->serve)
		return err_set(e, ERR_USAGE, "--mbr cannot be used with --serve");
	if (o->n_best > c->mbr)
		return err_set(e, ERR_USAGE, "--n-best %d needs at least --mbr %d", o->n_best,
			       o->n_best);
	o->mbr_keep = o->n_best;
	o->n_best = (int32_t)c->mbr;
	o->beam = MAX(o->beam, o->n_best);
	return 0;
}

int decode_options_from_conf(struct decode_options *o, const struct conf *c, struct err *e)
{
	memset(o, 0, sizeof(*o));
	o->beam = (int32_t)c->beam;
	o->n_best = (int32_t)c->n_best;
	o->alpha = c->alpha;
	o->rules = (int32_t)c->beam_rules;
	o->max_length_factor = c->max_length_factor;
	o->max_length_extra = (int32_t)c->max_length_extra;
	o->decode_tokens = (int32_t)c->decode_tokens;
	o->alignments = c->alignments;
	o->sample = c->sample;
	o->temperature = c->temperature;
	o->top_k = (int32_t)c->top_k;
	o->top_p = c->top_p;
	o->seed = (uint64_t)c->seed;
	o->repetition_penalty = c->repetition_penalty;
	o->no_repeat_ngram = (int32_t)c->no_repeat_ngram;
	o->min_length = (int32_t)c->min_length;
	if (c->mbr && read_mbr(o, c, e))
		return e->code;
	if (o->sample)
		o->beam = o->n_best;
	if (o->n_best > o->beam)
		return err_set(e, ERR_USAGE,
			       "--n-best %d needs a beam of at least %d, but the beam is %d: give "
			       "--beam %d",
			       o->n_best, o->n_best, o->beam, o->n_best);
	return 0;
}

/* Longest first; equal lengths in the caller's order. */
static int by_length(const void *a, const void *b)
{
	const struct sorted_source *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->index > y->index ? 1 : -1;
}

int decode_empty_result(const struct decode_options *o, struct decode_result *result, struct err *e)
{
	result->hypotheses = mem_alloc(1, sizeof(*result->hypotheses), e);
	if (!result->hypotheses)
		return e->code;
	result->n = 1;
	result->hypotheses->finished = true;
	return decode_hypothesis_alloc(result->hypotheses, 0, o, e);
}

/* Flow's produce: each item is a stream, and every worker gets one. */
static int start_stream(void *context, void *slot, struct err *e)
{
	struct decode_job *job = context;

	(void)slot, (void)e;
	return job->n_started < job->decoder->n_workers ? ++job->n_started : 0;
}

/* Flow's process. */
static int run_stream(void *context, int worker, void *slot, struct err *e)
{
	struct decode_job *job = context;

	(void)slot;
	return decode_stream_run(job, &job->decoder->workers[worker], e);
}

/* Flow's consume: the streams have written the results already. */
static int finish_stream(void *context, void *slot, struct err *e)
{
	(void)context, (void)slot, (void)e;
	return 0;
}

/* Decodes with all workers; streams are made small enough that every worker gets sentences. */
static int decode_in_parallel(struct decode_job *job, struct err *e)
{
	const int32_t n = job->decoder->n_workers;
	char *slots;
	struct flow flow = { start_stream, run_stream, finish_stream, job, NULL, 1, n + 2, n };
	int64_t tokens = 0;
	int rc = make_workers(job->decoder, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < job->n_sorted; i++)
		tokens += job->sorted[i].n + 1;
	tokens = CEIL_DIV(tokens * job->options->beam, n);
	if (!job->feed)
		job->max_tokens = (int32_t)MIN(job->max_tokens, tokens);
	decode_stream_limits(job);
	slots = mem_alloc((size_t)flow.n_slots, sizeof(*slots), e);
	if (!slots)
		return e->code;
	flow.slots = slots;
	rc = flow_run(&flow, e);
	free(slots);
	return rc;
}

int decode_run_streams(struct decode_job *job, struct err *e)
{
	if (job->is_parallel)
		return decode_in_parallel(job, e);
	decode_stream_limits(job);
	return decode_stream_run(job, &job->decoder->main_worker, e);
}

int decoder_run(struct decoder *d, const struct decode_options *o,
		const struct decode_source *sources, size_t n, struct decode_result *results,
		struct err *e)
{
	struct sorted_source *sorted = mem_alloc(n, sizeof(*sorted), e);
	struct decode_job job = { .decoder = d,
				  .options = o,
				  .sources = sources,
				  .results = results,
				  .sorted = sorted,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .max_tokens = o->decode_tokens };
	int rc = 0;

	memset(results, 0, n * sizeof(*results));
	if (!sorted)
		return e->code;
	for (size_t i = 0; i < n && !rc; i++) {
		results[i].truncated = sources[i].n > d->capacity - 1;
		if (sources[i].n == 0)
			rc = decode_empty_result(o, &results[i], e);
		else
			sorted[job.n_sorted++] =
				(struct sorted_source){ MIN(sources[i].n, d->capacity - 1), i,
							NULL };
	}
	qsort(sorted, job.n_sorted, sizeof(*sorted), by_length);
	job.is_parallel = d->n_workers > 1 && job.n_sorted >= 2 * (size_t)d->n_workers;
	if (!rc && job.n_sorted)
		rc = decode_run_streams(&job, e);
	pthread_mutex_destroy(&job.lock);
	free(sorted);
	if (rc)
		decode_results_free(results, n);
	return rc;
}
