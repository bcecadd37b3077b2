/*
 * tokenize_rules.h - tokenizer.perl as a list of regular expressions.
 *
 * The definition of tokenising: the same replacements in the same order as
 * Moses' tokenizer.perl. tokenize.c does the usual lines by hand, many times
 * faster, and leaves the strange ones to this; tests compare the two.
 */
#ifndef WERKBANK_DATA_TEXT_TOKENIZE_RULES_H
#define WERKBANK_DATA_TEXT_TOKENIZE_RULES_H

#include "data/text/abbrev.h"
#include "data/text/chars.h"
#include "data/text/tokenize.h"

struct token_rules;

/* abbreviations and chars are borrowed for the life of the result. */
struct token_rules *token_rules_new(const struct tokenizer_options *o,
				    const struct abbrev *abbreviations, struct charclass *chars,
				    struct err *e);
/* Append the tokenised line, as tokenizer_line() does. */
int token_rules_line(struct token_rules *t, const char *line, size_t n, struct buf *out,
		     struct err *e);
void token_rules_free(struct token_rules *t);

#endif
