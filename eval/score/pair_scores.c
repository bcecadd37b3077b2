/* pair_scores.c - see pair_scores.h */
#include "eval/score/pair_scores.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

int pair_scorer_open(struct pair_scorer *s, struct engine *g, int32_t first, int32_t n,
		     struct err *e)
{
	const size_t room = (size_t)g->capacity;

	assert(first >= 0 && n > 0 && first + n <= g->n_models);
	*s = (struct pair_scorer){ .engine = g, .first = first, .n = n };
	if (batch_alloc(&s->batch, g->capacity / 2, g->capacity, e))
		return e->code;
	s->batch.without_source_end =
		model_get_shape(g->models[first].model)->source_end == ARCH_NO;
	s->log_probs = mem_alloc(room, sizeof(*s->log_probs), e);
	s->of_model = mem_alloc(room, sizeof(*s->of_model), e);
	return s->log_probs && s->of_model ? 0 : e->code;
}

void pair_scorer_close(struct pair_scorer *s)
{
	batch_free(&s->batch);
	free(s->log_probs);
	free(s->of_model);
	free(s->source);
	free(s->target);
	memset(s, 0, sizeof(*s));
}

void pair_scores_free(struct scored_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pairs[i].tokens);
		free(pairs[i].log_probs);
		pairs[i].tokens = NULL;
		pairs[i].log_probs = NULL;
	}
}

void pair_fault_text(const struct pair_scorer *s, const struct scored_pair *p, struct buf *out)
{
	if (p->fault == PAIR_EMPTY_SOURCE)
		buf_add_str(out, "the source is empty");
	else if (p->fault == PAIR_TOO_LONG)
		buf_printf(out, "a side has %d tokens, but at most %d are read", p->longer,
			   s->engine->capacity);
}

/* s->log_probs = the logarithms of the mean of the models' probabilities. */
static int run_models(struct pair_scorer *s, struct err *e)
{
	for (int32_t i = 0; i < s->n; i++) {
		float *to = i ? s->of_model : s->log_probs;

		if (model_log_probs(s->engine->models[s->first + i].model, &s->batch, to, e))
			return e->code;
		for (int32_t k = 0; i && k < s->batch.n_target; k++) {
			const double a = (double)s->log_probs[k], b = (double)to[k];

			s->log_probs[k] = (float)(fmax(a, b) + log1p(exp(-fabs(a - b))));
		}
	}
	for (int32_t k = 0; s->n > 1 && k < s->batch.n_target; k++)
		s->log_probs[k] = (float)((double)s->log_probs[k] - log(s->n));
	return 0;
}

/* Copies the scores of target tokens first ... end - 1 of the batch. */
static int store_pair(const struct pair_scorer *s, struct scored_pair *p, int32_t first,
		      int32_t end, struct err *e)
{
	p->n_tokens = end - first;
	p->tokens = mem_alloc((size_t)p->n_tokens, sizeof(*p->tokens), e);
	p->log_probs = mem_alloc((size_t)p->n_tokens, sizeof(*p->log_probs), e);
	if (!p->tokens || !p->log_probs)
		return e->code;
	p->log_prob = 0;
	for (int32_t i = 0; i < p->n_tokens; i++) {
		p->tokens[i] = s->batch.target_out[first + i];
		p->log_probs[i] = s->log_probs[first + i];
		p->log_prob += (double)p->log_probs[i];
	}
	return 0;
}

/* Scores the pairs of the batch, and empties it. */
static int run_batch(struct pair_scorer *s, struct scored_pair *pairs, struct err *e)
{
	const bool has_first = pipeline_first_token(s->engine->pipeline, SIDE_TARGET) != TOKEN_PAD;
	const struct batch *b = &s->batch;

	if (b->n == 0)
		return 0;
	if (run_models(s, e))
		return e->code;
	for (int32_t i = 0; i < b->n; i++)
		if (store_pair(s, &pairs[b->pair[i]], b->target_start[i] + has_first,
			       b->target_start[i + 1], e))
			return e->code;
	batch_clear(&s->batch);
	return 0;
}

/* Adds pair i to the batch, which is scored first if it is full. */
static int batch_pair(struct pair_scorer *s, struct scored_pair *pairs, size_t i, struct err *e)
{
	struct scored_pair *p = &pairs[i];
	struct pipeline *tools = s->engine->pipeline;
	size_t n_source = 0, n_target = 0;

	p->log_prob = (double)NAN;
	if (!engine_has_text(s->engine, p->source, p->n_source)) {
		p->fault = PAIR_EMPTY_SOURCE;
		return 0;
	}
	if (pipeline_encode(tools, SIDE_SOURCE, p->source, p->n_source, &s->source, &n_source,
			    &s->cap_source, e) ||
	    pipeline_encode(tools, SIDE_TARGET, p->target, p->n_target, &s->target, &n_target,
			    &s->cap_target, e))
		return e->code;
	p->longer = (int32_t)MIN(MAX(n_source, n_target) + 1, (size_t)INT32_MAX);
	if (p->longer > s->engine->capacity) {
		p->fault = PAIR_TOO_LONG;
		return 0;
	}
	/* an empty target is </s>; NULL would be a pair without one */
	if (!s->target && mem_grow(&s->target, &s->cap_target, 1, sizeof(*s->target), e))
		return e->code;
	if (batch_add(&s->batch, (int64_t)i, s->source, (int32_t)n_source, s->target,
		      (int32_t)n_target))
		return 0;
	if (run_batch(s, pairs, e))
		return e->code;
	if (!batch_add(&s->batch, (int64_t)i, s->source, (int32_t)n_source, s->target,
		       (int32_t)n_target))
		return err_set(e, ERR_INTERNAL, "a pair of %d tokens does not fit a batch",
			       p->longer);
	return 0;
}

int pair_scores_compute(struct pair_scorer *s, struct scored_pair *pairs, size_t n, struct err *e)
{
	batch_clear(&s->batch);
	for (size_t i = 0; i < n; i++)
		if (batch_pair(s, pairs, i, e))
			return e->code;
	return run_batch(s, pairs, e);
}
