/* chars.c - finds the kinds of characters: see chars.h */
#include "data/text/chars.h"

#include "share/base/text.h"
#include "share/base/util.h"

struct charclass *chars_new(struct err *e)
{
	/* in the order of the bits of enum chars_kind */
	static const char *const patterns[] = {
		"[\\p{Alphabetic}\\p{Nd}]",
		"\\p{Alphabetic}",
		"\\p{Lowercase}",
		"\\p{N}",
		"\\p{Sc}",
		"[0-9]",
	};

	return charclass_new(patterns, ARRAY_LEN(patterns), e);
}

unsigned chars_first(struct charclass *c, const char *text, size_t n)
{
	uint32_t codepoint;

	if (n == 0)
		return 0;
	utf8_decode(text, n, &codepoint);
	return charclass_of(c, codepoint);
}

unsigned chars_last(struct charclass *c, const char *text, size_t n)
{
	size_t at = n;

	if (n == 0)
		return 0;
	do
		at--;
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
	return chars_first(c, text + at, n - at);
}

bool chars_all_blank(const char *text, size_t n)
{
	size_t at = 0;

	while (at < n) {
		uint32_t codepoint;

		at += utf8_decode(text + at, n - at, &codepoint);
		if (!chars_is_blank(codepoint))
			return false;
	}
	return true;
}
