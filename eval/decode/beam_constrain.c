/*
 * beam_constrain.c - a search whose translations contain given phrases.
 *
 * Dynamic beam allocation (Post and Vilar 2018): hypotheses compete within banks, those with as
 * many tokens of the phrases said; in every step each bank gets places in turn, from the fullest
 * on, so that neither those who have said much nor those who wait for a better place are lost.
 * Besides a row's best continuations those are candidates that take it on with a phrase.
 *
 * That the phrases are there in the end is certain: a hypothesis stays alive only while the steps
 * that are left suffice for the tokens that are missing, one of its continuations always keeps
 * it so, and </s> counts only when nothing is missing.
 */
#include "eval/decode/beam_internal.h"

#include <math.h>
#include <stdlib.h>

#include "data/shard/token_batch.h"
#include "share/base/mem.h"

struct beam_candidate {
	struct beam_next next;
	int32_t bank, rank_in_bank; /* tokens said; place within the bank */
};

static bool joins_next(const struct beam *b, int32_t token)
{
	return b->o.joins_next && b->o.joins_next[token];
}

/* Begin the first phrase that is missing and begins with this token. */
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
	p.inside_word = joins_next(b, token);
	return p;
}

/* Tokens of phrases that have been said. */
static int32_t count_done_tokens(const struct beam *b, const struct phrase_progress *p)
{
	int32_t n = p->at;

	for (int32_t i = 0; i < b->constraint->n_phrases; i++)
		n += p->phrases_done >> i & 1 ? b->constraint->phrases[i].n : 0;
	return n;
}

/* Steps that are needed at least until all is said. */
static int32_t count_missing_tokens(const struct beam *b, const struct phrase_progress *p)
{
	int32_t n = 0;

	for (int32_t i = 0; i < b->constraint->n_phrases; i++)
		n += p->phrases_done >> i & 1 ? 0 : b->constraint->phrases[i].n;
	return n - p->at + (n > 0 && p->inside_word && p->phrase < 0);
}

/* Add a candidate, unless it is hopeless or there already among those of its row, from first on. */
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
	/* a phrase must not end because something is quite impossible to the model */
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

/* The best token that ends a word. */
static int32_t best_end_of_word(const struct beam *b, const float *all, int32_t n)
{
	int32_t best = -1;

	for (int32_t i = 0; i < n; i++)
		if (i != TOKEN_END && !beam_is_excluded(i) && !joins_next(b, i) &&
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

static int by_turn(const void *a, const void *b)
{
	const struct beam_candidate *x = a, *y = b;

	if (x->rank_in_bank != y->rank_in_bank)
		return x->rank_in_bank > y->rank_in_bank ? 1 : -1;
	if (x->bank != y->bank)
		return x->bank < y->bank ? 1 : -1;
	return by_log_prob(a, b);
}

/* Places within banks; those that end with </s> are finished, or not good enough, and leave. */
static size_t rank_in_bank(struct beam *b, size_t n)
{
	int32_t total = 0;
	size_t kept = 0;

	for (int32_t i = 0; i < b->constraint->n_phrases; i++)
		total += b->constraint->phrases[i].n;
	for (int32_t bank = 0; bank <= total; bank++) {
		int32_t seen = 0, place = 0;

		for (size_t i = 0; i < n; i++) {
			struct beam_candidate *c = &b->candidates[i];

			if (c->bank != bank)
				continue;
			seen++;
			if (c->next.token != TOKEN_END)
				c->rank_in_bank = place++;
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
	const size_t most = (size_t)b->n_live * ((size_t)found->k + DECODE_MAX_PHRASES + 1) + 1;
	size_t candidates = 0;

	if (mem_grow(&b->candidates, &b->cap_candidates, most, sizeof(*b->candidates), e))
		return e->code;
	for (int32_t row = 0; row < b->n_live; row++)
		add_row_candidates(b, found, row, &candidates);
	qsort(b->candidates, candidates, sizeof(*b->candidates), by_log_prob);
	candidates = rank_in_bank(b, candidates);
	qsort(b->candidates, candidates, sizeof(*b->candidates), by_turn);
	candidates = MIN(candidates, (size_t)b->o.beam);
	qsort(b->candidates, candidates, sizeof(*b->candidates), by_log_prob);
	for (size_t i = 0; i < candidates; i++)
		next[i] = b->candidates[i].next;
	*n = (int32_t)candidates;
	return 0;
}
