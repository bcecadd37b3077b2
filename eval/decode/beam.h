/*
 * beam.h - the beam search of one sentence, without the model.
 *
 *	b = beam_new(&options, constraint, number, max_length, e);
 *	do	compute log-probabilities of the next tokens of all live hypotheses
 *	while	(!beam_advance(b, &scores, &live, e) && live.n > 0);
 *	beam_result(b, &result, e);
 *	beam_free(b);
 *
 * The rules of the search are in decode.h.
 */
#ifndef WERKBANK_EVAL_DECODE_BEAM_H
#define WERKBANK_EVAL_DECODE_BEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "share/base/err.h"

struct beam;

/* The live hypotheses after a step: the model reads token[i] for hypothesis i. */
struct beam_live {
	int32_t n;			 /* 0: the search is over */
	int32_t parent[DECODE_MAX_BEAM]; /* index among the live hypotheses before the step */
	int32_t token[DECODE_MAX_BEAM];
};

/* The k best next tokens of each of the n live hypotheses, by falling log-probability. */
struct beam_scores {
	const float *values;	/* (n, k) */
	const int32_t *ids;	/* (n, k) */
	const int32_t *aligned; /* (n) or NULL: the source token aligned with the next token */
	int32_t k;		/* at least beam_width(), or the vocabulary if that is smaller */
	const float *all;	/* (n, stride) log-probabilities of all tokens; NULL: unknown */
	int64_t stride;
	int32_t n_real; /* valid entries of a row of all */
};

/*
 * A search of at most max_length steps; it starts with one live hypothesis without tokens.
 * constraint: borrowed, NULL: none. number: of the sentence, names its random numbers. Sampling and
 * constraints need beam_scores.all. Free with beam_free(). NULL: out of memory.
 */
struct beam *beam_new(const struct decode_options *o, const struct decode_constraint *constraint,
		      uint64_t number, int32_t first_token, int32_t max_length, struct err *e);
/* Does the next beam_advance() read values and ids? */
bool beam_wants_best(const struct beam *b);

/* Bans phrases, and applies the options of repetition and length; like beam_ban_phrases(). In beam_penalties.c. */
void beam_change_scores(const struct beam *b, float *all, int64_t stride, int32_t n_real);

/*
 * Sets the log-probability of each token that would complete a banned phrase to -infinity; does
 * nothing within a prefix. all: (live hypotheses, stride). Call it before beam_advance().
 * Implemented in banned_phrases.c.
 */
void beam_ban_phrases(const struct beam *b, float *all, int64_t stride);

/* The k that beam_scores needs: 2 * beam (1 if beam is 1) and the tokens that are never chosen. */
int32_t beam_width(const struct decode_options *o);

/* Takes one step and fills *live. Not after the search is over. */
int beam_advance(struct beam *b, const struct beam_scores *found, struct beam_live *live,
		 struct err *e);

/* Copies the best hypotheses, at least one, to *result, which owns them (after a failure too). */
int beam_result(const struct beam *b, struct decode_result *result, struct err *e);

void beam_free(struct beam *b);

#endif
