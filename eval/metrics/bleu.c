/* bleu.c - counts and scores of BLEU; see bleu.h */
#include "config.h"
#include "eval/metrics/bleu.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/metrics/ngrams.h"
#include "share/base/mem.h"

const struct bleu_options bleu_defaults = { SCORE_13A, BLEU_EXP, -1, false, false, false };

struct bleu {
	struct bleu_options o;
	size_t n_references;
	int64_t sums[BLEU_SUMS];
	int64_t segments;
	/* scratch */
	struct ngrams ngrams;
	struct word_numbers words;
	struct score_scratch scratch;
	struct buf tokens, apart;
	uint32_t *symbols; /* owned */
	size_t n_symbols, cap_symbols;
};

struct bleu *bleu_new(const struct bleu_options *o, struct err *e)
{
	struct bleu *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	b->o = *o;
	if (o->tokenizer == SCORE_MULTI_BLEU)
		b->o.smoothing = BLEU_NONE;
	if (b->o.smooth_value < 0)
		b->o.smooth_value = o->smoothing == BLEU_FLOOR ? 0.1 : 1;
	b->ngrams.order = BLEU_ORDER;
	return b;
}

void bleu_free(struct bleu *b)
{
	if (!b)
		return;
	ngrams_free(&b->ngrams);
	word_numbers_free(&b->words);
	score_scratch_free(&b->scratch);
	buf_free(&b->tokens);
	buf_free(&b->apart);
	free(b->symbols);
	free(b);
}

static bool is_ascii_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * Copies tokens to out with the Perl substitution s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g. Matches do
 * not overlap: the character after a hyphen cannot be the one before the next hyphen.
 */
static void split_compounds(const struct buf *tokens, struct buf *out)
{
	const char *text = tokens->data;
	size_t n = tokens->len, i = 0;

	buf_clear(out);
	while (i < n) {
		if (i + 2 < n && text[i + 1] == '-' && !is_ascii_space(text[i]) &&
		    !is_ascii_space(text[i + 2])) {
			buf_add_char(out, text[i]);
			buf_add_str(out, " ##AT##-##AT## ");
			buf_add_char(out, text[i + 2]);
			i += 3;
		} else {
			buf_add_char(out, text[i++]);
		}
	}
}

/* Fills b->symbols with the numbers of the text's tokens. */
static int bleu_split_text(struct bleu *b, const struct score_text *t, struct err *e)
{
	struct buf *tokens;

	buf_clear(&b->tokens);
	b->n_symbols = 0;
	score_tokenize(b->o.tokenizer, b->o.lowercase, t->text, t->n, &b->scratch, &b->tokens);
	tokens = &b->tokens;
	if (b->o.split_compounds) {
		split_compounds(tokens, &b->apart);
		tokens = &b->apart;
	}
	if (buf_check(&b->tokens, e) || buf_check(tokens, e))
		return e->code;
	return word_numbers_split(&b->words, buf_text(tokens), tokens->len,
				  b->o.tokenizer == SCORE_MULTI_BLEU, &b->symbols, &b->n_symbols,
				  &b->cap_symbols, e);
}

int bleu_add(struct bleu *b, const struct score_text *hypothesis,
	     const struct score_text *references, size_t n, struct err *e)
{
	int64_t length, closest = -1;

	if (signature_check_references(b->segments, b->n_references, n, e) ||
	    bleu_split_text(b, hypothesis, e) ||
	    ngrams_hypothesis(&b->ngrams, b->symbols, b->n_symbols, e))
		return e->code;
	length = (int64_t)b->n_symbols;
	for (size_t r = 0; r < n; r++) {
		int64_t own, difference;

		if (bleu_split_text(b, &references[r], e))
			return e->code;
		ngrams_reference(&b->ngrams, b->symbols, b->n_symbols);
		own = (int64_t)b->n_symbols;
		difference = llabs(length - own) - llabs(length - closest);
		if (closest < 0 || difference < 0 || (difference == 0 && own < closest))
			closest = own;
	}
	b->n_references = n;
	b->segments++;
	assert(closest >= 0);
	b->sums[0] += length;
	b->sums[1] += closest;
	for (int k = 0; k < BLEU_ORDER; k++) {
		b->sums[2 + k] += b->ngrams.matches[k];
		b->sums[2 + BLEU_ORDER + k] += ngrams_total((size_t)length, k + 1);
	}
	return 0;
}

/* Fills s->precisions. Returns the number of orders that the score uses. */
static int compute_precisions(const struct bleu *b, struct bleu_score *s)
{
	double *precisions = s->precisions;
	double halved = 1;
	int orders = BLEU_ORDER;

	for (int k = 0; k < BLEU_ORDER; k++) {
		double added = b->o.smoothing == BLEU_ADD_K && k > 0 ? b->o.smooth_value : 0;
		double count = (double)s->counts[k] + added, total = (double)s->totals[k] + added;

		assert(s->counts[k] <= s->totals[k]);

		if (total == 0)
			break;
		if (b->o.effective_order)
			orders = k + 1;
		if (count != 0) {
			precisions[k] = 100. * count / total;
		} else if (b->o.smoothing == BLEU_EXP) {
			halved *= 2;
			precisions[k] = 100. / (halved * total);
		} else if (b->o.smoothing == BLEU_FLOOR) {
			precisions[k] = 100. * b->o.smooth_value / total;
		}
	}
	return orders;
}

void bleu_sums(const struct bleu *b, int64_t sums[BLEU_SUMS])
{
	memcpy(sums, b->sums, sizeof(b->sums));
}

void bleu_of_sums(const struct bleu *b, const int64_t sums[BLEU_SUMS], struct bleu_score *score)
{
	double sum = 0;
	bool any = false;
	int orders;

	memset(score, 0, sizeof(*score));
	score->hypothesis_length = sums[0];
	score->reference_length = sums[1];
	memcpy(score->counts, sums + 2, sizeof(score->counts));
	memcpy(score->totals, sums + 2 + BLEU_ORDER, sizeof(score->totals));
	score->bp = 1;
	if (sums[0] < sums[1])
		score->bp = sums[0] > 0 ? exp(1 - (double)sums[1] / (double)sums[0]) : 0;
	for (int k = 0; k < BLEU_ORDER; k++)
		any |= score->counts[k] > 0;
	if (!any)
		return;
	orders = compute_precisions(b, score);
	for (int k = 0; k < orders; k++)
		sum += score->precisions[k] > 0 ? log(score->precisions[k]) : -9999999999.;
	score->score = score->bp * exp(sum / orders);
}

void bleu_score(const struct bleu *b, struct bleu_score *score)
{
	bleu_of_sums(b, b->sums, score);
}

static const char *const smoothings[] = { "exp", "none", "floor", "add-k" };

static bool has_smooth_value(const struct bleu *b)
{
	return b->o.smoothing == BLEU_FLOOR || b->o.smoothing == BLEU_ADD_K;
}

void bleu_signature(const struct bleu *b, struct buf *out)
{
	buf_printf(out, "werkbank|bleu|refs:%zu|case:%s|tok:%s|smooth:%s", b->n_references,
		   b->o.lowercase ? "lc" : "mixed", score_tokenizer_name(b->o.tokenizer),
		   smoothings[b->o.smoothing]);
	if (has_smooth_value(b))
		buf_printf(out, "[%g]", b->o.smooth_value);
	if (b->o.effective_order)
		buf_add_str(out, "|eff:yes");
	if (b->o.split_compounds)
		buf_add_str(out, "|compounds:split");
	buf_printf(out, "|v:%s", PACKAGE_VERSION);
}

void bleu_sacrebleu_signature(const struct bleu *b, const struct signature_trials *trials,
			      struct buf *out)
{
	if (b->o.tokenizer == SCORE_MULTI_BLEU || b->o.split_compounds)
		return;
	signature_begin(b->n_references, trials, out);
	buf_printf(out, "|case:%s|eff:%s|tok:%s|smooth:%s", b->o.lowercase ? "lc" : "mixed",
		   b->o.effective_order ? "yes" : "no", score_tokenizer_name(b->o.tokenizer),
		   smoothings[b->o.smoothing]);
	if (has_smooth_value(b))
		buf_printf(out, "[%.2f]", b->o.smooth_value);
	signature_end(out);
}
