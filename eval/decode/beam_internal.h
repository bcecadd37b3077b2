/* beam_internal.h - the state of a beam search, for beam.c, beam_constrain.c, banned_phrases.c. */
#ifndef WERKBANK_EVAL_DECODE_BEAM_INTERNAL_H
#define WERKBANK_EVAL_DECODE_BEAM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/shard/token_batch.h"
#include "eval/decode/beam.h"

/* A token in the tree of hypotheses; see beam.c. */
struct beam_node {
	int32_t parent; /* index of a node; -1: the first token */
	int32_t token;
	int32_t aligned; /* source token */
	float log_prob;	 /* of this token */
};

/* Which forced phrases a hypothesis contains. */
struct phrase_progress {
	uint32_t phrases_done; /* bit i: the hypothesis contains phrase i */
	int32_t phrase;	       /* the phrase that the last tokens begin; -1: none */
	int32_t at;	  /* number of tokens of this phrase that are written; 0 if phrase is -1 */
	bool inside_word; /* the last token does not end its word */
};

struct live_hypothesis {
	int32_t node; /* its last token; -1: no token yet */
	double log_prob;
	int32_t sample; /* with sampling: number of the translation from 0 */
	struct phrase_progress progress;
};

struct finished_hypothesis {
	int32_t node;
	double log_prob, score;
	int32_t sample;
	bool is_truncated; /* cut off at the greatest length, without </s> */
};

struct beam {
	struct decode_options o;
	const struct decode_constraint *constraint; /* borrowed; NULL: none */
	uint64_t number;			    /* of the sentence */
	int32_t first_token;			    /* that begins the result; TOKEN_PAD: none */
	int32_t max_length, length;		    /* of the live hypotheses */
	struct beam_node *nodes;		    /* owned */
	size_t n_nodes, cap_nodes;
	struct live_hypothesis live[DECODE_MAX_BEAM]; /* best first (sampling: by number) */
	int32_t n_live;
	/* by falling score; with sampling in order of arrival */
	struct finished_hypothesis finished[DECODE_MAX_BEAM];
	int32_t n_finished;
	bool is_top_end; /* </s> was the best continuation of the last step */
	bool is_over;
	struct beam_candidate *candidates; /* (cap_candidates) owned; scratch of beam_constrain.c */
	size_t cap_candidates;
	int32_t *path; /* (max_length) owned; scratch of beam_penalties.c; NULL: not used */
};

/* Tokens that no translation contains. */
static inline bool beam_is_excluded(int32_t token)
{
	return token == TOKEN_PAD || token == TOKEN_START || token == TOKEN_UNKNOWN;
}

/* The number of best continuations that a step considers; see beam.c. */
static inline int32_t beam_candidates(const struct decode_options *o)
{
	return o->beam == 1 ? 1 : 2 * o->beam;
}

/* Tokens of the phrases whose bits are in set. */
static inline int32_t beam_phrase_tokens(const struct decode_constraint *c, uint32_t set)
{
	int32_t n = 0;

	for (int32_t i = 0; i < c->n_phrases; i++)
		n += set >> i & 1 ? c->phrases[i].n : 0;
	return n;
}

/* Tokens of the first token and of the prefix. */
static inline int32_t beam_prefix_length(const struct beam *b)
{
	return (b->first_token != TOKEN_PAD) + (b->constraint ? b->constraint->n_prefix : 0);
}

/* Does the first token or the prefix give the next token? */
static inline bool beam_in_prefix(const struct beam *b)
{
	return b->length < beam_prefix_length(b);
}

/* decode.c: arrays for n tokens, aligned and log_probs only if o wants them. The caller frees h after a failure too. */
int decode_hypothesis_alloc(struct decode_hypothesis *h, int32_t n, const struct decode_options *o,
			    struct err *e);
/* Keeps a hypothesis that ends with </s> if it is among the n_best finished ones. */
void beam_finish(struct beam *b, const struct live_hypothesis *from, double log_prob);

/* beam_constrain.c: the progress after one more token. */
struct phrase_progress beam_phrase_progress(const struct beam *b, const struct phrase_progress *p,
					    int32_t token);

/* A live hypothesis of the next step. */
struct beam_next {
	struct live_hypothesis live; /* its node is set by beam_advance() */
	int32_t row;		     /* the live hypothesis that it continues */
	int32_t token;
	float value; /* log-probability of the token */
};

/*
 * One step with forced phrases. Fills next[0 .. *n) with the live hypotheses of the next step, best
 * first; *n is at most the beam size. Returns 0 or an error code.
 */
int beam_constrained_step(struct beam *b, const struct beam_scores *found, struct beam_next *next,
			  int32_t *n, struct err *e);

#endif
