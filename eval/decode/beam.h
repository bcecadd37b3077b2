/*
 * beam.h - the beam search of one sentence: which hypotheses live, which are
 * finished, when it is over. Knows nothing of models; decode.h says the rules.
 */
#ifndef WERKBANK_EVAL_DECODE_BEAM_H
#define WERKBANK_EVAL_DECODE_BEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "share/base/err.h"

struct beam;

/* What the decoder reads next for live hypothesis i = 0 … n - 1 of a sentence. */
struct beam_live {
	int32_t n;
	int32_t parent[DECODE_MAX_BEAM]; /* the live hypothesis before that it continues */
	int32_t token[DECODE_MAX_BEAM];
};

/*
 * The continuations of the n live hypotheses: rows of k log-probabilities, falling, and
 * their tokens.
 */
struct beam_scores {
	const float *values;	/* (n, k) */
	const int32_t *ids;	/* (n, k) */
	const int32_t *aligned; /* (n) or NULL: the source token that the next token belongs to */
	int32_t k;		/* at least beam_width() */
	/* log-probabilities of all tokens: rows of stride, n_real are meant; NULL: not known */
	const float *all;
	int64_t stride;
	int32_t n_real;
};

/*
 * A search that takes at most max_length steps. It begins with one live hypothesis, the
 * empty one. wish: of this sentence, borrowed; NULL: none; number: its, for random numbers. With sampling or a wish beam_scores.all
 * must be known; values and ids are needed where beam_wants_best(). NULL: failure.
 */
struct beam *beam_new(const struct decode_options *o, const struct decode_constraint *constraint,
		      uint64_t number, int32_t max_length, struct err *e);
bool beam_wants_best(const struct beam *b);

/*
 * Before beam_advance(), in rows of stride log-probabilities of all tokens, one of each live
 * hypothesis: make impossible what would end one of the forbidden phrases. Not within a prefix.
 */
void beam_ban_phrases(const struct beam *b, float *all, int64_t stride);

/*
 * Continuations per live hypothesis that a search must be shown so that none of the
 * best is missed.
 */
int32_t beam_width(const struct decode_options *o);

/* Take one step. *live: what goes on; n = 0 when the search is over. */
int beam_advance(struct beam *b, const struct beam_scores *found, struct beam_live *live,
		 struct err *e);

/* The best hypotheses so far, at least one; owned by result. */
int beam_result(const struct beam *b, struct decode_result *result, struct err *e);

void beam_free(struct beam *b);

#endif
