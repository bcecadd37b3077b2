/*
 * pair_scores.h - the log-probability of given translations, token by token.
 *
 *	struct pair_scorer s;
 *	if (!pair_scorer_open(&s, &engine, 0, engine.n_models, e))
 *		pair_scores_compute(&s, pairs, n, e);
 *	pair_scores_free(pairs, n);
 *	pair_scorer_close(&s);
 *
 * Pairs are packed into batches and pass through the model as in an evaluation of training, without
 * search. The engine was opened with ENGINE_SCORE. A pair is one sentence for the model: its line is not
 * split. The first token of the target side (pipeline_first_token()) is given, as in decoding, and has no
 * score.
 */
#ifndef WERKBANK_EVAL_SCORE_PAIR_SCORES_H
#define WERKBANK_EVAL_SCORE_PAIR_SCORES_H

#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"

enum pair_fault { PAIR_SCORED, PAIR_EMPTY_SOURCE, PAIR_TOO_LONG };

struct scored_pair {
	const char *source, *target; /* (n_source), (n_target) borrowed; well-formed UTF-8 */
	size_t n_source, n_target;
	/* results of pair_scores_compute() */
	enum pair_fault fault; /* if not PAIR_SCORED: log_prob is NAN, and there are no tokens */
	int32_t longer;	       /* tokens of the longer side, </s> included */
	int32_t *tokens;       /* (n_tokens) owned: of the target, with </s> */
	float *log_probs;      /* (n_tokens) owned */
	int32_t n_tokens;
	double log_prob; /* their sum, nats */
};

struct pair_scorer {
	struct engine *engine; /* borrowed */
	int32_t first, n; /* models of the engine; of several, the probabilities are averaged */
	struct batch batch;
	float *log_probs, *of_model; /* (capacity) owned */
	int32_t *source, *target; /* (cap_source), (cap_target) owned: of the pair that is added */
	size_t cap_source, cap_target;
};

/* Call pair_scorer_close() after a failure too. */
int pair_scorer_open(struct pair_scorer *s, struct engine *g, int32_t first, int32_t n,
		     struct err *e);
/* Fills the results of n pairs, which the caller frees with pair_scores_free(), after a failure too. */
int pair_scores_compute(struct pair_scorer *s, struct scored_pair *pairs, size_t n, struct err *e);
/* Why a pair has no score, as a clause for the user. */
void pair_fault_text(const struct pair_scorer *s, const struct scored_pair *p, struct buf *out);
void pair_scores_free(struct scored_pair *pairs, size_t n);
void pair_scorer_close(struct pair_scorer *s);

#endif
