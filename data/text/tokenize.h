/*
 * tokenize.h - Moses' text tools, line by line, over UTF-8 with PCRE2.
 *
 * Equal line for line to tokenizer.perl, detokenizer.perl and
 * normalize-punctuation.perl of Moses 2024 for English and German (other
 * languages follow the tools' defaults). A tool is compiled once and used for
 * any number of lines by one thread.
 */
#ifndef WERKBANK_DATA_TEXT_TOKENIZE_H
#define WERKBANK_DATA_TEXT_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct tokenizer_options {
	const char *language; /* "en", "de" */
	bool escape;	      /* & | < > ' " [ ] become entities */
	bool aggressive;      /* split hyphens: @-@ */
};

struct tokenizer;
struct tokenizer *tokenizer_new(const struct tokenizer_options *o, struct err *e);
/* Append the tokenised line (without LF); line must be well-formed UTF-8. */
int tokenizer_line(struct tokenizer *t, const char *line, size_t n, struct buf *out, struct err *e);
void tokenizer_free(struct tokenizer *t);

struct detokenizer;
struct detokenizer *detokenizer_new(const char *language, struct err *e);
int detokenizer_line(struct detokenizer *t, const char *line, size_t n, struct buf *out,
		     struct err *e);
void detokenizer_free(struct detokenizer *t);

struct normalizer;
struct normalizer *normalizer_new(const char *language, struct err *e);
int normalizer_line(struct normalizer *t, const char *line, size_t n, struct buf *out,
		    struct err *e);
void normalizer_free(struct normalizer *t);

#endif
