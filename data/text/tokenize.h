/*
 * tokenize.h - Moses' tokenizer, detokenizer and punctuation normalizer, for lines of UTF-8.
 *
 * For English and German the results equal those of tokenizer.perl, detokenizer.perl and
 * normalize-punctuation.perl of Moses 2024, line for line. French, Italian, Irish, Catalan,
 * Ukrainian and Belarusian have rules for apostrophes between letters. French has a blank before
 * "?", "!", ":", ";" and "%". Other languages follow the defaults of these tools. A tool is
 * compiled once, and one thread uses it for any number of lines.
 *
 * All _new() return NULL on failure; all _line() append to out, without LF, and need well-formed
 * UTF-8.
 */
#ifndef WERKBANK_DATA_TEXT_TOKENIZE_H
#define WERKBANK_DATA_TEXT_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/*
 * Write a note for the user if the tokenizer uses general rules, or English abbreviations, for this
 * language. The note is empty for en and de. A name instead of a code ("english") gets a hint.
 */
void tokenizer_note_language(const char *language, struct buf *note);

struct tokenizer_options {
	const char *language; /* a code: "en" */
	bool escape;	      /* write & | < > ' " [ ] as entities */
	bool aggressive;      /* split hyphens: @-@ */
};

struct tokenizer;
struct tokenizer *tokenizer_new(const struct tokenizer_options *o, struct err *e);
int tokenizer_line(struct tokenizer *t, const char *line, size_t n, struct buf *out, struct err *e);
void tokenizer_free(struct tokenizer *t);

struct detokenizer;
struct detokenizer *detokenizer_new(const char *language, struct err *e);
int detokenizer_line(struct detokenizer *t, const char *line, size_t n, struct buf *out,
		     struct err *e);
void detokenizer_free(struct detokenizer *t);
/* Append the line with " @-@ " replaced by "-" and the tokenizer's entities by their characters. */
void detokenizer_decode(const char *line, size_t n, struct buf *out);

struct normalizer;
struct normalizer *normalizer_new(const char *language, struct err *e);
int normalizer_line(struct normalizer *t, const char *line, size_t n, struct buf *out,
		    struct err *e);
void normalizer_free(struct normalizer *t);

#endif
