/* score_warnings.c - see score_warnings.h */
#include "eval/evaluate/score_warnings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/metrics/unicode.h"

/* This number of hypotheses that end in a blank and a period look tokenised (sacreBLEU's rule). */
#define TOKENIZED_LINES 100
#define COMPARED_WORDS	64  /* of a line */
#define COMPARED_LINES	100 /* fewer show nothing */

static size_t split_at_blanks(const char *text, size_t n, struct score_text words[COMPARED_WORDS])
{
	size_t n_words = 0;

	for (size_t i = 0, start = 0; i <= n && n_words < COMPARED_WORDS; i++) {
		if (i < n && text[i] != ' ')
			continue;
		if (i > start)
			words[n_words++] = (struct score_text){ text + start, i - start };
		start = i + 1;
	}
	return n_words;
}

static int64_t count_shared_words(const struct score_text *a, const char *text, size_t n)
{
	struct score_text words[2][COMPARED_WORDS];
	const size_t n_a = split_at_blanks(a->text, a->n, words[0]);
	const size_t n_b = split_at_blanks(text, n, words[1]);
	int64_t shared = 0;

	for (size_t i = 0; i < n_a; i++)
		for (size_t k = 0; k < n_b; k++)
			if (words[0][i].n == words[1][k].n &&
			    !memcmp(words[0][i].text, words[1][k].text, words[0][i].n)) {
				shared++;
				break;
			}
	return shared;
}

static bool ends_in_lone_period(const struct score_text *t)
{
	size_t n = unicode_trimmed(t->text, t->n);

	return n >= 2 && t->text[n - 1] == '.' && t->text[n - 2] == ' ';
}

void score_warnings_add(struct score_warnings *w, const struct score_text *hypothesis,
			const struct score_text *reference)
{
	w->tokenized += ends_in_lone_period(hypothesis);
	if (w->lines++) {
		w->own += count_shared_words(hypothesis, reference->text, reference->n);
		w->before +=
			count_shared_words(hypothesis, buf_text(&w->reference), w->reference.len);
	}
	buf_clear(&w->reference);
	buf_add(&w->reference, reference->text, reference->n);
}

void score_warnings_print(const struct score_warnings *w, const struct metric *m,
			  const struct conf *c)
{
	/* three standard deviations of the difference of two counts */
	const bool is_chance =
		(double)(w->own - w->before) <= 3 * sqrt((double)(w->own + w->before));
	const bool tokenizes = c->tokenizer != SCORE_NONE && c->tokenizer != SCORE_MULTI_BLEU;

	if (!m->bleu || c->force || c->quiet)
		return;
	if (tokenizes && w->tokenized >= TOKENIZED_LINES)
		fprintf(stderr,
			"warning: %lld lines of the hypothesis end in a separate full stop, so the "
			"text is probably tokenised; BLEU expects detokenised text (--force omits "
			"this "
			"warning)\n",
			(long long)w->tokenized);
	if (metric_score(m) < 1 && w->lines >= COMPARED_LINES && is_chance)
		fprintf(stderr,
			"warning: the lines share hardly more words with their references (%.1f a "
			"line) "
			"than with the references of the lines before them (%.1f): are both files "
			"of the "
			"same text, in the same order and language?\n",
			(double)w->own / (double)(w->lines - 1),
			(double)w->before / (double)(w->lines - 1));
}

void score_warnings_free(struct score_warnings *w)
{
	buf_free(&w->reference);
}
