/* score_models.c - see score_models.h */
#include "eval/score/score_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/decode/decode.h"
#include "share/base/mem.h"
#include "share/base/text.h"

enum normalization { NORMALIZE_NONE, NORMALIZE_TOKENS, NORMALIZE_ALPHA };

/* Options of the command that hold for the reverse model too. */
static const char *const shared_options[] = { "workspace", "unaveraged", "decode_tokens",
					      "threads",   "precision",	 "backend",
					      "gpu",	   "cuda_graphs" };

static int open_reverse(struct score_models *m, const struct conf *c, struct err *e)
{
	struct conf *r = &m->reverse_conf;
	struct buf value = { 0 };
	int rc = conf_init(r, e);

	m->has_reverse = true;
	for (size_t i = 0; i < ARRAY_LEN(shared_options) && !rc; i++) {
		const char *origin = conf_origin(c, shared_options[i]);

		if (!strcmp(origin, "default"))
			continue;
		buf_clear(&value);
		conf_value(c, shared_options[i], &value);
		rc = buf_check(&value, e)
			     ? e->code
			     : conf_set(r, shared_options[i], buf_text(&value), origin, e);
	}
	buf_free(&value);
	if (!rc)
		rc = conf_set(r, "model", c->reverse_model, "command line", e);
	return rc ? rc : engine_open(&m->reverse, r, ENGINE_SCORE, e);
}

/* Do both models translate between the same languages, in opposite directions? */
static int check_direction(const struct score_models *m, const struct conf *c, struct err *e)
{
	const struct conf *r = &m->reverse_conf;

	if (!strcmp(c->source_language, r->target_language) &&
	    !strcmp(c->target_language, r->source_language))
		return 0;
	return err_set(
		e, ERR_USAGE,
		"--reverse-model %s translates %s-%s, but the other direction of the model is "
		"%s-%s",
		c->reverse_model, r->source_language, r->target_language, c->target_language,
		c->source_language);
}

static int add_scorer(struct score_models *m, struct engine *g, int32_t first, int32_t n,
		      struct err *e)
{
	m->weights[m->n] = 1;
	return pair_scorer_open(&m->scorers[m->n++], g, first, n, e);
}

/* Reads --weights, one for each scorer. */
static int read_weights(struct score_models *m, const char *text, struct err *e)
{
	size_t n = 0;
	char *after;

	for (const char *at = text; at; at = *after ? after + 1 : NULL, n++) {
		const double weight = strtod(at, &after);

		if (after == at || !isfinite(weight) || (*after && *after != ','))
			return err_set(
				e, ERR_USAGE,
				"--weights: \"%s\" is not a list of numbers with commas between "
				"them",
				text);
		if (n < m->n)
			m->weights[n] = weight;
	}
	if (n != m->n)
		return err_set(
			e, ERR_USAGE,
			"--weights \"%s\" has %zu number%s for %zu model%s: it needs one for the "
			"model, each --ensemble, and --reverse-model",
			text, n, text_plural((int64_t)n), m->n, text_plural((int64_t)m->n));
	return 0;
}

int score_models_open(struct score_models *m, struct conf *c, struct err *e)
{
	memset(m, 0, sizeof(*m));
	m->conf = c;
	if (engine_open(&m->engine, c, ENGINE_SCORE, e) || engine_check(&m->engine, e))
		return e->code;
	for (int32_t i = 0; c->weights && i < m->engine.n_models; i++)
		if (add_scorer(m, &m->engine, i, 1, e))
			return e->code;
	if (!c->weights && add_scorer(m, &m->engine, 0, m->engine.n_models, e))
		return e->code;
	if (c->reverse_model &&
	    (open_reverse(m, c, e) || engine_check(&m->reverse, e) || check_direction(m, c, e) ||
	     add_scorer(m, &m->reverse, 0, m->reverse.n_models, e)))
		return e->code;
	return c->weights ? read_weights(m, c->weights, e) : 0;
}

void score_models_close(struct score_models *m)
{
	for (size_t i = 0; i < m->n; i++)
		pair_scorer_close(&m->scorers[i]);
	engine_close(&m->engine);
	if (!m->has_reverse)
		return;
	engine_close(&m->reverse);
	conf_free(&m->reverse_conf);
}

void score_models_free_pairs(const struct score_models *m, struct model_scores *pairs, size_t n)
{
	for (size_t i = 0; pairs && i < n; i++)
		pair_scores_free(pairs[i].of_model, m->n);
}

void score_models_fault(const struct score_models *m, const struct model_scores *pair,
			struct buf *out)
{
	size_t i = 0;

	while (i + 1 < m->n && pair->of_model[i].fault == PAIR_SCORED)
		i++;
	if (m->scorers[i].engine == &m->reverse && pair->of_model[i].fault == PAIR_EMPTY_SOURCE)
		buf_add_str(out,
			    "the translation is empty, which is the source of the reverse model");
	else
		pair_fault_text(&m->scorers[i], &pair->of_model[i], out);
}

static double normalise_score(const struct conf *c, const struct scored_pair *p)
{
	if (c->normalization == NORMALIZE_TOKENS)
		return p->log_prob / MAX(p->n_tokens, 1);
	if (c->normalization == NORMALIZE_ALPHA)
		return p->log_prob /
		       decode_length_penalty((int32_t)c->beam_rules, c->alpha, MAX(p->n_tokens, 1));
	return p->log_prob;
}

/* Scores all pairs by one scorer. */
static int run_scorer(struct score_models *m, size_t i, struct model_scores *pairs, size_t n,
		      struct err *e)
{
	const bool is_reverse = m->scorers[i].engine == &m->reverse;
	struct scored_pair *list = mem_alloc(n, sizeof(*list), e);
	int rc;

	if (!list)
		return e->code;
	for (size_t k = 0; k < n; k++) {
		const struct scored_pair *p = &pairs[k].of_model[0];

		list[k] = is_reverse ? (struct scored_pair){ .source = p->target,
							     .target = p->source,
							     .n_source = p->n_target,
							     .n_target = p->n_source }
				     : (struct scored_pair){ .source = p->source,
							     .target = p->target,
							     .n_source = p->n_source,
							     .n_target = p->n_target };
	}
	rc = pair_scores_compute(&m->scorers[i], list, n, e);
	for (size_t k = 0; k < n; k++)
		pairs[k].of_model[i] = list[k];
	free(list);
	return rc;
}

int score_models_run(struct score_models *m, struct model_scores *pairs, size_t n, struct err *e)
{
	for (size_t i = 0; i < m->n; i++)
		if (run_scorer(m, i, pairs, n, e))
			return e->code;
	for (size_t k = 0; k < n; k++) {
		struct model_scores *p = &pairs[k];

		p->score = m->conf->length_weight * p->of_model[0].n_tokens;
		for (size_t i = 0; i < m->n; i++) {
			p->value[i] = normalise_score(m->conf, &p->of_model[i]);
			p->score += m->weights[i] * p->value[i];
		}
	}
	return 0;
}
