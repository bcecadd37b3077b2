/* constraint_options.c - see constraint_options.h; terms are in terms.c */
#include "eval/translate/constraint_options_internal.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/lines.h"

int encode_target_phrase(struct engine *g, const char *text, size_t n, struct decode_phrase *phrase,
			 struct err *e)
{
	size_t n_ids = 0, cap = 0;
	int32_t *ids = NULL;
	int code = pipeline_encode(g->pipeline, SIDE_TARGET, text, n, &ids, &n_ids, &cap, e);

	if (!code && n_ids == 0)
		code = err_set(e, ERR_DATA, "the phrase \"%.*s\" has no words", (int)n, text);
	if (!code && n_ids > (size_t)g->capacity)
		code = err_set(e, ERR_DATA, "a phrase of %zu tokens is too long", n_ids);
	for (size_t i = 0; i < n_ids && !code; i++)
		if (ids[i] < N_SPECIAL_TOKENS)
			code = err_set(e, ERR_DATA,
				       "the model cannot write \"%.*s\": its vocabulary has no "
				       "pieces for that",
				       (int)n, text);
	if (code)
		free(ids);
	else
		*phrase = (struct decode_phrase){ ids, (int32_t)n_ids };
	return code;
}

int phrases_add(struct phrases *p, struct engine *g, const char *text, size_t n, struct err *e)
{
	if (p->n == DECODE_MAX_PHRASES)
		return err_set(e, ERR_DATA, "more than %d phrases are wanted in one translation",
			       DECODE_MAX_PHRASES);
	if (encode_target_phrase(g, text, n, &p->all[p->n], e))
		return e->code;
	p->n_own = ++p->n;
	return 0;
}

int phrases_check_banned(const struct phrases *p, const struct engine *g,
			 const struct banned_phrases *f, struct err *e)
{
	for (int32_t i = 0; f && i < p->n; i++)
		if (banned_phrases_contain(f, g->joins_next, p->all[i].tokens, p->all[i].n))
			return err_set(e, ERR_DATA,
				       "a phrase that must be in the translation "
				       "contains one that must not");
	return 0;
}

void phrases_free(struct phrases *p)
{
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
			"--terms and --sample cannot be together: a translation that "
			"is drawn takes what comes");
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
