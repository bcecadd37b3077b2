/*
 * bpe_line.h - how subword-nmt cuts text into lines and words.
 *
 * It reads through Python's codecs, which end a line not only at LF but at all
 * that str.splitlines() knows (CR, VT, FF, FS, GS, RS, U+0085, U+2028, U+2029);
 * the end belongs to its line. Blanks, CR and LF are then cut off both ends of
 * a line, and words are what stands between blanks: a tab is part of a word.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_LINE_H
#define WERKBANK_DATA_SUBWORD_BPE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/text.h"

#define BPE_WORD_END	   "</w>"
#define BPE_WORD_END_BYTES 4

/* Bytes of the first such line of text, its end included; n when there is no end. */
static inline size_t bpe_line_length(const char *text, size_t n)
{
	const unsigned char *t = (const unsigned char *)text;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = t[i];

		if (c >= 0x20 && c < 0x80)
			continue;
		if ((c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E))
			return c == '\r' && i + 1 < n && t[i + 1] == '\n' ? i + 2 : i + 1;
		if (c == 0xC2 && i + 1 < n && t[i + 1] == 0x85)
			return i + 2;
		if (c == 0xE2 && i + 2 < n && t[i + 1] == 0x80 &&
		    (t[i + 2] == 0xA8 || t[i + 2] == 0xA9))
			return i + 3;
	}
	return n;
}

/* What is cut off both ends of a line. */
static inline bool bpe_is_margin(char c)
{
	return c == ' ' || c == '\r' || c == '\n';
}

static inline void bpe_trim(const char **text, size_t *n)
{
	while (*n && bpe_is_margin((*text)[*n - 1]))
		--*n;
	while (*n && bpe_is_margin(**text)) {
		++*text;
		--*n;
	}
}

/* Bytes of the character at text (n >= 1), never more than n, also when it is not well-formed. */
static inline size_t bpe_char_length(const char *text, size_t n)
{
	unsigned char c = (unsigned char)text[0];
	size_t want = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

	return want < n ? want : n;
}

/* Is the character at text (n bytes, n >= 1) white space to Python's str.isspace()? */
static inline bool bpe_is_space(const char *text, size_t n)
{
	uint32_t c = 0;

	if ((unsigned char)text[0] < 0x80)
		return (text[0] >= 0x09 && text[0] <= 0x0D) || (text[0] >= 0x1C && text[0] <= 0x20);
	if (!utf8_valid(text, n))
		return false;
	utf8_decode(text, n, &c);
	return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

#endif
