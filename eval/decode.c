/* decode.c - see decode.h */
#include "eval/decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/beam.h"
#include "eval/stepper.h"
#include "share/base/mem.h"

/*
 * Rows of a step are limited so that the logits of a large vocabulary stay small:
 * decode_tokens / 8, at most 1024.
 */
#define MAX_ROWS 1024

struct decoder {
	struct model *model;		/* borrowed */
	struct stepper *stepper;
	struct batch batch;
	int32_t capacity;

	/* of the batch that is being decoded */
	struct beam **beams;		/* (cap_sentences) owned; NULL: done */
	size_t cap_sentences;
	struct stepper_rows rows, next;	/* (cap_rows) */
	struct stepper_found found;	/* (cap_rows, STEPPER_MAX_K) */
	int32_t *ints;			/* owned: memory of rows, next and found */
	int32_t cap_rows;
};

/* A source with its place in the caller's list. */
struct sorted {
	int32_t n;
	size_t  place;
};

struct decoder *decoder_new(struct model *m, int32_t capacity, struct err *e)
{
	struct decoder *d = mem_alloc(1, sizeof(*d), e);

	if (!d)
		return NULL;
	d->model = m;
	d->capacity = capacity;
	d->stepper = stepper_new(m, e);
	if (!d->stepper || batch_alloc(&d->batch, MAX(1, capacity / 2), capacity, e)) {
		decoder_free(d);
		return NULL;
	}
	return d;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	stepper_free(d->stepper);
	batch_free(&d->batch);
	free(d->beams);
	free(d->ints);
	free(d);
}

int decode_options_from_conf(struct decode_options *o, const struct conf *c, struct err *e)
{
	o->beam = (int32_t)c->beam;
	o->n_best = (int32_t)c->n_best;
	o->alpha = c->alpha;
	o->max_length_factor = c->max_length_factor;
	o->max_length_extra = (int32_t)c->max_length_extra;
	o->decode_tokens = (int32_t)c->decode_tokens;
	o->alignments = c->alignments;
	if (o->n_best > o->beam)
		return err_set(e, ERR_USAGE,
			       "%d translations per sentence need a beam of at least as many, and "
			       "it is %d: give --beam %d",
			       o->n_best, o->beam, o->n_best);
	return 0;
}

void decode_results_free(struct decode_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (int32_t h = 0; results[i].hypotheses && h < results[i].n; h++) {
			free(results[i].hypotheses[h].tokens);
			free(results[i].hypotheses[h].aligned);
		}
		free(results[i].hypotheses);
		memset(&results[i], 0, sizeof(results[i]));
	}
}

/* Longest first, so that the largest batch comes first; equal lengths in the caller's order. */
static int by_length(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->place > y->place ? 1 : -1;
}

static int reserve(struct decoder *d, int32_t sentences, int32_t rows, struct err *e)
{
	size_t n = (size_t)rows, need;
	int32_t *at;

	if (mem_grow(&d->beams, &d->cap_sentences, (size_t)sentences, sizeof(*d->beams), e))
		return e->code;
	if (rows <= d->cap_rows)
		return 0;
	if (!mem_mul(n, 7 + 2 * STEPPER_MAX_K, &need))
		return err_set(e, ERR_NOMEM, "%d rows are too many to decode at once", rows);
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
	d->found.values = (float *)(at + (7 + STEPPER_MAX_K) * n);
	d->cap_rows = rows;
	return 0;
}

static int32_t max_length(const struct decode_options *o, int32_t n_source)
{
	double n = floor(o->max_length_factor * n_source) + o->max_length_extra;

	return n < 1 ? 1 : n > 1e6 ? 1000000 : (int32_t)n;
}

/* One step of all sentences of the batch. */
static int step(struct decoder *d, const struct decode_options *o, int32_t k, struct err *e)
{
	struct stepper_found found = d->found;
	struct stepper_rows swap;
	struct beam_live live;

	if (!o->alignments)
		found.aligned = NULL;
	if (stepper_step(d->stepper, &d->rows, k, &found, e))
		return e->code;
	d->next.n = 0;
	for (int32_t r = 0, end; r < d->rows.n; r = end) {
		int32_t sentence = d->rows.sentence[r];
		struct beam_found own = { found.values + (int64_t)r * k, found.ids + (int64_t)r * k,
					  found.aligned ? found.aligned + r : NULL, k };

		for (end = r; end < d->rows.n && d->rows.sentence[end] == sentence; )
			end++;
		if (beam_advance(d->beams[sentence], &own, &live, e))
			return e->code;
		for (int32_t i = 0; i < live.n; i++) {
			d->next.sentence[d->next.n] = sentence;
			d->next.parent[d->next.n] = r + live.parent[i];
			d->next.token[d->next.n++] = live.token[i];
		}
	}
	swap = d->rows;
	d->rows = d->next;
	d->next = swap;
	return 0;
}

/* Decode the n sources of d->batch; places says whose results they are. */
static int decode_batch(struct decoder *d, const struct decode_options *o,
			const struct sorted *places, struct decode_result *results, struct err *e)
{
	int32_t n = d->batch.n, steps = 0, code = 0;
	int32_t k = (int32_t)MIN(beam_width(o), model_get_shape(d->model)->real_vocabulary);

	if (reserve(d, n, n * o->beam, e))
		return e->code;
	memset(d->beams, 0, (size_t)n * sizeof(*d->beams));
	for (int32_t i = 0; i < n; i++) {
		int32_t longest =
			max_length(o, d->batch.source_start[i + 1] - d->batch.source_start[i] - 1);

		steps = MAX(steps, longest);
		d->rows.sentence[i] = i;
		d->rows.token[i] = TOKEN_START;
		d->beams[i] = beam_new(o, longest, e);
		if (!d->beams[i]) {
			code = e->code;
			goto out;
		}
	}
	d->rows.n = n;
	code = stepper_begin(d->stepper, &d->batch, n * o->beam, steps, e);
	while (!code && d->rows.n > 0)
		code = step(d, o, k, e);
	for (int32_t i = 0; i < n && !code; i++)
		code = beam_result(d->beams[i], &results[places[i].place], e);
out:
	for (int32_t i = 0; i < n; i++)
		beam_free(d->beams[i]);
	return code;
}

/* The result of a source of no tokens. */
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

/* Fill the batch from the sorted sources as far as they fit; returns how many were taken. */
static size_t fill_batch(struct decoder *d, const struct decode_options *o,
			 const struct decode_source *sources, const struct sorted *sorted, size_t n)
{
	int32_t max_rows = MAX(o->beam, MIN(MAX_ROWS, o->decode_tokens / 8));
	size_t taken = 0;

	batch_clear(&d->batch);
	while (taken < n) {
		const struct decode_source *s = &sources[sorted[taken].place];
		int64_t tokens = (int64_t)d->batch.n_source + sorted[taken].n + 1;

		if (taken > 0 &&
		    (tokens * o->beam > o->decode_tokens || (d->batch.n + 1) * o->beam > max_rows))
			break;
		if (!batch_add(&d->batch, (int64_t)sorted[taken].place, s->ids, sorted[taken].n,
			       NULL, 0))
			break;
		taken++;
	}
	return taken;
}

int decoder_run(struct decoder *d, const struct decode_options *o,
		const struct decode_source *sources, size_t n, struct decode_result *results,
		struct err *e)
{
	struct sorted *sorted = mem_alloc(n, sizeof(*sorted), e);
	size_t n_sorted = 0, taken;
	int code = 0;

	memset(results, 0, n * sizeof(*results));
	if (!sorted)
		return e->code;
	for (size_t i = 0; i < n && !code; i++) {
		results[i].truncated = sources[i].n > d->capacity - 1;
		if (sources[i].n == 0)
			code = empty_result(o, &results[i], e);
		else
			sorted[n_sorted++] =
				(struct sorted){ MIN(sources[i].n, d->capacity - 1), i };
	}
	qsort(sorted, n_sorted, sizeof(*sorted), by_length);
	for (size_t i = 0; i < n_sorted && !code; i += taken) {
		taken = fill_batch(d, o, sources, sorted + i, n_sorted - i);
		if (taken == 0)
			code = err_set(e, ERR_INTERNAL,
				       "a sentence of %d tokens does not fit an empty batch",
				       sorted[i].n);
		else
			code = decode_batch(d, o, sorted + i, results, e);
	}
	free(sorted);
	if (code)
		decode_results_free(results, n);
	return code;
}
