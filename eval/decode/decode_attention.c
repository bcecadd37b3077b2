/*
 * decode_attention.c - decoder_attention() of decode.h.
 *
 * The hypotheses of a sentence are decoded again, all in one step for each position: row r of a step
 * reads the token before the position. A hypothesis that has no token at a position leaves.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/decode_internal.h"
#include "share/base/mem.h"

/* The hypotheses whose maps are computed. */
struct attention_job {
	struct decode_worker *w; /* borrowed */
	const struct decode_result *result;
	struct decode_attention *a;
	int32_t first_token;  /* that each hypothesis begins with; TOKEN_PAD: none */
	float *step;	      /* (hypotheses, n_source) owned: weights of one step */
	int32_t *row, *first; /* (hypotheses) owned: row of the step before; first row of weights */
};

/* What the decoder reads at a position of hypothesis x, which begins with the first token. */
static int32_t attention_token(const struct attention_job *j, const struct decode_hypothesis *x,
			       int32_t at)
{
	const int32_t n_first = j->first_token != TOKEN_PAD;

	return !at ? TOKEN_START : at <= n_first ? j->first_token : x->tokens[at - 1 - n_first];
}

/* Fills w->rows for a position; returns the number of rows. */
static int32_t list_position_rows(struct attention_job *j, int32_t at)
{
	struct incremental_rows *rows = &j->w->rows;

	rows->n = 0;
	for (int32_t h = 0; h < j->result->n; h++) {
		const struct decode_hypothesis *x = &j->result->hypotheses[h];

		if (x->n + (j->first_token != TOKEN_PAD) <= at)
			continue;
		rows->sentence[rows->n] = 0;
		rows->parent[rows->n] = at ? j->row[h] : 0;
		rows->token[rows->n] = attention_token(j, x, at);
		j->row[h] = rows->n++;
	}
	return rows->n;
}

static int decode_positions(struct attention_job *j, struct err *e)
{
	const int32_t n = j->a->n_source, n_first = j->first_token != TOKEN_PAD;
	const struct incremental_attention how = { j->a->layer, j->a->head, j->step, n };
	struct incremental_output found = { .attention = &how };

	for (int32_t at = 0; list_position_rows(j, at) > 0; at++) {
		if (incremental_step(j->w->decoders[0], &j->w->rows, 0, &found, e))
			return e->code;
		for (int32_t h = 0; h < j->result->n; h++)
			if (at >= n_first && j->result->hypotheses[h].n > at - n_first)
				memcpy(j->a->weights + (int64_t)(j->first[h] + at - n_first) * n,
				       j->step + (int64_t)j->row[h] * n, (size_t)n * sizeof(float));
	}
	return 0;
}

/* Allocates the arrays of a job. */
static int prepare_attention(struct attention_job *j, int32_t tokens, struct err *e)
{
	const size_t n = (size_t)j->result->n, n_source = (size_t)j->a->n_source;
	size_t cells;
	int32_t at = 0;

	if (!mem_mul((size_t)tokens, n_source, &cells))
		return err_set(e, ERR_NOMEM, "no memory for the attention of %d tokens", tokens);
	j->a->weights = mem_alloc(cells, sizeof(float), e);
	j->step = mem_alloc(n * n_source, sizeof(float), e);
	j->row = mem_alloc(2 * n, sizeof(int32_t), e);
	if (!j->a->weights || !j->step || !j->row)
		return e->code;
	j->first = j->row + n;
	for (int32_t h = 0; h < j->result->n; h++) {
		j->first[h] = at;
		at += j->result->hypotheses[h].n;
	}
	assert(at == tokens);
	return decode_reserve(j->w, 1, j->result->n, e);
}

int decoder_attention(struct decoder *d, const struct decode_source *source,
		      const struct decode_result *result, struct decode_attention *a, struct err *e)
{
	struct decode_worker *w = &d->main_worker;
	struct attention_job j = {
		.w = w, .result = result, .a = a, .first_token = d->first_token
	};
	const int32_t n_source = MIN(source->n, d->capacity - 1), slot = 0;
	int32_t longest = 0, tokens = 0;
	int rc = 0;

	a->weights = NULL;
	a->n_source = n_source + 1;
	for (int32_t h = 0; h < result->n; h++) {
		longest = MAX(longest, result->hypotheses[h].n);
		tokens += result->hypotheses[h].n;
	}
	if (n_source == 0 || tokens == 0)
		return 0;
	batch_clear(&w->batch);
	if (!batch_add(&w->batch, 0, source->ids, n_source, NULL, 0))
		return err_set(e, ERR_INTERNAL, "a sentence of %d tokens does not fit", n_source);
	rc = prepare_attention(&j, tokens, e);
	if (!rc) {
		const struct incremental_options how = {
			.max_rows = result->n,
			.max_steps = longest + 1,
			.max_source = n_source + 1,
			.cache_rows = (int64_t)n_source + 1 + tokens + result->n,
		};

		rc = incremental_begin(w->decoders[0], &how, e) ||
				     incremental_add(w->decoders[0], &w->batch, &slot, e) ||
				     decode_positions(&j, e)
			     ? e->code
			     : 0;
	}
	if (rc) {
		free(a->weights);
		a->weights = NULL;
	}
	free(j.step);
	free(j.row);
	return rc;
}
