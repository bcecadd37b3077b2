/* pair_tools.c - see pair_tools.h */
#include "data/pipeline/pair_tools.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/line_tags.h"
#include "share/base/mem.h"
#include "share/conf/text_sides.h"

struct tools_of_tag {
	char *tag; /* owned; NULL: of all other lines */
	struct text_tools sides[2];
};

struct pair_tools {
	struct tools_of_tag *all; /* owned: (n) the first has no tag */
	size_t n;
};

static int open_tools(struct text_tools *t, int side, const char *language, const struct conf *c,
		      struct err *e)
{
	const struct tokenizer_options o = { .language = language,
					     .escape = c->escape,
					     .aggressive = c->aggressive };

	if (c->normalize && !(t->normalizer = normalizer_new(language, e)))
		return e->code;
	if (!text_is_tokenized(c, side))
		return 0;
	t->tokenizer = tokenizer_new(&o, e);
	t->detokenizer = t->tokenizer ? detokenizer_new(language, e) : NULL;
	return t->detokenizer ? 0 : e->code;
}

static int open_pair(struct tools_of_tag *t, const struct pair_languages *l, const struct conf *c,
		     struct err *e)
{
	return open_tools(&t->sides[0], 0, l->source, c, e)
		       ? e->code
		       : open_tools(&t->sides[1], 1, l->target, c, e);
}

struct pair_tools *pair_tools_open(const struct conf *c, struct err *e)
{
	const struct pair_languages others = line_tag_languages(c, NULL);
	struct pair_tools *p = mem_alloc(1, sizeof(*p), e);

	if (!p)
		return NULL;
	p->all = mem_alloc(c->tag_languages.n + 1, sizeof(*p->all), e);
	p->n = p->all ? c->tag_languages.n + 1 : 0;
	if (!p->n || open_pair(&p->all[0], &others, c, e))
		goto failed;
	for (size_t i = 1; i < p->n; i++) {
		struct pair_languages l;
		const char *tag;

		if (line_tag_read(c, i - 1, &tag, &l, e) || !(p->all[i].tag = mem_strdup(tag, e)) ||
		    open_pair(&p->all[i], &l, c, e))
			goto failed;
	}
	return p;
failed:
	pair_tools_close(p);
	return NULL;
}

void pair_tools_close(struct pair_tools *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		for (int side = 0; side < 2; side++) {
			normalizer_free(p->all[i].sides[side].normalizer);
			tokenizer_free(p->all[i].sides[side].tokenizer);
			detokenizer_free(p->all[i].sides[side].detokenizer);
		}
		free(p->all[i].tag);
	}
	free(p->all);
	free(p);
}

const struct text_tools *pair_tools_of_line(const struct pair_tools *p, const char *line, size_t n)
{
	const char *word;
	size_t len;

	if (p->n == 1)
		return p->all[0].sides;
	word = line_first_word(line, n, &len);
	for (size_t i = 1; i < p->n; i++)
		if (strlen(p->all[i].tag) == len && !memcmp(p->all[i].tag, word, len))
			return p->all[i].sides;
	return p->all[0].sides;
}
