/*
 * score_models.h - the models of the command score: one, an ensemble, or a weighted sum with a reverse model.
 *
 * Without weights, the model and those of --ensemble are one scorer, which averages probabilities as translate
 * does, and a reverse model is a second scorer of the weight 1. With weights, each model is a scorer of its own.
 * The score of a pair is the sum of weight times log-probability, and --length-weight times the tokens of the
 * target with </s>.
 */
#ifndef WERKBANK_EVAL_SCORE_SCORE_MODELS_H
#define WERKBANK_EVAL_SCORE_SCORE_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/score/pair_scores.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

#define SCORE_MAX_MODELS (DECODE_MAX_MODELS + 1)

struct score_models {
	const struct conf *conf; /* borrowed */
	struct engine engine, reverse;
	struct conf reverse_conf; /* of the engine reverse */
	bool has_reverse;
	struct pair_scorer scorers[SCORE_MAX_MODELS]; /* (n) */
	double weights[SCORE_MAX_MODELS];
	size_t n;
};

/* A pair with the results of all scorers. */
struct model_scores {
	struct scored_pair of_model
		[SCORE_MAX_MODELS];	/* (n of the models); fill source and target of the first */
	double value[SCORE_MAX_MODELS]; /* log-probabilities, normalised as --normalization says */
	double score;			/* NAN: a scorer had no score */
};

/* Opens the models that c names. Call score_models_close() after a failure too. */
int score_models_open(struct score_models *m, struct conf *c, struct err *e);
/* Scores n pairs; free with score_models_free_pairs(), after a failure too. */
int score_models_run(struct score_models *m, struct model_scores *pairs, size_t n, struct err *e);
void score_models_free_pairs(const struct score_models *m, struct model_scores *pairs, size_t n);
/* Why a pair has no score, as a clause; the score must be NAN. */
void score_models_fault(const struct score_models *m, const struct model_scores *pair,
			struct buf *out);
void score_models_close(struct score_models *m);

#endif
