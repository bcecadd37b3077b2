/*
 * bpe_line.h - cuts text into lines and words as subword-nmt does.
 *
 * subword-nmt reads through Python's codecs. They end a line not only at LF but at each end of
 * str.splitlines(): CR, VT, FF, FS, GS, RS, U+0085, U+2028, U+2029. The end belongs to its line.
 * subword-nmt then strips blanks, CR and LF from both ends of the line, and splits at blanks: a
 * tab is part of a word.
 */
#ifndef WERKBANK_DATA_SUBWORD_BPE_LINE_H
#define WERKBANK_DATA_SUBWORD_BPE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/text.h"

#define BPE_WORD_END	   "</w>"
#define BPE_WORD_END_BYTES 4

/* Bytes of the first line of text, its end included; n: there is no end. */
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

/* Is the character stripped from both ends of a line? */
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

/* Bytes of the character at text, 1 to n (n >= 1), even if the character is malformed. */
static inline size_t bpe_char_length(const char *text, size_t n)
{
	unsigned char c = (unsigned char)text[0];
	size_t want = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

	return want < n ? want : n;
}

/* Does Python's str.isspace() accept the character at text (n bytes, n >= 1)? */
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
