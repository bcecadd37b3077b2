/* bleu.c - see bleu.h */
#include "config.h"
#include "eval/bleu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/ngrams.h"
#include "share/base/mem.h"

const struct bleu_options bleu_usual = { SCORE_13A, BLEU_EXP, -1, false, false };

struct bleu {
	struct bleu_options o;
	size_t  n_references;
	int64_t counts[BLEU_ORDER], totals[BLEU_ORDER];
	int64_t hypothesis_length, reference_length, segments;
	/* scratch */
	struct ngrams ngrams;
	struct words  words;
	struct score_scratch scratch;
	struct buf  tokens;
	uint32_t   *symbols;		/* owned */
	size_t      n_symbols, cap_symbols;
};

struct bleu *bleu_new(const struct bleu_options *o, struct err *e)
{
	struct bleu *b = mem_alloc(1, sizeof(*b), e);

	if (!b)
		return NULL;
	b->o = *o;
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
	words_free(&b->words);
	score_scratch_free(&b->scratch);
	buf_free(&b->tokens);
	free(b->symbols);
	free(b);
}

/* Cut a text into the numbers of its tokens. */
static int split(struct bleu *b, const struct score_text *t, struct err *e)
{
	buf_clear(&b->tokens);
	b->n_symbols = 0;
	score_tokenize(b->o.tokenizer, b->o.lowercase, t->text, t->n, &b->scratch, &b->tokens);
	if (buf_check(&b->tokens, e))
		return e->code;
	return words_split(&b->words, buf_text(&b->tokens), b->tokens.len, &b->symbols,
			   &b->n_symbols, &b->cap_symbols, e);
}

int bleu_add(struct bleu *b, const struct score_text *hypothesis,
	     const struct score_text *references, size_t n, struct err *e)
{
	int64_t length, closest = -1;

	if (n == 0 || (b->segments > 0 && n != b->n_references))
		return err_set(e, ERR_DATA,
			       "segment %lld has %zu references, and the ones before it %zu",
			       (long long)b->segments + 1, n, b->n_references);
	if (split(b, hypothesis, e) || ngrams_hypothesis(&b->ngrams, b->symbols, b->n_symbols, e))
		return e->code;
	length = (int64_t)b->n_symbols;
	for (size_t r = 0; r < n; r++) {
		int64_t own, difference;

		if (split(b, &references[r], e))
			return e->code;
		ngrams_reference(&b->ngrams, b->symbols, b->n_symbols);
		own = (int64_t)b->n_symbols;
		difference = llabs(length - own) - llabs(length - closest);
		if (closest < 0 || difference < 0 || (difference == 0 && own < closest))
			closest = own;
	}
	b->n_references = n;
	b->segments++;
	b->hypothesis_length += length;
	b->reference_length += closest;
	for (int k = 0; k < BLEU_ORDER; k++) {
		b->counts[k] += b->ngrams.matches[k];
		b->totals[k] += ngrams_total((size_t)length, k + 1);
	}
	return 0;
}

/* Fill precisions; returns the orders that count. */
static int take_precisions(const struct bleu *b, double *precisions)
{
	double halved = 1;
	int orders = BLEU_ORDER;

	for (int k = 0; k < BLEU_ORDER; k++) {
		double added = b->o.smoothing == BLEU_ADD_K && k > 0 ? b->o.smooth_value : 0;
		double count = (double)b->counts[k] + added, total = (double)b->totals[k] + added;

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

void bleu_score(const struct bleu *b, struct bleu_score *score)
{
	double sum = 0;
	bool any = false;
	int orders;

	memset(score, 0, sizeof(*score));
	memcpy(score->counts, b->counts, sizeof(score->counts));
	memcpy(score->totals, b->totals, sizeof(score->totals));
	score->hypothesis_length = b->hypothesis_length;
	score->reference_length = b->reference_length;
	score->segments = b->segments;
	score->bp = 1;
	if (b->hypothesis_length < b->reference_length)
		score->bp = b->hypothesis_length > 0 ?
			exp(1 - (double)b->reference_length / (double)b->hypothesis_length) : 0;
	for (int k = 0; k < BLEU_ORDER; k++)
		any |= b->counts[k] > 0;
	if (!any)
		return;
	orders = take_precisions(b, score->precisions);
	for (int k = 0; k < orders; k++)
		sum += score->precisions[k] > 0 ? log(score->precisions[k]) : -9999999999.;
	score->score = score->bp * exp(sum / orders);
}

void bleu_signature(const struct bleu *b, struct buf *out)
{
	static const char *const smoothings[] = { "exp", "none", "floor", "add-k" };
	bool has_value = b->o.smoothing == BLEU_FLOOR || b->o.smoothing == BLEU_ADD_K;

	buf_printf(out, "werkbank|bleu|refs:%zu|case:%s|tok:%s|smooth:%s", b->n_references,
		   b->o.lowercase ? "lc" : "mixed", score_tokenizer_name(b->o.tokenizer),
		   smoothings[b->o.smoothing]);
	if (has_value)
		buf_printf(out, "[%g]", b->o.smooth_value);
	if (b->o.effective_order)
		buf_add_str(out, "|eff:yes");
	buf_printf(out, "|v:%s", PACKAGE_VERSION);
}

int bleu_lists(const struct bleu_options *o, const char *const *hypotheses,
	       const char *const *references, size_t n, struct bleu_score *score, struct err *e)
{
	struct bleu *b = bleu_new(o, e);
	int code = b ? 0 : e->code;

	for (size_t i = 0; i < n && !code; i++) {
		struct score_text hypothesis = { hypotheses[i], strlen(hypotheses[i]) };
		struct score_text reference = { references[i], strlen(references[i]) };

		code = bleu_add(b, &hypothesis, &reference, 1, e);
	}
	if (!code)
		bleu_score(b, score);
	bleu_free(b);
	return code;
}
