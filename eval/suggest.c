/* suggest.c - see suggest.h */
#include "eval/suggest.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"

int phrases_add(struct phrases *p, struct engine *g, const char *text, size_t n, struct err *e)
{
	size_t n_ids = 0, cap = 0;
	int32_t *ids = NULL;

	if (p->n == DECODE_MAX_PHRASES)
		return err_set(e, ERR_DATA, "more than %d phrases are wanted in one translation",
			       DECODE_MAX_PHRASES);
	if (pipeline_encode(g->pipeline, SIDE_TARGET, text, n, &ids, &n_ids, &cap, e)) {
		free(ids);
		return e->code;
	}
	p->all[p->n++] = (struct decode_phrase){ ids, (int32_t)n_ids };
	if (n_ids == 0 || n_ids > (size_t)g->capacity)
		return err_set(e, ERR_DATA,
			       n_ids ? "\"%.100s\" is too long for one phrase" :
				       "the phrase \"%.100s\" has no words",
			       text);
	for (size_t i = 0; i < n_ids; i++)
		if (ids[i] < N_SPECIAL_TOKENS)
			return err_set(e, ERR_DATA,
				       "the model cannot write \"%.*s\": its vocabulary has no "
				       "pieces for that",
				       (int)n, text);
	return 0;
}

int phrases_agree(const struct phrases *p, const struct engine *g, const struct forbid *f,
		  struct err *e)
{
	for (int32_t i = 0; i < p->n; i++)
		if (forbid_contains(f, g->joins, p->all[i].tokens, p->all[i].n))
			return err_set(e, ERR_DATA, "a phrase that must be in the translation "
						    "contains one that must not");
	return 0;
}

void phrases_free(struct phrases *p)
{
	for (int32_t i = 0; i < p->n; i++)
		free((int32_t *)p->all[i].tokens);
	p->n = 0;
}

/* Raw text of tokens, owned by the caller. */
static char *text_of(struct engine *g, const int32_t *tokens, int32_t n, struct err *e)
{
	struct buf text = { 0 };
	char *raw = NULL;

	if (!pipeline_decode(g->pipeline, SIDE_TARGET, tokens, (size_t)n, &text, e)) {
		buf_add(&text, "", 0);
		raw = buf_take(&text, e);
	}
	buf_free(&text);
	return raw;
}

/* row: the tokens before the place, of which those from word on are in the same word. */
static int write_suggestion(struct engine *g, int32_t *row, int32_t at, int32_t word,
			    const struct decode_alternative *a, struct suggestion *s, struct err *e)
{
	const bool ends = a->tokens[0] == TOKEN_END;
	const int32_t n = ends ? at : at + a->n;

	*s = (struct suggestion){ .token = a->tokens[0], .log_prob = a->log_prob };
	memcpy(row + at, a->tokens, (size_t)a->n * sizeof(*row));
	if (g->begins && !ends && g->begins[a->tokens[0]])
		word = at;
	s->word = ends ? mem_strdup("", e) : text_of(g, row + word, n - word, e);
	s->prefix = s->word ? text_of(g, row, n, e) : NULL;
	if (s->prefix)
		return 0;
	free(s->word);
	return e->code;
}

void suggestions_free(struct suggestion *list, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		free(list[i].word);
		free(list[i].prefix);
	}
}

int suggest(struct engine *g, const struct engine_translation *t,
	    const struct decode_hypothesis *h, int32_t at, struct suggestion *list, int32_t *n,
	    struct err *e)
{
	const struct decode_options o = { .joins = g->joins, .begins = g->begins };
	const struct decode_source source = { t->source, t->n_source };
	struct decode_alternative found[DECODE_MAX_ALTERNATIVES];
	int32_t n_found = *n, word = at, longest = 0, code;
	int32_t *row = NULL;

	*n = 0;
	code = decoder_alternatives(g->decoder, &o, &source, h->tokens, at, found, &n_found, e);
	if (code)
		return code;
	while (word > 0 && (g->joins ? g->joins[h->tokens[word - 1]] :
			    word == at || !g->begins[h->tokens[word]]))
		word--;
	for (int32_t i = 0; i < n_found; i++)
		longest = MAX(longest, found[i].n);
	row = mem_alloc((size_t)at + (size_t)longest, sizeof(*row), e);
	if (row)
		memcpy(row, h->tokens, (size_t)at * sizeof(*row));
	code = row ? 0 : e->code;
	for (; *n < n_found && !code; ++*n)
		code = write_suggestion(g, row, at, word, &found[*n], &list[*n], e);
	if (code) {
		suggestions_free(list, *n);
		*n = 0;
	}
	decode_alternatives_free(found, n_found);
	free(row);
	return code;
}
