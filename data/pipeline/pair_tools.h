/*
 * pair_tools.h - the text tools for the languages of each line of a corpus
 *
 * The tag of a source line selects them, for its target too: see the option tag_languages. Lines without such a tag have
 * source_language and target_language.
 */
#ifndef WERKBANK_DATA_PIPELINE_PAIR_TOOLS_H
#define WERKBANK_DATA_PIPELINE_PAIR_TOOLS_H

#include <stddef.h>

#include "data/text/tokenize.h"
#include "share/base/err.h"
#include "share/conf/conf.h"

/* The tools of one language; NULL: the recipe does not use this tool. */
struct text_tools {
	struct normalizer *normalizer;
	struct tokenizer *tokenizer;
	struct detokenizer *detokenizer;
};

struct pair_tools;

/* NULL: failure. c is used in this call only. */
struct pair_tools *pair_tools_open(const struct conf *c, struct err *e);
void pair_tools_close(struct pair_tools *p);

/* The tools of source and target, an array of two, for a source line or its tag; borrowed. */
const struct text_tools *pair_tools_of_line(const struct pair_tools *p, const char *line, size_t n);

#endif
