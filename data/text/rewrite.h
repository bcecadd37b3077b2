/*
 * rewrite.h - regular expressions as Perl reads them: find, replace, character classes.
 *
 * The only door to PCRE2. Patterns read UTF-8 with Unicode properties unless
 * REGEX_BYTES is set; a line ends at LF only; "$" also matches before a final
 * LF, as in Perl. One difference from Perl remains in PCRE2: \s counts U+180E
 * as a blank; write REGEX_SPACE instead where it matters. \p{Alphabetic} and
 * \p{Lowercase} are Perl's \p{IsAlpha} and \p{IsLower}.
 *
 *	static const struct rewrite_rule rules[] = {
 *		{ "\\s+", " ", 0 },
 *		{ "([[:punct:]])", " $1 ", 0 },
 *	};
 *	struct rewrite *w = rewrite_new(rules, ARRAY_LEN(rules), e);
 *	rewrite_apply(w, &text, e);		each rule over the whole text, in order
 *	rewrite_free(w);
 *
 * Text must be well-formed UTF-8 (it is not checked again here), except with
 * REGEX_BYTES. Nothing here is shared: one object, one thread.
 */
#ifndef WERKBANK_DATA_TEXT_REWRITE_H
#define WERKBANK_DATA_TEXT_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* Inside [ ]: what Perl's \s matches in Unicode text. */
#define REGEX_SPACE                                                                                \
	"\\t-\\r "                                                                                 \
	"\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

enum regex_flags {
	REGEX_BYTES = 1,    /* text is bytes; \s \d \w and case are ASCII's (Perl without utf8) */
	REGEX_CASELESS = 2, /* Perl's /i */
};

struct regex_span {
	size_t start, end; /* bytes; both SIZE_MAX: the group took no part */
};

struct regex;

/* Compile a pattern; NULL: ERR_INTERNAL with the place in the pattern, or ERR_NOMEM. */
struct regex *regex_new(const char *pattern, unsigned flags, struct err *e);
void regex_free(struct regex *r);

/*
 * The first match at or after byte from: 1 and spans[0] (the whole) to
 * spans[n_spans - 1] (groups); 0: none; < 0: failure (a limit of the matcher).
 */
int regex_find(struct regex *r, const char *text, size_t n, size_t from, struct regex_span *spans,
	       size_t n_spans, struct err *e);

/*
 * Append text to out with every match replaced, as Perl's s/pattern/replacement/g:
 * $1 to $9 (and $0) in the replacement are groups, $$ is a dollar. 1: something was
 * replaced; 0: nothing matched and out is untouched; < 0: failure. text must not lie in out.
 */
int regex_replace(struct regex *r, const char *replacement, const char *text, size_t n,
		  struct buf *out, struct err *e);

/* A list of replacements. The strings are borrowed for the life of the list. */
struct rewrite_rule {
	const char *pattern, *replacement;
	unsigned flags;
};

struct rewrite;
struct rewrite *rewrite_new(const struct rewrite_rule *rules, size_t n, struct err *e);
int rewrite_apply(struct rewrite *w, struct buf *text, struct err *e); /* in place */
void rewrite_free(struct rewrite *w);

/*
 * Classes of characters: bit k of charclass_of() says whether pattern k (one
 * character, such as "\\p{Sc}") matches. At most 8 patterns. A block of 256
 * characters is asked for once, when it is first met; the rest is a table.
 */
struct charclass {
	uint8_t *bits;		   /* owned: one for each codepoint */
	bool known[0x1100];	   /* this block of 256 is filled */
	struct regex *patterns[8]; /* owned */
	size_t n_patterns;
};

#define CHARCLASS_CODEPOINTS 0x110000u

struct charclass *charclass_new(const char *const *patterns, size_t n, struct err *e);
void charclass_free(struct charclass *c);
void charclass_fill(struct charclass *c, uint32_t block); /* for charclass_of() */

/* codepoint must be below CHARCLASS_CODEPOINTS. */
static inline unsigned charclass_of(struct charclass *c, uint32_t codepoint)
{
	if (!c->known[codepoint >> 8])
		charclass_fill(c, codepoint >> 8);
	return c->bits[codepoint];
}

#endif
