/*
 * rewrite.h - regular expressions as in Perl: find, replace, character classes.
 *
 * rewrite.c is the only user of PCRE2. Patterns match UTF-8 with Unicode properties, unless
 * REGEX_BYTES is set. A line ends at LF only; "$" also matches before a final LF, as in Perl. One
 * difference remains: in PCRE2 \s matches U+180E; write REGEX_SPACE where that matters.
 * \p{Alphabetic} and \p{Lowercase} are Perl's \p{IsAlpha} and \p{IsLower}.
 *
 *	static const struct rewrite_rule rules[] = {
 *		{ "\\s+", " ", 0 },
 *		{ "([[:punct:]])", " $1 ", 0 },
 *	};
 *	struct rewrite *w = rewrite_new(rules, ARRAY_LEN(rules), e);
 *	rewrite_apply(w, &text, e);		each rule over the whole text, in order
 *	rewrite_free(w);
 *
 * Text must be well-formed UTF-8 (this is not checked), except with REGEX_BYTES. Each object
 * belongs to one thread.
 */
#ifndef WERKBANK_DATA_TEXT_REWRITE_H
#define WERKBANK_DATA_TEXT_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

/* For use inside [ ]: the characters that Perl's \s matches in Unicode text. */
#define REGEX_SPACE                                                                                \
	"\\t-\\r "                                                                                 \
	"\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

enum regex_flags {
	REGEX_BYTES =
		1, /* text is bytes; \s \d \w and case are those of ASCII (Perl without utf8) */
	REGEX_CASELESS = 2, /* Perl's /i */
	/*
	 * The pattern was typed by a user: the text may be any bytes, errors of the pattern are
	 * ERR_USAGE, the pattern is not borrowed, and a match that needs too many steps fails.
	 */
	REGEX_TYPED = 4,
};

struct regex_span {
	size_t start, end; /* bytes; both SIZE_MAX: the group did not match */
};

struct regex;

/*
 * Compile a pattern, which is borrowed. NULL: ERR_INTERNAL with the byte of the error in the
 * pattern, or ERR_NOMEM.
 */
struct regex *regex_new(const char *pattern, unsigned flags, struct err *e);
void regex_free(struct regex *r);

/*
 * Find the first match at or after byte from. 1: spans[0] is the whole match, spans[1] to
 * spans[n_spans - 1] are groups; 0: no match; < 0: failure (a limit of the matcher).
 */
int regex_find(struct regex *r, const char *text, size_t n, size_t from, struct regex_span *spans,
	       size_t n_spans, struct err *e);

/*
 * Append text to out with every match replaced, as Perl's s/pattern/replacement/g. In the
 * replacement $0 to $9 are groups, $$ is a dollar. 1: something was replaced; 0: no match, out is
 * unchanged; < 0: failure. text must not lie in out.
 */
int regex_replace(struct regex *r, const char *replacement, const char *text, size_t n,
		  struct buf *out, struct err *e);

/* A list of replacements; a struct rewrite borrows the strings. */
struct rewrite_rule {
	const char *pattern, *replacement;
	unsigned flags;
};

struct rewrite;
struct rewrite *rewrite_new(const struct rewrite_rule *rules, size_t n, struct err *e);
/* Apply each rule to the whole text, in order, in place. */
int rewrite_apply(struct rewrite *w, struct buf *text, struct err *e);
void rewrite_free(struct rewrite *w);

/*
 * Classes of characters. Bit k of charclass_of(): does pattern k match the character? A pattern
 * is for one character, such as "\\p{Sc}"; at most 8 patterns. The table is filled by PCRE2 in
 * blocks of 256 characters, each at its first use.
 */
struct charclass {
	uint8_t *bits;		   /* owned: (CHARCLASS_CODEPOINTS) */
	bool known[0x1100];	   /* the block of 256 is filled */
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
