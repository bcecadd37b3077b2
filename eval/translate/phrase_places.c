/* phrase_places.c - see phrase_places.h */
#include "eval/translate/phrase_places.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

#define TRIALS_MAX 4096 /* translations that look for the places of the phrases of one line */

/* Each sentence translated once without a forced phrase, and once with each of them. */
struct place_trials {
	struct engine_line *lines;	   /* (n) owned */
	struct phrases *phrases;	   /* (n) owned; their tokens are borrowed */
	struct engine_translation *result; /* (n) owned */
	size_t n;
};

/* Inserts a phrase at the front. True: the list was full, so its last phrase, a term, was dropped. */
static bool put_phrase_first(struct phrases *p, const struct decode_phrase *phrase)
{
	const bool is_full = p->n == DECODE_MAX_PHRASES;

	assert(p->n_own == 0);
	p->n -= is_full;
	memmove(p->all + 1, p->all, (size_t)p->n * sizeof(*p->all));
	p->all[0] = *phrase;
	p->n++;
	return is_full;
}

static void set_phrases(struct engine_line *line, const struct phrases *p)
{
	line->phrases = p->all;
	line->n_phrases = p->n;
}

static int alloc_trials(struct place_trials *t, size_t n, struct err *e)
{
	t->lines = mem_alloc(n, sizeof(*t->lines), e);
	t->phrases = mem_alloc(n, sizeof(*t->phrases), e);
	t->result = mem_alloc(n, sizeof(*t->result), e);
	t->n = n;
	return t->lines && t->phrases && t->result ? 0 : e->code;
}

static void free_trials(struct place_trials *t)
{
	if (t->result)
		engine_translations_free(t->result, t->n);
	free(t->result);
	free(t->phrases);
	free(t->lines);
}

/* Translates sentence i without a phrase as trial i * row, with phrase j as trial i * row + j + 1. */
static int run_trials(struct place_trials *t, struct engine *g, const struct decode_options *o,
		      const struct engine_line *line, const struct engine_line *sentences,
		      const struct phrases *phrases, size_t row, struct err *e)
{
	struct decode_options plain = *o;

	plain.n_best = 1;
	plain.alignments = plain.token_scores = false;
	for (size_t k = 0; k < t->n; k++) {
		t->lines[k] = sentences[k / row];
		t->phrases[k] = phrases[k / row];
		if (k % row)
			put_phrase_first(&t->phrases[k], &line->phrases[k % row - 1]);
		set_phrases(&t->lines[k], &t->phrases[k]);
	}
	return engine_translate(g, &plain, t->lines, t->n, t->result, e);
}

static double trial_log_prob(const struct place_trials *t, size_t k)
{
	return t->result[k].result.hypotheses[0].log_prob;
}

int place_forced_phrases(struct engine *g, const struct decode_options *o,
			 const struct engine_line *line, struct engine_line *sentences,
			 struct phrases *phrases, size_t n, int32_t *left, struct err *e)
{
	const size_t row = (size_t)line->n_phrases + 1;
	struct place_trials t = { .n = 0 };
	int rc;

	assert(n > 1);
	if (n > TRIALS_MAX / row)
		return err_set(e, ERR_USAGE,
			       "a text with %d forced phrase%s can have at most %zu sentences, "
			       "this one has %zu: send it in parts",
			       line->n_phrases, text_plural(line->n_phrases), TRIALS_MAX / row, n);
	rc = alloc_trials(&t, n * row, e);
	if (!rc)
		rc = run_trials(&t, g, o, line, sentences, phrases, row, e);
	for (size_t j = row; !rc && --j > 0;) { /* backwards: each is inserted at the front */
		size_t best = 0;
		double best_gain = 0;

		for (size_t i = 0; i < n; i++) {
			const double gain =
				trial_log_prob(&t, i * row + j) - trial_log_prob(&t, i * row);

			if (i == 0 || gain > best_gain) {
				best = i;
				best_gain = gain;
			}
		}
		*left += put_phrase_first(&phrases[best], &line->phrases[j - 1]);
		set_phrases(&sentences[best], &phrases[best]);
	}
	free_trials(&t);
	return rc;
}
