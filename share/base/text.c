/* text.c - see text.h */
#include "share/base/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the well-formed sequence at s (n >= 1), 0: ill-formed. Unicode 15, table 3-7. */
static size_t sequence_length(const unsigned char *s, size_t n)
{
	unsigned char low = 0x80, high = 0xBF; /* range of the second byte */
	size_t need;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xC2 && s[0] <= 0xDF)
		need = 2;
	else if (s[0] >= 0xE0 && s[0] <= 0xEF)
		need = 3;
	else if (s[0] >= 0xF0 && s[0] <= 0xF4)
		need = 4;
	else
		return 0;
	if (n < need)
		return 0;
	if (s[0] == 0xE0)
		low = 0xA0; /* no overlong forms */
	else if (s[0] == 0xED)
		high = 0x9F; /* no surrogates */
	else if (s[0] == 0xF0)
		low = 0x90;
	else if (s[0] == 0xF4)
		high = 0x8F; /* nothing above U+10FFFF */
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if (s[i] < 0x80 || s[i] > 0xBF)
			return 0;
	return need;
}

size_t utf8_valid_prefix(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i = 0;

	while (i < n) {
		size_t step;
		uint64_t word;

		/* fast path: eight ASCII bytes at a time */
		if (n - i >= sizeof(word)) {
			memcpy(&word, s + i, sizeof(word));
			if (!(word & 0x8080808080808080u)) {
				i += sizeof(word);
				continue;
			}
		}
		step = sequence_length(s + i, n - i);
		if (!step)
			break;
		i += step;
	}
	return i;
}

size_t utf8_decode(const char *text, size_t n, uint32_t *codepoint)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] < 0x80 || n < 2) {
		*codepoint = s[0];
		return 1;
	}
	if (s[0] < 0xE0 || n < 3) {
		*codepoint = (uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F);
		return 2;
	}
	if (s[0] < 0xF0 || n < 4) {
		*codepoint = (uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 |
			     (s[2] & 0x3F);
		return 3;
	}
	*codepoint = (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 |
		     (uint32_t)(s[2] & 0x3F) << 6 | (s[3] & 0x3F);
	return 4;
}

size_t utf8_encode(uint32_t codepoint, char *out)
{
	assert(codepoint <= 0x10FFFF);
	if (codepoint < 0x80) {
		out[0] = (char)codepoint;
		return 1;
	}
	if (codepoint < 0x800) {
		out[0] = (char)(0xC0 | codepoint >> 6);
		out[1] = (char)(0x80 | (codepoint & 0x3F));
		return 2;
	}
	if (codepoint < 0x10000) {
		out[0] = (char)(0xE0 | codepoint >> 12);
		out[1] = (char)(0x80 | (codepoint >> 6 & 0x3F));
		out[2] = (char)(0x80 | (codepoint & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | codepoint >> 18);
	out[1] = (char)(0x80 | (codepoint >> 12 & 0x3F));
	out[2] = (char)(0x80 | (codepoint >> 6 & 0x3F));
	out[3] = (char)(0x80 | (codepoint & 0x3F));
	return 4;
}

size_t utf8_count(const char *text, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)text[i] & 0xC0) != 0x80;
	return count;
}

void utf8_repair(struct buf *b, const char *text, size_t n)
{
	while (n) {
		size_t good = utf8_valid_prefix(text, n);

		buf_add(b, text, good);
		text += good;
		n -= good;
		if (n) {
			buf_add_str(b, "\xEF\xBF\xBD");
			text++;
			n--;
		}
	}
}

/* strtoll and strtod skip blanks; here a number begins with a sign, a digit or a point. */
static bool begins_number(const char *text)
{
	return text[0] && strchr("+-.0123456789", text[0]);
}

bool text_to_int(const char *text, int64_t *value)
{
	char *end;
	long long v;

	if (!begins_number(text))
		return false;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return false;
	*value = v;
	return true;
}

bool text_to_real(const char *text, double *value)
{
	char *end;
	double v;

	if (!begins_number(text))
		return false;
	v = strtod(text, &end);
	if (end == text || *end || !isfinite(v))
		return false;
	*value = v;
	return true;
}

#define NEAREST_MAX 64 /* longer words are not compared */

static bool is_same_letter(char a, char b)
{
	return (a == '_' ? '-' : a) == (b == '_' ? '-' : b);
}

/*
 * Changed, added, left out or swapped letters between a and b (optimal string alignment: Damerau's
 * distance in which no part is edited twice); - and _ are equal.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_MAX + 1], n = strlen(a), m = strlen(b);

	assert(m <= NEAREST_MAX);
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *top = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = MIN(above[j - 1] + !is_same_letter(a[i - 1], b[j - 1]),
				     MIN(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
			    is_same_letter(a[i - 2], b[j - 1]))
				row[j] = MIN(row[j], top[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t best = MAX(1, (strlen(word) + 1) / 3) + 1; /* a larger distance is no useful hint */
	const char *nearest = NULL;

	if (strlen(word) > NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (strlen(candidates[i]) > NEAREST_MAX)
			continue;
		d = edit_distance(word, candidates[i]);
		if (d < best) {
			best = d;
			nearest = candidates[i];
		}
	}
	return nearest;
}

static bool is_ascii_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *text_hint(char out[TEXT_HINT_MAX], const char *nearest)
{
	out[0] = 0;
	if (nearest)
		snprintf(out, TEXT_HINT_MAX, " (did you mean %s?)", nearest);
	return out;
}

bool text_has_password(const char *address)
{
	const char *colon = strstr(address, "://"), *at = NULL;
	size_t n;

	if (!colon)
		return false;
	address = colon + 3;
	n = strcspn(address, "/?#");
	at = memrchr(address, '@', n);
	return at && memchr(address, ':', (size_t)(at - address));
}

char *text_trim(char *text)
{
	size_t n;

	while (is_ascii_blank(*text))
		text++;
	n = strlen(text);
	while (n && is_ascii_blank(text[n - 1]))
		n--;
	text[n] = 0;
	return text;
}

size_t utf8_mark_bytes(const char *text, size_t n)
{
	static const char mark[] = { '\xEF', '\xBB', '\xBF' };

	return n >= sizeof(mark) && !memcmp(text, mark, sizeof(mark)) ? sizeof(mark) : 0;
}

bool text_starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool text_ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && !strcmp(text + n - m, suffix);
}

static bool is_shell_safe(const char *word)
{
	for (const char *p = word; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "@%+=:,./-_",
			    *p))
			return false;
	return *word;
}

void text_quote_shell(struct buf *out, const char *word)
{
	const bool plain = is_shell_safe(word);

	buf_add_str(out, plain ? "" : "'");
	for (const char *p = word; *p; p++)
		if (*p == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_char(out, *p);
	buf_add_str(out, plain ? "" : "'");
}
