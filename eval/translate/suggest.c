/* suggest.c - turns alternatives of the decoder into words; see suggest.h */
#include "eval/translate/suggest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

/*
 * row: the at tokens before the suggestion, with room for its tokens. word: index of the first
 * token of the word that the suggestion continues (at, if it starts a word).
 */
static int write_suggestion(struct engine *g, int32_t *row, int32_t at, int32_t word,
			    const struct decode_alternative *a, struct word_suggestion *s,
			    struct err *e)
{
	const bool ends = a->tokens[0] == TOKEN_END;
	const int32_t n = ends ? at : at + a->n;

	*s = (struct word_suggestion){ .token = a->tokens[0], .log_prob = a->log_prob };
	memcpy(row + at, a->tokens, (size_t)a->n * sizeof(*row));
	if (g->words[SIDE_TARGET].starts_word && !ends &&
	    g->words[SIDE_TARGET].starts_word[a->tokens[0]])
		word = at;
	s->word = ends ? mem_strdup("", e) : engine_text_of(g, row + word, n - word, e);
	s->prefix = s->word ? engine_text_of(g, row, n, e) : NULL;
	if (s->prefix)
		return 0;
	free(s->word);
	return e->code;
}

void suggestions_free(struct word_suggestion *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		free(list[i].word);
		free(list[i].prefix);
	}
}

int suggest_words(struct engine *g, const struct engine_translation *t,
		  const struct decode_hypothesis *h, int32_t at, struct word_suggestion *list,
		  int32_t *n, struct err *e)
{
	const struct decode_options o = { .joins_next = g->words[SIDE_TARGET].joins_next,
					  .starts_word = g->words[SIDE_TARGET].starts_word };
	const struct decode_source source = { t->source, t->n_source };
	struct decode_alternative found[DECODE_MAX_ALTERNATIVES];
	int32_t n_found = *n, word = at, longest = 0;
	int32_t *row = NULL;
	int rc;

	assert(at >= 0 && at <= h->n && *n <= DECODE_MAX_ALTERNATIVES);
	*n = 0;
	rc = decoder_alternatives(g->decoder, &o, &source, h->tokens, at, found, &n_found, e);
	if (rc)
		return rc;
	while (word > 0 &&
	       (g->words[SIDE_TARGET].joins_next
			? g->words[SIDE_TARGET].joins_next[h->tokens[word - 1]]
			: word == at || !g->words[SIDE_TARGET].starts_word[h->tokens[word]]))
		word--;
	for (int32_t i = 0; i < n_found; i++)
		longest = MAX(longest, found[i].n);
	row = mem_alloc((size_t)at + (size_t)longest, sizeof(*row), e);
	if (row)
		memcpy(row, h->tokens, (size_t)at * sizeof(*row));
	rc = row ? 0 : e->code;
	for (; *n < n_found && !rc; ++*n)
		rc = write_suggestion(g, row, at, word, &found[*n], &list[*n], e);
	if (rc) {
		suggestions_free(list, *n);
		*n = 0;
	}
	decode_alternatives_free(found, n_found);
	free(row);
	return rc;
}
