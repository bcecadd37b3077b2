/* beam_internal.h - what beam.c and beam_constrain.c share. */
#ifndef WERKBANK_EVAL_DECODE_BEAM_INTERNAL_H
#define WERKBANK_EVAL_DECODE_BEAM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/beam.h"

/* Hypotheses share their beginnings: each is the end of a path in this tree. */
struct beam_node {
	int32_t parent; /* -1: the first token */
	int32_t token;
	int32_t aligned;
	float log_prob; /* of this token */
};

/* How far a hypothesis has come with the phrases that are wished for. */
struct phrase_progress {
	uint32_t phrases_done; /* bit i: phrase i is there */
	int32_t phrase, at;    /* at tokens of this one have just been said; -1: none */
	bool inside_word;      /* the last token does not end its word */
};

struct live_hypothesis {
	int32_t node; /* -1: nothing yet */
	double log_prob;
	int32_t sample; /* when sampling: number of the translation */
	struct phrase_progress progress;
};

struct finished_hypothesis {
	int32_t node;
	double log_prob, score;
	int32_t sample;
	bool is_truncated; /* it is without </s> */
};

struct beam {
	struct decode_options o;
	const struct decode_constraint *constraint; /* borrowed; NULL: none */
	uint64_t number;			    /* of the sentence */
	int32_t max_length, length;		    /* of the live hypotheses */
	struct beam_node *nodes;		    /* owned */
	size_t n_nodes, cap_nodes;
	struct live_hypothesis live[DECODE_MAX_BEAM];
	int32_t n_live;
	struct finished_hypothesis
		finished[DECODE_MAX_BEAM]; /* by falling score, or as they came */
	int32_t n_finished;
	bool is_over;
	struct beam_candidate *candidates; /* (cap_candidates) owned */
	size_t cap_candidates;
};

static inline bool beam_is_excluded(int32_t token)
{
	return token == TOKEN_PAD || token == TOKEN_START || token == TOKEN_UNKNOWN;
}

/* How many of the best continuations of a sentence a step looks at. */
static inline int32_t beam_candidates(const struct decode_options *o)
{
	return o->beam == 1 ? 1 : 2 * o->beam;
}

/* The next token is the prefix's. */
static inline bool beam_in_prefix(const struct beam *b)
{
	return b->constraint && b->length < b->constraint->n_prefix;
}

/* Keep a hypothesis that ended with </s>, if it is among the n_best. */
void beam_finish(struct beam *b, const struct live_hypothesis *from, double log_prob);

/* beam_constrain.c: progress after one more token. */
struct phrase_progress beam_phrase_progress(const struct beam *b, const struct phrase_progress *p,
					    int32_t token);

/*
 * One step with phrases: the hypotheses that live next, best first, at most beam of them; each
 * with the row that it continues and its token.
 */
struct beam_next {
	struct live_hypothesis live; /* node: not yet */
	int32_t row, token;
	float value;
};
int beam_constrained_step(struct beam *b, const struct beam_scores *found, struct beam_next *next,
			  int32_t *n, struct err *e);

#endif
