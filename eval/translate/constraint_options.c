/* constraint_options.c - forced and forbidden phrases; see constraint_options.h (terms: terms.c) */
#include "eval/translate/constraint_options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/lines.h"

int encode_target_phrase(struct engine *g, const char *text, size_t n, struct decode_phrase *phrase,
			 struct err *e)
{
	size_t n_ids = 0, cap = 0;
	int32_t *ids = NULL;
	int rc = pipeline_encode_part(g->pipeline, SIDE_TARGET, text, n, &ids, &n_ids, &cap, e);

	if (!rc && n_ids == 0)
		rc = err_set(e, ERR_DATA, "the phrase \"%.*s\" has no words", (int)n, text);
	if (!rc && n_ids > (size_t)g->capacity)
		rc = err_set(e, ERR_DATA, "a phrase of %zu tokens is too long: at most %d", n_ids,
			     g->capacity);
	for (size_t i = 0; i < n_ids && !rc; i++)
		if (ids[i] < N_SPECIAL_TOKENS)
			rc = err_set(e, ERR_DATA,
				     "the model cannot write \"%.*s\": its vocabulary lacks a "
				     "character",
				     (int)n, text);
	if (rc)
		free(ids);
	else
		*phrase = (struct decode_phrase){ ids, (int32_t)n_ids };
	return rc;
}

int phrases_add(struct phrases *p, struct engine *g, const char *text, size_t n, struct err *e)
{
	if (p->n == DECODE_MAX_PHRASES)
		return err_set(e, ERR_DATA, "a translation can have at most %d forced phrases",
			       DECODE_MAX_PHRASES);
	if (encode_target_phrase(g, text, n, &p->all[p->n], e))
		return e->code;
	assert(p->n_own == p->n); /* no borrowed phrase may be before an owned one */
	p->n_own = ++p->n;
	return 0;
}

int phrases_check_banned(const struct phrases *p, const struct engine *g,
			 const struct banned_phrases *f, struct err *e)
{
	for (int32_t i = 0; f && i < p->n; i++)
		if (banned_phrases_contain(f, g->words[SIDE_TARGET].joins_next, p->all[i].tokens,
					   p->all[i].n))
			return err_set(e, ERR_DATA, "a forced phrase contains a forbidden phrase");
	return 0;
}

void phrases_free(struct phrases *p)
{
	assert(p->n_own <= p->n && p->n <= DECODE_MAX_PHRASES);
	for (int32_t i = 0; i < p->n_own; i++)
		free((int32_t *)p->all[i].tokens);
	p->n = p->n_own = 0;
}

static int read_banned_file(struct banned_phrases *f, const char *path, struct err *e)
{
	struct lines in;
	int got;

	if (lines_open(&in, path, e))
		return e->code;
	while ((got = lines_next(&in, e)) > 0)
		if (in.len && banned_phrases_add(f, in.text, in.len, e)) {
			got = e->code;
			break;
		}
	lines_close(&in);
	return got;
}

static int open_banned_phrases(struct constraint_options *s, struct engine *g,
			       const struct conf_list *list, struct err *e)
{
	if (list->n == 0)
		return 0;
	s->forbid = banned_phrases_new(g->pipeline, NULL, e);
	if (!s->forbid)
		return e->code;
	for (size_t i = 0; i < list->n; i++) {
		const char *item = list->items[i];

		if (*item == '@' ? read_banned_file(s->forbid, item + 1, e)
				 : banned_phrases_add(s->forbid, item, strlen(item), e))
			return e->code;
	}
	return 0;
}

int constraint_options_open(struct constraint_options *s, struct engine *g, const struct conf *c,
			    struct err *e)
{
	*s = (struct constraint_options){ 0 };
	if (open_banned_phrases(s, g, &c->forbid, e))
		goto fail;
	if (c->terms && c->sample) {
		err_set(e, ERR_USAGE,
			"--terms cannot be used with --sample: only a beam search can force "
			"terms");
		goto fail;
	}
	if (c->terms) {
		s->terms = terms_new(g, NULL, e);
		if (!s->terms || terms_read(s->terms, c->terms, e) ||
		    terms_finish(s->terms, s->forbid, e))
			goto fail;
	}
	return 0;
fail:
	constraint_options_close(s);
	return e->code;
}

void constraint_options_close(struct constraint_options *s)
{
	terms_free(s->terms);
	banned_phrases_free(s->forbid);
	*s = (struct constraint_options){ 0 };
}
