/*
 * beam_constrain.c - beam search whose translations contain all forced phrases.
 *
 * Dynamic beam allocation (Post and Vilar 2018). The bank of a hypothesis is the number of phrase
 * tokens that it contains. A step works like this:
 *
 *  1. Candidates of each live hypothesis ("row") are its k best tokens and the tokens that advance
 *     a phrase: the next token of the phrase that it is writing; or else the first token of each
 *     missing phrase. Phrases are whole words. So within a word that is no phrase, the most
 *     probable token that ends this word takes their place.
 *  2. A candidate is dropped if it needs more tokens for the missing phrases than steps are left.
 *     </s> is dropped while a phrase is missing.
 *  3. Candidates are ranked by log-probability within their bank. Those with </s> are finished.
 *  4. The beam is filled with the best of every bank, then the second of every bank, and so on;
 *     within one rank, fuller banks first. So neither hypotheses with many phrase tokens nor
 *     hypotheses that delay a phrase are lost.
 *
 * Why every translation contains its phrases: the greatest length grows by the tokens of all
 * phrases, so at the start enough steps are left. One candidate of step 1 always reduces the
 * number of missing tokens, so each row has a candidate that passes step 2.
 */
#include "eval/decode/beam_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "data/shard/token_batch.h"
#include "share/base/mem.h"

struct beam_candidate {
	struct beam_next next;
	int32_t bank;	   /* phrase tokens that the hypothesis contains */
	int32_t bank_rank; /* 0: the best candidate of its bank */
};

/* Does this token's word continue in the next token? */
static bool token_joins_next(const struct beam *b, int32_t token)
{
	return b->o.joins_next && b->o.joins_next[token];
}

/* Starts the first phrase that is not done yet and begins with token, if any. */
static void begin_phrase(const struct beam *b, struct phrase_progress *p, int32_t token)
{
	for (int32_t i = 0; i < b->constraint->n_phrases; i++)
		if (!(p->phrases_done >> i & 1) && b->constraint->phrases[i].tokens[0] == token) {
			p->phrase = i;
			p->at = 1;
			return;
		}
}

struct phrase_progress beam_phrase_progress(const struct beam *b,
					    const struct phrase_progress *before, int32_t token)
{
	struct phrase_progress p = *before;

	assert(p.phrase < b->constraint->n_phrases && (p.phrase >= 0 || p.at == 0));
	if (p.phrase >= 0 && b->constraint->phrases[p.phrase].tokens[p.at] == token) {
		p.at++;
	} else {
		p.phrase = -1;
		p.at = 0;
		if (!before->inside_word)
			begin_phrase(b, &p, token);
	}
	if (p.phrase >= 0 && p.at == b->constraint->phrases[p.phrase].n) {
		p.phrases_done |= (uint32_t)1 << p.phrase;
		p.phrase = -1;
		p.at = 0;
	}
	p.inside_word = token_joins_next(b, token);
	return p;
}

/* The bank: phrase tokens that the hypothesis contains. */
static int32_t count_done_tokens(const struct beam *b, const struct phrase_progress *p)
{
	return p->at + beam_phrase_tokens(b->constraint, p->phrases_done);
}

/* The least number of steps until the hypothesis contains all phrases. */
static int32_t count_missing_tokens(const struct beam *b, const struct phrase_progress *p)
{
	const int32_t n = beam_phrase_tokens(b->constraint, ~p->phrases_done);

	assert(n >= p->at);
	/* one more step if a word that is no phrase must end first */
	return n - p->at + (n > 0 && p->inside_word && p->phrase < 0);
}

/*
 * Adds a candidate of a row, unless it cannot contain all phrases in time or the row has this
 * token already. first: index of the row's first candidate.
 */
static void add_beam_candidate(struct beam *b, size_t *n, size_t first, int32_t row, int32_t token,
			       float value)
{
	const struct live_hypothesis *from = &b->live[row];
	struct beam_candidate *c = &b->candidates[*n];

	if (beam_is_excluded(token))
		return;
	for (size_t i = first; i < *n; i++)
		if (b->candidates[i].next.token == token)
			return;
	/* a phrase token of probability 0 (or a banned one) must not end the hypothesis */
	if (!(value > -1e9f))
		value = -1e9f;
	*c = (struct beam_candidate){ .next = { .row = row, .token = token, .value = value } };
	c->next.live = (struct live_hypothesis){ .log_prob = from->log_prob + (double)value };
	if (token == TOKEN_END) {
		if (count_missing_tokens(b, &from->progress) > 0)
			return;
		c->next.live.progress = from->progress;
	} else {
		c->next.live.progress = beam_phrase_progress(b, &from->progress, token);
		if (count_missing_tokens(b, &c->next.live.progress) >
		    b->max_length - (b->length + 1))
			return;
	}
	c->bank = count_done_tokens(b, &c->next.live.progress);
	++*n;
}

/* The most probable token that ends a word; -1: the vocabulary has none. */
static int32_t best_end_of_word(const struct beam *b, const float *all, int32_t n)
{
	int32_t best = -1;

	for (int32_t i = 0; i < n; i++)
		if (i != TOKEN_END && !beam_is_excluded(i) && !token_joins_next(b, i) &&
		    (best < 0 || all[i] > all[best]))
			best = i;
	return best;
}

static void add_row_candidates(struct beam *b, const struct beam_scores *found, int32_t row,
			       size_t *n)
{
	const float *all = found->all + (int64_t)row * found->stride;
	const struct phrase_progress *p = &b->live[row].progress;
	const size_t first = *n;
	int32_t token;

	if (p->phrase >= 0) {
		token = b->constraint->phrases[p->phrase].tokens[p->at];
		add_beam_candidate(b, n, first, row, token, all[token]);
	} else if (count_missing_tokens(b, p) > 0 && p->inside_word) {
		token = best_end_of_word(b, all, found->n_real);
		if (token >= 0)
			add_beam_candidate(b, n, first, row, token, all[token]);
	} else {
		for (int32_t i = 0; i < b->constraint->n_phrases; i++) {
			token = b->constraint->phrases[i].tokens[0];
			if (!(p->phrases_done >> i & 1))
				add_beam_candidate(b, n, first, row, token, all[token]);
		}
	}
	for (int32_t i = 0; i < found->k; i++)
		add_beam_candidate(b, n, first, row, found->ids[(int64_t)row * found->k + i],
				   found->values[(int64_t)row * found->k + i]);
}

static int by_log_prob(const void *a, const void *b)
{
	const struct beam_candidate *x = a, *y = b;

	if (x->next.live.log_prob != y->next.live.log_prob)
		return x->next.live.log_prob < y->next.live.log_prob ? 1 : -1;
	if (x->next.row != y->next.row)
		return x->next.row > y->next.row ? 1 : -1;
	return x->next.token > y->next.token ? 1 : -1;
}

/* The order in which candidates get places in the beam: step 4 above. */
static int by_bank_rank(const void *a, const void *b)
{
	const struct beam_candidate *x = a, *y = b;

	if (x->bank_rank != y->bank_rank)
		return x->bank_rank > y->bank_rank ? 1 : -1;
	if (x->bank != y->bank)
		return x->bank < y->bank ? 1 : -1;
	return by_log_prob(a, b);
}

/*
 * Sets bank_rank of the n candidates, which are sorted by log-probability. Candidates with </s> get
 * no rank: they are finished if they are among the best of their bank, and removed. Returns the
 * number of candidates that are left.
 */
static size_t rank_within_banks(struct beam *b, size_t n)
{
	const int32_t fullest = beam_phrase_tokens(b->constraint, UINT32_MAX);
	size_t kept = 0;

	for (int32_t bank = 0; bank <= fullest; bank++) {
		int32_t seen = 0, rank = 0;

		for (size_t i = 0; i < n; i++) {
			struct beam_candidate *c = &b->candidates[i];

			if (c->bank != bank)
				continue;
			seen++;
			if (c->next.token != TOKEN_END)
				c->bank_rank = rank++;
			else if (seen <= beam_candidates(&b->o))
				beam_finish(b, &b->live[c->next.row], c->next.live.log_prob);
		}
	}
	for (size_t i = 0; i < n; i++)
		if (b->candidates[i].next.token != TOKEN_END)
			b->candidates[kept++] = b->candidates[i];
	return kept;
}

int beam_constrained_step(struct beam *b, const struct beam_scores *found, struct beam_next *next,
			  int32_t *n, struct err *e)
{
	/* + 1: add_beam_candidate() writes one entry ahead */
	const size_t limit = (size_t)b->n_live * ((size_t)found->k + DECODE_MAX_PHRASES + 1) + 1;
	size_t candidates = 0;

	assert(b->constraint->n_phrases <= DECODE_MAX_PHRASES);
	if (mem_grow(&b->candidates, &b->cap_candidates, limit, sizeof(*b->candidates), e))
		return e->code;
	for (int32_t row = 0; row < b->n_live; row++)
		add_row_candidates(b, found, row, &candidates);
	assert(candidates < limit);
	qsort(b->candidates, candidates, sizeof(*b->candidates), by_log_prob);
	candidates = rank_within_banks(b, candidates);
	qsort(b->candidates, candidates, sizeof(*b->candidates), by_bank_rank);
	candidates = MIN(candidates, (size_t)b->o.beam);
	qsort(b->candidates, candidates, sizeof(*b->candidates), by_log_prob);
	for (size_t i = 0; i < candidates; i++)
		next[i] = b->candidates[i].next;
	*n = (int32_t)candidates;
	return 0;
}
