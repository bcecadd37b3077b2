/* chrf.c - counts and scores of chrF; see chrf.h */
#include "config.h"
#include "eval/metrics/chrf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "eval/metrics/ngrams.h"
#include "eval/metrics/unicode.h"
#include "share/base/mem.h"
#include "share/base/text.h"

const struct chrf_options chrf_defaults = { 6, 0, 2, false };

/* The characters or the words of a text, as numbers. */
struct symbols {
	uint32_t *items; /* owned */
	size_t n, cap;
};

struct chrf {
	struct chrf_options o;
	size_t n_references;
	int64_t segments;
	struct chrf_counts sum;
	/* scratch */
	struct ngrams char_ngrams, word_ngrams;
	struct word_numbers words;
	struct buf lowered;
	struct symbols chars, word_numbers;
};

struct chrf *chrf_new(const struct chrf_options *o, struct err *e)
{
	struct chrf *c = mem_alloc(1, sizeof(*c), e);

	assert(o->char_order <= CHRF_MAX_CHAR_ORDER && o->word_order <= CHRF_MAX_WORD_ORDER);
	if (!c)
		return NULL;
	c->o = *o;
	c->char_ngrams.order = o->char_order;
	c->word_ngrams.order = o->word_order;
	return c;
}

void chrf_free(struct chrf *c)
{
	if (!c)
		return;
	ngrams_free(&c->char_ngrams);
	ngrams_free(&c->word_ngrams);
	word_numbers_free(&c->words);
	buf_free(&c->lowered);
	free(c->chars.items);
	free(c->word_numbers.items);
	free(c);
}

static int push_symbol(struct symbols *s, uint32_t item, struct err *e)
{
	if (mem_grow(&s->items, &s->cap, s->n + 1, sizeof(*s->items), e))
		return e->code;
	s->items[s->n++] = item;
	return 0;
}

static int push_word(struct chrf *c, const char *word, size_t n, struct err *e)
{
	uint32_t number;

	if (word_numbers_get(&c->words, word, n, &number, e))
		return e->code;
	return push_symbol(&c->word_numbers, number, e);
}

/* ASCII punctuation. */
static bool is_mark(char c)
{
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
	       (c >= '{' && c <= '~');
}

/*
 * Adds a word. From a word of several characters, one punctuation mark at its end, or else at its
 * start, is split off: "(hi)" gives "(hi" and ")", as in sacreBLEU.
 */
static int chrf_add_word(struct chrf *c, const char *word, size_t n, struct err *e)
{
	bool single = utf8_count(word, n) == 1;
	bool at_end = !single && is_mark(word[n - 1]);
	bool at_start = !single && !at_end && is_mark(word[0]);

	if (at_end)
		return push_word(c, word, n - 1, e) ? e->code : push_word(c, word + n - 1, 1, e);
	if (at_start)
		return push_word(c, word, 1, e) ? e->code : push_word(c, word + 1, n - 1, e);
	return push_word(c, word, n, e);
}

/* Fills c->chars and c->word_numbers from a text. */
static int chrf_split_text(struct chrf *c, const struct score_text *t, struct err *e)
{
	const char *text = t->text;
	size_t n = t->n, word = 0;

	c->chars.n = c->word_numbers.n = 0;
	if (c->o.lowercase) {
		buf_clear(&c->lowered);
		unicode_lower(&c->lowered, text, n);
		if (buf_check(&c->lowered, e))
			return e->code;
		text = buf_text(&c->lowered);
		n = c->lowered.len;
	}
	/* white space or the end of the text ends the word that starts at byte `word` */
	for (size_t i = 0; i <= n;) {
		size_t blank = i < n ? unicode_space(text + i, n - i) : 1;
		uint32_t codepoint;

		if (blank) {
			if (c->o.word_order > 0 && i > word &&
			    chrf_add_word(c, text + word, i - word, e))
				return e->code;
			i += blank;
			word = i;
			continue;
		}
		i += utf8_decode(text + i, n - i, &codepoint);
		if (push_symbol(&c->chars, codepoint, e))
			return e->code;
	}
	return 0;
}

/* The F score of counts, 0 ... 100. */
static double f_score(const struct chrf *c, const struct chrf_counts *counts)
{
	double precision = 0, recall = 0, factor = c->o.beta * c->o.beta;
	int used = 0;

	for (int k = 0; k < c->o.char_order + c->o.word_order; k++) {
		if (counts->hypothesis[k] == 0 || counts->reference[k] == 0)
			continue;
		precision += (double)counts->matches[k] / (double)counts->hypothesis[k];
		recall += (double)counts->matches[k] / (double)counts->reference[k];
		used++;
	}
	if (used == 0)
		return 0;
	precision /= used;
	recall /= used;
	if (precision + recall == 0)
		return 0;
	return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

static void count_orders(struct chrf_counts *counts, int first, const struct ngrams *g,
			 size_t n_hypothesis, size_t n_reference)
{
	for (int k = 0; k < g->order; k++) {
		counts->reference[first + k] = ngrams_total(n_reference, k + 1);
		/* a reference without n-grams of this order does not lower the precision */
		counts->hypothesis[first + k] =
			counts->reference[first + k] ? ngrams_total(n_hypothesis, k + 1) : 0;
		counts->matches[first + k] = g->matches[k];
	}
}

/* Counts the n-grams of a hypothesis; *n_chars, *n_words: its characters and words. */
static int count_hypothesis(struct chrf *c, const struct score_text *hypothesis, size_t *n_chars,
			    size_t *n_words, struct err *e)
{
	if (chrf_split_text(c, hypothesis, e) ||
	    ngrams_hypothesis(&c->char_ngrams, c->chars.items, c->chars.n, e) ||
	    ngrams_hypothesis(&c->word_ngrams, c->word_numbers.items, c->word_numbers.n, e))
		return e->code;
	*n_chars = c->chars.n;
	*n_words = c->word_numbers.n;
	return 0;
}

/* The counts of the hypothesis against one reference, which replaces a reference before it. */
static int count_reference(struct chrf *c, const struct score_text *reference, size_t n_chars,
			   size_t n_words, struct chrf_counts *counts, struct err *e)
{
	if (chrf_split_text(c, reference, e))
		return e->code;
	ngrams_forget(&c->char_ngrams);
	ngrams_forget(&c->word_ngrams);
	ngrams_reference(&c->char_ngrams, c->chars.items, c->chars.n);
	ngrams_reference(&c->word_ngrams, c->word_numbers.items, c->word_numbers.n);
	count_orders(counts, 0, &c->char_ngrams, n_chars, c->chars.n);
	count_orders(counts, c->o.char_order, &c->word_ngrams, n_words, c->word_numbers.n);
	return 0;
}

int chrf_add(struct chrf *c, const struct score_text *hypothesis,
	     const struct score_text *references, size_t n, struct err *e)
{
	struct chrf_counts best = { 0 }, own = { 0 };
	double best_score = -1;
	size_t n_chars, n_words;

	if (signature_check_references(c->segments, c->n_references, n, e) ||
	    count_hypothesis(c, hypothesis, &n_chars, &n_words, e))
		return e->code;
	for (size_t r = 0; r < n; r++) {
		double score;

		if (count_reference(c, &references[r], n_chars, n_words, &own, e))
			return e->code;
		score = f_score(c, &own);
		if (score > best_score) {
			best_score = score;
			best = own;
		}
	}
	c->n_references = n;
	c->segments++;
	for (int k = 0; k < c->o.char_order + c->o.word_order; k++) {
		c->sum.hypothesis[k] += best.hypothesis[k];
		c->sum.reference[k] += best.reference[k];
		c->sum.matches[k] += best.matches[k];
	}
	return 0;
}

int chrf_each(struct chrf *c, const struct score_text *hypothesis,
	      const struct score_text *references, size_t n, double *scores, struct err *e)
{
	struct chrf_counts own = { 0 };
	size_t n_chars, n_words;

	if (count_hypothesis(c, hypothesis, &n_chars, &n_words, e))
		return e->code;
	for (size_t r = 0; r < n; r++) {
		if (count_reference(c, &references[r], n_chars, n_words, &own, e))
			return e->code;
		scores[r] = f_score(c, &own);
	}
	return 0;
}

void chrf_score(const struct chrf *c, struct chrf_score *score)
{
	score->score = f_score(c, &c->sum);
	score->orders = c->o.char_order + c->o.word_order;
	score->counts = c->sum;
}

size_t chrf_sums(const struct chrf *c, int64_t sums[CHRF_MAX_SUMS])
{
	size_t orders = (size_t)(c->o.char_order + c->o.word_order);

	memcpy(sums, c->sum.hypothesis, orders * sizeof(*sums));
	memcpy(sums + orders, c->sum.reference, orders * sizeof(*sums));
	memcpy(sums + 2 * orders, c->sum.matches, orders * sizeof(*sums));
	return 3 * orders;
}

double chrf_of_sums(const struct chrf *c, const int64_t *sums)
{
	size_t orders = (size_t)(c->o.char_order + c->o.word_order);
	struct chrf_counts counts;

	memcpy(counts.hypothesis, sums, orders * sizeof(*sums));
	memcpy(counts.reference, sums + orders, orders * sizeof(*sums));
	memcpy(counts.matches, sums + 2 * orders, orders * sizeof(*sums));
	return f_score(c, &counts);
}

void chrf_name(const struct chrf *c, struct buf *out)
{
	buf_printf(out, "chrF%g", c->o.beta);
	for (int i = 0; i < c->o.word_order; i++)
		buf_add_char(out, '+');
}

void chrf_signature(const struct chrf *c, struct buf *out)
{
	buf_printf(out, "werkbank|chrf|refs:%zu|case:%s|nc:%d|nw:%d|beta:%g|space:no|v:%s",
		   c->n_references, c->o.lowercase ? "lc" : "mixed", c->o.char_order,
		   c->o.word_order, c->o.beta, PACKAGE_VERSION);
}

void chrf_sacrebleu_signature(const struct chrf *c, const struct signature_trials *trials,
			      struct buf *out)
{
	signature_begin(c->n_references, trials, out);
	buf_printf(out, "|case:%s|eff:yes|nc:%d|nw:%d|space:no", c->o.lowercase ? "lc" : "mixed",
		   c->o.char_order, c->o.word_order);
	signature_end(out);
}
