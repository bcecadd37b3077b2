/* decode_worker.c - one worker: its memory, and a step of all models of an ensemble; see decode_internal.h */
#include <math.h>
#include <stdlib.h>

#include "eval/decode/decode_internal.h"
#include "eval/decode/sampling.h"
#include "share/base/mem.h"

void decode_worker_free(struct decode_worker *w)
{
	for (int32_t i = 0; i < w->n_models; i++)
		incremental_free(w->decoders[i]);
	batch_free(&w->batch);
	free(w->slots);
	free(w->ints);
	shortlist_candidates_free(&w->candidates);
	free(w->constraints);
	free(w->all);
	free(w->next_model_all);
	*w = (struct decode_worker){ .model = NULL };
}

int decode_worker_init(struct decode_worker *w, struct model *const *models, int32_t n,
		       int32_t capacity, struct err *e)
{
	w->model = models[0];
	for (; w->n_models < n; w->n_models++) {
		w->decoders[w->n_models] = incremental_new(models[w->n_models], e);
		if (!w->decoders[w->n_models])
			return e->code;
	}
	if (batch_alloc(&w->batch, MAX(1, capacity / 2), capacity, e))
		return e->code;
	w->batch.without_source_end = model_get_shape(models[0])->source_end == ARCH_NO;
	return 0;
}

int decode_reserve(struct decode_worker *d, int32_t sentences, int32_t rows, struct err *e)
{
	size_t n = (size_t)rows, need;
	int32_t *at;

	if (mem_grow(&d->slots, &d->cap_slots, (size_t)sentences, sizeof(*d->slots), e))
		return e->code;
	if (rows <= d->cap_rows)
		return 0;
	if (!mem_mul(n, 8 + 2 * INCREMENTAL_MAX_K, &need))
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
	d->new_slots = at + 7 * n;
	d->found.ids = at + 8 * n;
	d->found.values = (float *)(at + (8 + INCREMENTAL_MAX_K) * n);
	d->cap_rows = rows;
	return 0;
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
