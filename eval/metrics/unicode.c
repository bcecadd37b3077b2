/* unicode.c - searches the tables of unicode.def; see unicode.h */
#include "eval/metrics/unicode.h"

#include <stdlib.h>

#include "share/base/text.h"
#include "share/base/util.h"

enum { P = UNICODE_P, S = UNICODE_S, N = UNICODE_N };

/* Each row of a table begins with the range of its code points; rows are sorted. */
static const struct class_row {
	uint32_t first, last, class;
} classes[] = {
#define CLASS(class, first, last) { first, last, class },
#include "eval/metrics/unicode.def"
#undef CLASS
};

static const struct lower_row {
	uint32_t first, last, stride;
	int32_t delta;
} lower[] = {
#define LOWER(first, last, stride, delta) { first, last, stride, delta },
#include "eval/metrics/unicode.def"
#undef LOWER
};

static const struct case_row {
	uint32_t first, last, kind;
} cased[] = {
#define CASED(kind, first, last) { first, last, kind },
#include "eval/metrics/unicode.def"
#undef CASED
};

static int compare_to_range(const void *code_point, const void *row)
{
	const uint32_t c = *(const uint32_t *)code_point, *range = row;

	return c < range[0] ? -1 : c > range[1];
}

/* The row of a table whose range has the code point; NULL: none. */
#define FIND_ROW(table, c)                                                                         \
	bsearch(&(c), table, ARRAY_LEN(table), sizeof(*(table)), compare_to_range)

static enum unicode_class ascii_class(uint32_t c)
{
	if (c >= '0' && c <= '9')
		return UNICODE_N;
	if (c <= ' ' || c == 0x7F || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
		return UNICODE_OTHER;
	switch (c) {
	case '$':
	case '+':
	case '<':
	case '=':
	case '>':
	case '^':
	case '`':
	case '|':
	case '~':
		return UNICODE_S;
	}
	return UNICODE_P;
}

enum unicode_class unicode_class(uint32_t c)
{
	const struct class_row *row;

	if (c < 0x80)
		return ascii_class(c);
	row = FIND_ROW(classes, c);
	return row ? (enum unicode_class)row->class : UNICODE_OTHER;
}

static bool unicode_is_space(uint32_t c)
{
	if (c < 0x80)
		return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
	return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t unicode_space(const char *text, size_t n)
{
	unsigned char first = (unsigned char)*text;
	uint32_t c;
	size_t bytes;

	if (first < 0x80)
		return unicode_is_space(first);
	if (first != 0xC2 &&
	    (first < 0xE1 || first > 0xE3)) /* no other byte starts a white-space character */
		return 0;
	bytes = utf8_decode(text, n, &c);
	return unicode_is_space(c) ? bytes : 0;
}

size_t unicode_trimmed(const char *text, size_t n)
{
	while (n > 0) {
		size_t start = n - 1;

		while (start > 0 && ((unsigned char)text[start] & 0xC0) == 0x80)
			start--;
		if (!unicode_space(text + start, n - start))
			break;
		n = start;
	}
	return n;
}

static uint32_t lower_of(uint32_t c)
{
	const struct lower_row *row;

	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + 32 : c;
	row = FIND_ROW(lower, c);
	return row && (c - row->first) % row->stride == 0 ? (uint32_t)((int32_t)c + row->delta) : c;
}

/*
 * 1: a letter that has case; 2: a mark that does not end a word, such as an apostrophe;
 * 0: neither.
 */
static uint32_t case_kind(uint32_t c)
{
	const struct case_row *row = FIND_ROW(cased, c);

	return row ? row->kind : 0;
}

/*
 * Capital sigma becomes final sigma after a letter if no letter follows (Unicode 3.13,
 * Final_Sigma).
 */
static bool is_final_sigma(const char *text, size_t at, size_t n)
{
	bool before = false;
	uint32_t c;

	for (size_t i = 0; i < at;) {
		i += utf8_decode(text + i, n - i, &c);
		if (case_kind(c) != 2)
			before = case_kind(c) == 1;
	}
	for (size_t i = at + 2; before && i < n;) {
		i += utf8_decode(text + i, n - i, &c);
		if (case_kind(c) != 2)
			return case_kind(c) != 1;
	}
	return before;
}

void unicode_lower(struct buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t c;
		char bytes[4];
		size_t used;

		if ((unsigned char)text[i] < 0x80) {
			buf_add_char(out, (char)lower_of((unsigned char)text[i++]));
			continue;
		}
		used = utf8_decode(text + i, n - i, &c);
		if (c == 0x130) /* I with dot above: the only letter that becomes two characters */
			buf_add(out, "i\xCC\x87", 3);
		else
			buf_add(out, bytes,
				utf8_encode(c == 0x3A3 && is_final_sigma(text, i, n) ? 0x3C2
										     : lower_of(c),
					    bytes));
		i += used;
	}
}
