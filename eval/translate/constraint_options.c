/* constraint_options.c - forced and forbidden phrases; see constraint_options.h (terms: terms.c) */
#include "eval/translate/constraint_options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/file.h"
#include "share/base/lines.h"
#include "share/base/mem.h"

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
	in.drops_mark = true;
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

/*
 * Reads the name of "[SOURCE-TARGET:]NAME=FILE" and finds the file. NULL with e->code 0: the glossary is for a model of
 * other languages.
 */
static const char *read_glossary_name(const struct constraint_options *s, const struct conf *c,
				      const char *item, char name[GLOSSARY_NAME], struct err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *equals = strchr(item, '='), *colon = strchr(item, ':');
	const bool has_languages = colon && equals && colon < equals;
	const char *from = has_languages ? colon + 1 : item;
	const size_t n = equals ? (size_t)(equals - from) : 0;
	char *languages;
	bool is_other;

	if (!n || n >= GLOSSARY_NAME || strspn(from, allowed) < n || !equals[1]) {
		err_set(e, ERR_USAGE,
			"--glossary: '%s' is not NAME=FILE, with a name of letters, digits and -_.",
			item);
		return NULL;
	}
	snprintf(name, GLOSSARY_NAME, "%.*s", (int)n, from);
	languages = file_path(e, "%s-%s", c->source_language, c->target_language);
	if (!languages)
		return NULL;
	is_other = has_languages && ((size_t)(colon - item) != strlen(languages) ||
				     strncasecmp(item, languages, strlen(languages)) != 0);
	free(languages);
	if (is_other)
		return NULL;
	if (constraint_find_glossary(s, name)) {
		err_set(e, ERR_USAGE, "--glossary: two glossaries are called %s", name);
		return NULL;
	}
	return equals + 1;
}

static int open_glossaries(struct constraint_options *s, struct engine *g, const struct conf *c,
			   struct err *e)
{
	if (!c->glossary.n)
		return 0;
	s->glossaries = mem_alloc(c->glossary.n, sizeof(*s->glossaries), e);
	for (size_t i = 0; i < c->glossary.n && !e->code; i++) {
		struct glossary *to = &s->glossaries[s->n_glossaries];
		const char *path = read_glossary_name(s, c, c->glossary.items[i], to->name, e);

		if (!path)
			continue;
		to->terms = terms_new(g, s->terms, e);
		s->n_glossaries++;
		if (to->terms && !terms_read(to->terms, path, e))
			terms_finish(to->terms, s->forbid, e);
	}
	return e->code;
}

struct terms *constraint_find_glossary(const struct constraint_options *s, const char *name)
{
	for (size_t i = 0; i < s->n_glossaries; i++)
		if (!strcmp(s->glossaries[i].name, name))
			return s->glossaries[i].terms;
	return NULL;
}

int constraint_options_open(struct constraint_options *s, struct engine *g, const struct conf *c,
			    struct err *e)
{
	*s = (struct constraint_options){ 0 };
	if (open_banned_phrases(s, g, &c->forbid, e))
		goto fail;
	if ((c->terms || c->glossary.n) && c->sample) {
		err_set(e, ERR_USAGE,
			"--terms and --glossary cannot be used with --sample: only a beam search "
			"can force "
			"terms");
		goto fail;
	}
	if (c->terms) {
		s->terms = terms_new(g, NULL, e);
		if (!s->terms || terms_read(s->terms, c->terms, e) ||
		    terms_finish(s->terms, s->forbid, e))
			goto fail;
	}
	if (open_glossaries(s, g, c, e))
		goto fail;
	return 0;
fail:
	constraint_options_close(s);
	return e->code;
}

void constraint_options_close(struct constraint_options *s)
{
	for (size_t i = 0; i < s->n_glossaries; i++)
		terms_free(s->glossaries[i].terms);
	free(s->glossaries);
	terms_free(s->terms);
	banned_phrases_free(s->forbid);
	*s = (struct constraint_options){ 0 };
}
