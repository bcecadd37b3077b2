/* beam.c - see beam.h */
#include "eval/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/batch.h"
#include "share/base/mem.h"

/* <pad>, <s>, <unk>: each may stand among a row's best and is passed over. */
#define N_NEVER_CHOSEN 3

/* Hypotheses share their beginnings: each is the end of a path in this tree. */
struct node {
	int32_t parent;			/* -1: the first token */
	int32_t token;
	int32_t aligned;
};

struct live {
	int32_t node;			/* -1: nothing yet */
	double  log_prob;
};

struct finished {
	int32_t node;
	double  log_prob, score;
};

struct beam {
	struct decode_options o;
	int32_t max_length, length;	/* of the live hypotheses */
	struct node *nodes;		/* owned */
	size_t n_nodes, cap_nodes;
	struct live live[DECODE_MAX_BEAM];
	int32_t n_live;
	struct finished finished[DECODE_MAX_BEAM];	/* by falling score */
	int32_t n_finished;
	bool over;
};

struct beam *beam_new(const struct decode_options *o, int32_t max_length, struct err *e)
{
	struct beam *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	b->o = *o;
	b->max_length = max_length;
	b->n_live = 1;
	b->live[0].node = -1;
	return b;
}

void beam_free(struct beam *b)
{
	if (!b)
		return;
	free(b->nodes);
	free(b);
}

/* How many of the best continuations of a sentence a step looks at. */
static int32_t n_candidates(const struct decode_options *o)
{
	return o->beam == 1 ? 1 : 2 * o->beam;
}

int32_t beam_width(const struct decode_options *o)
{
	return n_candidates(o) + N_NEVER_CHOSEN;
}

static double penalty(const struct beam *b, int32_t length)
{
	return pow((5.0 + length) / 6.0, b->o.alpha);
}

/*
 * Keep a hypothesis that ended with </s>, if it is among the n_best. Of equal ones the
 * earlier stays in front.
 */
static void finish(struct beam *b, int32_t node, double log_prob)
{
	struct finished f = { node, log_prob, log_prob / penalty(b, b->length + 1) };
	int32_t i;

	if (b->n_finished == b->o.n_best && !(f.score > b->finished[b->n_finished - 1].score))
		return;
	if (b->n_finished < b->o.n_best)
		b->n_finished++;
	for (i = b->n_finished - 1; i > 0 && f.score > b->finished[i - 1].score; i--)
		b->finished[i] = b->finished[i - 1];
	b->finished[i] = f;
}

static bool never_chosen(int32_t token)
{
	return token == TOKEN_PAD || token == TOKEN_START || token == TOKEN_UNKNOWN;
}

/*
 * The best continuation not yet taken, over all live hypotheses: a merge of
 * rows that fall. at[i] is the place in row i; ties go to the earlier row.
 * False: the rows are used up.
 */
static bool next_candidate(const struct beam *b, const struct beam_found *found, int32_t *at,
			   int32_t *row, double *log_prob, int32_t *token)
{
	*row = -1;
	for (int32_t i = 0; i < b->n_live; i++) {
		const float *values = found->values + (int64_t)i * found->k;
		const int32_t *ids = found->ids + (int64_t)i * found->k;

		while (at[i] < found->k && never_chosen(ids[at[i]]))
			at[i]++;
		if (at[i] == found->k || !(b->live[i].log_prob + (double)values[at[i]] > -INFINITY))
			continue;
		if (*row < 0 || b->live[i].log_prob + (double)values[at[i]] > *log_prob) {
			*row = i;
			*log_prob = b->live[i].log_prob + (double)values[at[i]];
			*token = ids[at[i]];
		}
	}
	if (*row < 0)
		return false;
	at[*row]++;
	return true;
}

/* Nothing that lives can still come before the worst finished hypothesis that is wanted. */
static bool is_decided(const struct beam *b)
{
	if (b->n_finished < b->o.n_best)
		return false;
	if (b->n_live == 0 || b->o.beam == 1)
		return true;
	/* Log-probabilities only fall, and the longest hypothesis is divided by most. */
	return b->live[0].log_prob / penalty(b, b->max_length) <=
	       b->finished[b->n_finished - 1].score;
}

int beam_advance(struct beam *b, const struct beam_found *found, struct beam_live *live,
		 struct err *e)
{
	struct live next[DECODE_MAX_BEAM];
	int32_t at[DECODE_MAX_BEAM] = { 0 }, row, token = 0, n = 0;
	double log_prob = 0;

	live->n = 0;
	if (mem_grow(&b->nodes, &b->cap_nodes, b->n_nodes + (size_t)b->o.beam, sizeof(*b->nodes),
		     e))
		return e->code;
	for (int32_t taken = 0; taken < n_candidates(&b->o); taken++) {
		if (!next_candidate(b, found, at, &row, &log_prob, &token))
			break;
		if (token == TOKEN_END) {
			finish(b, b->live[row].node, log_prob);
			continue;
		}
		if (n == b->o.beam)
			continue;
		b->nodes[b->n_nodes] = (struct node){ b->live[row].node, token,
						      found->aligned ? found->aligned[row] : 0 };
		next[n] = (struct live){ (int32_t)b->n_nodes++, log_prob };
		live->parent[n] = row;
		live->token[n++] = token;
	}
	memcpy(b->live, next, (size_t)n * sizeof(*next));
	b->n_live = n;
	b->length++;
	b->over = n == 0 || b->length >= b->max_length || is_decided(b);
	live->n = b->over ? 0 : n;
	return 0;
}

/* Write the path that ends at node into h. */
static int unroll(const struct beam *b, int32_t node, struct decode_hypothesis *h, struct err *e)
{
	int32_t n = 0;

	for (int32_t i = node; i >= 0; i = b->nodes[i].parent)
		n++;
	h->n = n;
	h->tokens = mem_alloc((size_t)MAX(n, 1), sizeof(*h->tokens), e);
	if (!h->tokens)
		return e->code;
	if (b->o.alignments) {
		h->aligned = mem_alloc((size_t)MAX(n, 1), sizeof(*h->aligned), e);
		if (!h->aligned)
			return e->code;
	}
	for (int32_t i = node; i >= 0; i = b->nodes[i].parent) {
		h->tokens[--n] = b->nodes[i].token;
		if (h->aligned)
			h->aligned[n] = b->nodes[i].aligned;
	}
	return 0;
}

int beam_result(const struct beam *b, struct decode_result *result, struct err *e)
{
	int32_t want = MAX(1, b->o.n_best);

	result->hypotheses = mem_alloc((size_t)want, sizeof(*result->hypotheses), e);
	if (!result->hypotheses)
		return e->code;
	for (int32_t i = 0; i < b->n_finished; i++) {
		const struct finished *f = &b->finished[i];
		struct decode_hypothesis *h = &result->hypotheses[result->n++];

		*h = (struct decode_hypothesis){ .log_prob = f->log_prob,
						 .score = f->score,
						 .finished = true };
		if (unroll(b, f->node, h, e))
			return e->code;
	}
	/*
	 * Too few came to an end: the best that were cut off take the other places. All are
	 * equally long.
	 */
	for (int32_t i = 0; i < b->n_live && result->n < want; i++) {
		struct decode_hypothesis *h = &result->hypotheses[result->n++];

		*h = (struct decode_hypothesis){ .log_prob = b->live[i].log_prob };
		h->score = h->log_prob / penalty(b, b->length);
		if (unroll(b, b->live[i].node, h, e))
			return e->code;
	}
	return 0;
}
