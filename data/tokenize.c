/* tokenize.c - see tokenize.h */
#include "data/tokenize.h"

#include <stdlib.h>

#include "data/abbrev.h"
#include "data/chars.h"
#include "data/tokenize_rules.h"
#include "share/base/mem.h"

struct tokenizer {
	struct abbrev      *abbreviations;
	struct charclass   *chars;
	struct token_rules *rules;
};

struct tokenizer *tokenizer_new(const struct tokenizer_options *o, struct err *e)
{
	struct tokenizer *t = mem_alloc(1, sizeof(*t), e);

	if (!t)
		return NULL;
	t->abbreviations = abbrev_open(o->language, e);
	t->chars = t->abbreviations ? chars_new(e) : NULL;
	t->rules = t->chars ? token_rules_new(o, t->abbreviations, t->chars, e) : NULL;
	if (t->rules)
		return t;
	tokenizer_free(t);
	return NULL;
}

int tokenizer_line(struct tokenizer *t, const char *line, size_t n, struct buf *out, struct err *e)
{
	return token_rules_line(t->rules, line, n, out, e);
}

void tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	token_rules_free(t->rules);
	charclass_free(t->chars);
	abbrev_close(t->abbreviations);
	free(t);
}
