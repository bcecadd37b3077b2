/* unicode.c - searches the tables of unicode.def; see unicode.h */
#include "eval/metrics/unicode.h"

#include "share/base/text.h"
#include "share/base/util.h"

enum { P = UNICODE_P, S = UNICODE_S, N = UNICODE_N };

static const struct {
	uint32_t first, last, class;
} classes[] = {
#define CLASS(class, first, last) { first, last, class },
#include "eval/metrics/unicode.def"
#undef CLASS
};

static const struct {
	uint32_t first, last, stride;
	int32_t delta;
} lower[] = {
#define LOWER(first, last, stride, delta) { first, last, stride, delta },
#include "eval/metrics/unicode.def"
#undef LOWER
};

static const struct {
	uint32_t kind, first, last;
} cased[] = {
#define CASED(kind, first, last) { kind, first, last },
#include "eval/metrics/unicode.def"
#undef CASED
};

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
	size_t low = 0, high = ARRAY_LEN(classes);

	if (c < 0x80)
		return ascii_class(c);
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c > classes[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ARRAY_LEN(classes) || c < classes[low].first)
		return UNICODE_OTHER;
	return (enum unicode_class)classes[low].class;
}

bool unicode_is_space(uint32_t c)
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
	size_t low = 0, high = ARRAY_LEN(lower);

	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + 32 : c;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c > lower[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ARRAY_LEN(lower) || c < lower[low].first ||
	    (c - lower[low].first) % lower[low].stride)
		return c;
	return (uint32_t)((int32_t)c + lower[low].delta);
}

/*
 * 1: a letter that has case; 2: a mark that does not end a word, such as an apostrophe;
 * 0: neither.
 */
static uint32_t case_kind(uint32_t c)
{
	size_t low = 0, high = ARRAY_LEN(cased);

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c > cased[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ARRAY_LEN(cased) && c >= cased[low].first ? cased[low].kind : 0;
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
