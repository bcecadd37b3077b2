/*
 * tokenize_rules.h - Moses' tokenizer.perl as a list of regular expressions: the definition of
 * tokenising.
 *
 * The replacements and their order are those of tokenizer.perl. One of its rules is extended: where
 * a language writes apostrophes between letters, the typographic apostrophe counts, and all other
 * apostrophes are tokens, also at the ends of a line and close to each other. tokenize.c handles
 * usual lines without regular expressions, many times faster, and passes unusual lines to this
 * module. Tests compare both.
 */
#ifndef WERKBANK_DATA_TEXT_TOKENIZE_RULES_H
#define WERKBANK_DATA_TEXT_TOKENIZE_RULES_H

#include "data/text/abbrev.h"
#include "data/text/chars.h"
#include "data/text/tokenize.h"

/* What becomes of an apostrophe, ' or the typographic one, between two letters. */
enum apostrophes {
	APOSTROPHES_APART,   /* a token of its own: the general rules */
	APOSTROPHES_ENGLISH, /* it begins a token, "it 's"; only ' counts */
	APOSTROPHES_ELIDED,  /* it ends a token: "L' homme" */
	APOSTROPHES_INSIDE,  /* it is part of the word */
};

enum apostrophes apostrophes_of_language(const char *language);

struct token_rules;

/* abbreviations and chars are borrowed for the life of the result. */
struct token_rules *token_rules_new(const struct tokenizer_options *o,
				    const struct abbrev *abbreviations, struct charclass *chars,
				    struct err *e);
/* Append the tokens of a line, like tokenizer_line(). */
int token_rules_line(struct token_rules *t, const char *line, size_t n, struct buf *out,
		     struct err *e);
void token_rules_free(struct token_rules *t);

#endif
