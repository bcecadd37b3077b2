/*
 * beam.c - the beam search of one sentence; see beam.h
 *
 * All hypotheses of a sentence share one tree (struct beam_node). A node is a token; the path from
 * the root to a node is a hypothesis. Nodes are never removed, so a hypothesis is one node index.
 * beam_advance() chooses the next live hypotheses in one of four ways and appends their nodes:
 *
 *	within a prefix		force_prefix_token(): the prefix gives the token
 *	sampling		sample_continuations(): each hypothesis draws its own token
 *	with phrases		beam_constrained_step() of beam_constrain.c
 *	otherwise		search_continuations(): the best continuations of all hypotheses
 *
 * search_continuations() looks at 2 * beam continuations. At most beam of them are </s> (one of
 * each live hypothesis), so at least beam hypotheses stay alive. Greedy search (beam 1) looks at
 * one and ends with the first </s>.
 *
 * The rules of other programs (beam_rules) keep `beam` finished hypotheses, not n_best: transformers
 * (GenerationMixin._beam_search, early_stopping false), fairseq (SequenceGenerator), OpenNMT-py (BeamSearch, ratio 0).
 */
#include "eval/decode/beam_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/shard/token_batch.h"
#include "eval/decode/sampling.h"
#include "share/base/mem.h"

/* <pad>, <s>, <unk>: each may be among a row's best tokens and is skipped. */
#define N_NEVER_CHOSEN 3

struct beam *beam_new(const struct decode_options *o, const struct decode_constraint *constraint,
		      uint64_t number, int32_t first_token, int32_t max_length, struct err *e)
{
	struct beam *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	b->o = *o;
	b->max_length = max_length;
	b->n_live = 1;
	b->live[0].node = -1;
	b->live[0].progress.phrase = -1;
	b->constraint = constraint;
	b->number = number;
	b->first_token = first_token;
	if (o->sample || (constraint && constraint->n_phrases > 0))
		b->o.rules = BEAM_RULES_OWN;
	if (!decode_has_penalties(o) ||
	    (b->path = mem_alloc((size_t)max_length, sizeof(*b->path), e)))
		return b;
	beam_free(b);
	return NULL;
}

void beam_free(struct beam *b)
{
	if (!b)
		return;
	free(b->nodes);
	free(b->path);
	free(b->candidates);
	free(b);
}

int32_t beam_width(const struct decode_options *o)
{
	return beam_candidates(o) + N_NEVER_CHOSEN;
}

double decode_length_penalty(int32_t rules, double alpha, int64_t length)
{
	if (rules == BEAM_RULES_OWN)
		return pow((5.0 + (double)length) / 6.0, alpha);
	/* OpenNMT-py counts <s> */
	return pow((double)(length + (rules == BEAM_RULES_OPENNMT)), alpha);
}

static double length_penalty(const struct beam *b, int32_t length)
{
	return decode_length_penalty(b->o.rules, b->o.alpha, length);
}

/* The number of finished hypotheses that the search keeps. */
static int32_t n_kept(const struct beam *b)
{
	return b->o.rules == BEAM_RULES_OWN ? b->o.n_best : b->o.beam;
}

/*
 * Inserts into finished[], sorted by falling score. Equal scores, and all samples, stay in order of
 * arrival.
 */
void beam_finish(struct beam *b, const struct live_hypothesis *from, double log_prob)
{
	struct finished_hypothesis f = { from->node, log_prob,
					 log_prob / length_penalty(b, b->length + 1), from->sample,
					 false };
	int32_t i;

	if (b->n_finished == n_kept(b) && !(f.score > b->finished[b->n_finished - 1].score))
		return;
	if (b->n_finished < n_kept(b))
		b->n_finished++;
	for (i = b->n_finished - 1; i > 0 && !b->o.sample && f.score > b->finished[i - 1].score;
	     i--)
		b->finished[i] = b->finished[i - 1];
	b->finished[i] = f;
}

/*
 * The best continuation over all live hypotheses: one step of a merge of sorted rows. at[i] is the
 * next entry of row i. Equal sums go to the earlier row. False: no entries are left.
 */
static bool next_candidate(const struct beam *b, const struct beam_scores *found, int32_t *at,
			   int32_t *row, double *log_prob, int32_t *token)
{
	*row = -1;
	for (int32_t i = 0; i < b->n_live; i++) {
		const float *values = found->values + (int64_t)i * found->k;
		const int32_t *ids = found->ids + (int64_t)i * found->k;

		while (at[i] < found->k && beam_is_excluded(ids[at[i]]))
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

/* Can no live hypothesis beat the worst of the finished hypotheses, or do the rules end the search? */
static bool is_decided(const struct beam *b)
{
	const bool is_opennmt = b->o.rules == BEAM_RULES_OPENNMT;
	int32_t length = b->max_length;

	if (b->n_finished < (is_opennmt ? b->o.n_best : n_kept(b)))
		return false;
	if (b->n_live == 0 || b->o.beam == 1 || b->o.rules == BEAM_RULES_FAIRSEQ)
		return true;
	if (is_opennmt)
		return b->is_top_end;
	if (b->o.rules == BEAM_RULES_TRANSFORMERS)
		length = b->length; /* its bound ignores that longer hypotheses can score better */
	/*
	 * live[0] has the greatest log-probability, which can only fall; the greatest length has
	 * the greatest penalty divisor. So this quotient bounds every later score.
	 */
	return b->live[0].log_prob / length_penalty(b, length) <=
	       b->finished[b->n_finished - 1].score;
}

/* ---- steps: choose the next live hypotheses ---------------------------- */

/* Unconstrained search. Returns the number of next hypotheses, best first. */
static int32_t search_continuations(struct beam *b, const struct beam_scores *found,
				    struct beam_next *next)
{
	const int32_t n_candidates =
			      b->o.rules == BEAM_RULES_OPENNMT ? b->o.beam : beam_candidates(&b->o),
		      n_ends = b->o.rules == BEAM_RULES_OWN ? n_candidates : b->o.beam;
	int32_t at[DECODE_MAX_BEAM] = { 0 }, row, token = 0, n = 0;
	double log_prob = 0;

	b->is_top_end = false;
	for (int32_t taken = 0; taken < n_candidates; taken++) {
		if (!next_candidate(b, found, at, &row, &log_prob, &token))
			break;
		if (token == TOKEN_END && taken >= n_ends)
			continue;
		if (token == TOKEN_END) {
			b->is_top_end = b->is_top_end || !taken;
			beam_finish(b, &b->live[row], log_prob);
			continue;
		}
		if (n == b->o.beam)
			continue;
		next[n++] = (struct beam_next){
			.live = { .log_prob = log_prob },
			.row = row,
			.token = token,
			.value = found->values[(int64_t)row * found->k + at[row] - 1]
		};
	}
	return n;
}

/* Appends the first token, or the next one of the prefix, to the only live hypothesis; </s> in a prefix ends it. */
static int32_t force_prefix_token(struct beam *b, const struct beam_scores *found,
				  struct beam_next *next)
{
	const bool is_first = b->first_token != TOKEN_PAD && b->length == 0;
	const int32_t token =
		is_first ? b->first_token
			 : b->constraint->prefix[b->length - (b->first_token != TOKEN_PAD)];
	const float value = is_first ? 0 : found->all[token];

	assert(b->n_live == 1);
	if (!is_first && token == TOKEN_END) {
		beam_finish(b, &b->live[0], b->live[0].log_prob + (double)value);
		return 0;
	}
	*next = (struct beam_next){ .live = b->live[0], .token = token, .value = value };
	next->live.log_prob += (double)value;
	if (!is_first)
		next->live.progress = beam_phrase_progress(b, &b->live[0].progress, token);
	return 1;
}

/*
 * Draws a token for each live hypothesis. The first step has one live hypothesis and draws n_best
 * tokens from its row. Returns the number of next hypotheses; -1: out of memory.
 */
static int32_t sample_continuations(struct beam *b, const struct beam_scores *found,
				    struct beam_next *next, struct err *e)
{
	const int32_t first = beam_prefix_length(b);
	const int32_t draws = b->length == first ? b->o.n_best : b->n_live;
	int32_t n = 0;

	for (int32_t i = 0; i < draws; i++) {
		const int32_t row = b->length == first ? 0 : i;
		const float *all = found->all + (int64_t)row * found->stride;
		struct live_hypothesis from = b->live[row];
		int32_t token;

		if (b->length == first)
			from.sample = i;
		token = sampling_draw_token(all, found->n_real, &b->o,
					    rng_key_make(b->o.seed, RNG_DECODE, (uint32_t)b->number,
							 (uint32_t)from.sample),
					    (uint64_t)b->length, e);
		if (token < 0)
			return -1;
		if (token == TOKEN_END) {
			assert(b->n_finished < b->o.n_best);
			beam_finish(b, &from, from.log_prob + (double)all[token]);
			continue;
		}
		next[n] = (struct beam_next){
			.live = from, .row = row, .token = token, .value = all[token]
		};
		next[n++].live.log_prob += (double)all[token];
	}
	return n;
}

bool beam_wants_best(const struct beam *b)
{
	return !b->o.sample && !beam_in_prefix(b);
}

int beam_advance(struct beam *b, const struct beam_scores *found, struct beam_live *live,
		 struct err *e)
{
	struct beam_next next[DECODE_MAX_BEAM];
	int32_t n = 0;
	bool forced = beam_in_prefix(b);

	assert(!b->is_over && b->n_live > 0 && b->length < b->max_length);
	live->n = 0;
	if (mem_grow(&b->nodes, &b->cap_nodes, b->n_nodes + DECODE_MAX_BEAM, sizeof(*b->nodes), e))
		return e->code;
	if (forced)
		n = force_prefix_token(b, found, next);
	else if (b->o.sample)
		n = sample_continuations(b, found, next, e);
	else if (b->constraint && b->constraint->n_phrases > 0)
		n = beam_constrained_step(b, found, next, &n, e) ? -1 : n;
	else
		n = search_continuations(b, found, next);
	if (n < 0)
		return e->code;
	assert(n <= b->o.beam);
	for (int32_t i = 0; i < n; i++) {
		const struct beam_next *x = &next[i];

		assert(x->row >= 0 && x->row < b->n_live);

		b->nodes[b->n_nodes] =
			(struct beam_node){ b->live[x->row].node, x->token,
					    found->aligned ? found->aligned[x->row] : 0, x->value };
		next[i].live.node = (int32_t)b->n_nodes++;
		live->parent[i] = x->row;
		live->token[i] = x->token;
	}
	for (int32_t i = 0; i < n; i++)
		b->live[i] = next[i].live;
	b->n_live = n;
	b->length++;
	b->is_over =
		n == 0 || b->length >= b->max_length || (!forced && !b->o.sample && is_decided(b));
	live->n = b->is_over ? 0 : n;
	return 0;
}

/* Writes the path that ends at this node into h. The caller frees h after a failure too. */
static int unroll_hypothesis(const struct beam *b, int32_t node, struct decode_hypothesis *h,
			     struct err *e)
{
	/* node 0 is the first token, which no result contains */
	const int32_t end = b->first_token != TOKEN_PAD ? 1 : 0;
	int32_t n = 0;

	for (int32_t i = node; i >= end; i = b->nodes[i].parent)
		n++;
	if (decode_hypothesis_alloc(h, n, &b->o, e))
		return e->code;
	for (int32_t i = node; i >= end; i = b->nodes[i].parent) {
		h->tokens[--n] = b->nodes[i].token;
		if (h->aligned)
			h->aligned[n] = b->nodes[i].aligned;
		if (h->log_probs)
			h->log_probs[n] = b->nodes[i].log_prob;
	}
	return 0;
}

static int by_sample(const void *a, const void *b)
{
	const struct finished_hypothesis *x = a, *y = b;

	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int by_score(const void *a, const void *b)
{
	const struct finished_hypothesis *x = a, *y = b;

	return x->score != y->score ? (x->score > y->score ? -1 : 1) : x->node - y->node;
}

/* By the rules of transformers, hypotheses that are cut off compete with the finished ones. */
static bool are_cut_off_equal(const struct beam *b)
{
	return b->o.rules == BEAM_RULES_TRANSFORMERS && b->length >= b->max_length &&
	       !b->o.sample && !is_decided(b);
}

/*
 * The hypotheses of the result, in order: the finished ones, then the best live ones if fewer than
 * n_best are finished (they are cut off at the greatest length).
 */
static int32_t order_finished(const struct beam *b,
			      struct finished_hypothesis list[2 * DECODE_MAX_BEAM])
{
	const bool are_equal = are_cut_off_equal(b);
	const int32_t most = MAX(1, b->o.n_best);
	int32_t n = are_equal ? b->n_finished : MIN(b->n_finished, most);

	memcpy(list, b->finished, (size_t)n * sizeof(*list));
	for (int32_t i = 0; i < b->n_live && (are_equal || n < most); i++)
		list[n++] = (struct finished_hypothesis){ b->live[i].node, b->live[i].log_prob,
							  b->live[i].log_prob /
								  length_penalty(b, b->length),
							  b->live[i].sample, true };
	if (b->o.sample)
		qsort(list, (size_t)n, sizeof(*list), by_sample);
	if (are_equal)
		qsort(list, (size_t)n, sizeof(*list), by_score);
	return MIN(n, most);
}

int beam_result(const struct beam *b, struct decode_result *result, struct err *e)
{
	struct finished_hypothesis list[2 * DECODE_MAX_BEAM];
	const int32_t n = order_finished(b, list);
	struct decode_hypothesis *h;

	result->hypotheses = mem_alloc((size_t)MAX(n, 1), sizeof(*result->hypotheses), e);
	if (!result->hypotheses)
		return e->code;
	for (const struct finished_hypothesis *f = list; f < list + n; f++) {
		h = &result->hypotheses[result->n++];
		*h = (struct decode_hypothesis){ .log_prob = f->log_prob,
						 .score = f->score,
						 .finished = !f->is_truncated };
		if (unroll_hypothesis(b, f->node, h, e))
			return e->code;
	}
	return 0;
}
