/*
 * chars.h - the character classes of Moses' tools, as Perl defines them for Unicode text.
 *
 * Letters come from PCRE2's tables, which equal Perl's for the same version of Unicode. Blanks are
 * defined here.
 */
#ifndef WERKBANK_DATA_TEXT_CHARS_H
#define WERKBANK_DATA_TEXT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "data/text/rewrite.h"
#include "share/base/err.h"

enum chars_kind {		       /* bits of charclass_of() */
		  CHARS_ALNUM = 1,     /* \p{IsAlnum}: Alphabetic or Nd */
		  CHARS_ALPHA = 2,     /* \p{IsAlpha}: Alphabetic */
		  CHARS_LOWER = 4,     /* \p{IsLower}: Lowercase */
		  CHARS_NUMBER = 8,    /* \p{IsN} */
		  CHARS_CURRENCY = 16, /* \p{IsSc} */
		  CHARS_DIGIT = 32,    /* 0 to 9 */
};

/* A table of the kinds above: charclass_free() it. NULL: failure. */
struct charclass *chars_new(struct err *e);

/* The kinds of the first and of the last character of well-formed text; empty text: 0. */
unsigned chars_first(struct charclass *c, const char *text, size_t n);
unsigned chars_last(struct charclass *c, const char *text, size_t n);

/* Perl's \s in Unicode text (not U+180E, U+200B, U+FEFF). */
static inline bool chars_is_blank(uint32_t c)
{
	if (c <= ' ')
		return c == ' ' || (c >= '\t' && c <= '\r');
	if (c < 0x1680)
		return c == 0x85 || c == 0xa0;
	return c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
	       c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Is well-formed text all blank? Empty text: true. */
bool chars_all_blank(const char *text, size_t n);

/*
 * The next word of a text whose words are separated by ' ': *n gets its bytes, and *at, where the
 * search begins, moves to the end of the word. NULL: no word before end.
 */
static inline const char *chars_next_word(const char **at, const char *end, size_t *n)
{
	const char *word = *at, *blank;

	while (word < end && *word == ' ')
		word++;
	if (word == end)
		return NULL;
	blank = memchr(word, ' ', (size_t)(end - word));
	*at = blank ? blank : end;
	*n = (size_t)(*at - word);
	return word;
}

#endif
