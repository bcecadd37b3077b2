/*
 * protect.h - protected symbols: texts such as <2de>, <num> or __URL__ that no text tool may change.
 *
 *	struct protect *p;
 *	protect_open(&p, symbols, n, e);			*p NULL: there are none
 *	protect_mask(p, PROTECT_ANYWHERE, line, n, &m, e);	each symbol becomes one PROTECT_MARK
 *	tokenizer_line(t, m.line, m.n_line, &tokens, e);
 *	protect_unmask(p, &m, tokens.data, tokens.len, &out, e);	and each mark a symbol again
 *
 * At each place the longest symbol matches, and the search goes on after it. The mark is a private-use
 * character. For the normalizer it is an unknown character, for the tokenizer a token of its own, for
 * the detokenizer a word. None of them changes the order of marks, so mark number i is symbol number i.
 * A mark that the text itself holds is counted, too, and stays.
 */
#ifndef WERKBANK_DATA_TEXT_PROTECT_H
#define WERKBANK_DATA_TEXT_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

#define PROTECT_MAX_SYMBOLS 1000
#define PROTECT_MAX_BYTES   64		   /* of a symbol */
#define PROTECT_MARK	    "\xEE\x80\x80" /* U+E000 */

struct protect; /* constant after protect_open(): threads share it */

/*
 * *out: these n symbols, which are copied; NULL if n is 0. ERR_CONFIG, with the symbol and what is wrong:
 * too many or too long ones, blanks, control characters, invalid UTF-8, a repeated symbol, a name of the
 * vocabulary such as </s>, or marks of pieces: @@ at the end, U+2581, U+2585, U+E000.
 */
int protect_open(struct protect **out, char *const *symbols, size_t n, struct err *e);
void protect_close(struct protect *p);

/* The symbols in the given order; borrowed. p NULL: 0. */
size_t protect_count(const struct protect *p);
const char *protect_symbol(const struct protect *p, size_t i);

/* Offset of the first symbol in the text, and its bytes in *len; n and 0: there is none, or p is NULL. */
size_t protect_find(const struct protect *p, const char *text, size_t n, size_t *len);
/* Is the whole text one symbol? */
bool protect_is_symbol(const struct protect *p, const char *text, size_t n);

enum protect_where {
	PROTECT_ANYWHERE, /* also inside words: raw text */
	PROTECT_WORDS	  /* only whole words, between blanks: tokens */
};

/* A line with marks. Reusable; freed by protect_masked_free(). */
struct protect_masked {
	const char *line; /* the masked line: text.data, or the original if it has no symbol */
	size_t n_line;
	struct buf text;
	int16_t *symbols; /* owned: of each mark, its symbol; -1: the mark is text */
	size_t n, cap;
};

/* line must live as long as m->line is used. p NULL: the line as it is. ERR_NOMEM. */
int protect_mask(const struct protect *p, enum protect_where where, const char *line, size_t n,
		 struct protect_masked *m, struct err *e);
/* Append the text with the symbols of m for its marks. ERR_NOMEM. */
int protect_unmask(const struct protect *p, const struct protect_masked *m, const char *text,
		   size_t n, struct buf *out, struct err *e);
void protect_masked_free(struct protect_masked *m);

/* Append the text with a blank for each symbol: what is left to learn pieces from. */
void protect_blank_out(const struct protect *p, enum protect_where where, const char *text,
		       size_t n, struct buf *out);

#endif
