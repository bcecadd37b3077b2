/* base64.c - see base64.h */
#include "share/base/base64.h"

#include <string.h>

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, const void *data, size_t n)
{
	const unsigned char *bytes = data;
	char *to = buf_reserve(out, (n + 2) / 3 * 4);

	for (size_t i = 0; to && i < n; i += 3) {
		unsigned long v = (unsigned long)bytes[i] << 16;

		v |= i + 1 < n ? (unsigned long)bytes[i + 1] << 8 : 0;
		v |= i + 2 < n ? (unsigned long)bytes[i + 2] : 0;
		*to++ = base64_digits[v >> 18 & 63];
		*to++ = base64_digits[v >> 12 & 63];
		*to++ = i + 1 < n ? base64_digits[v >> 6 & 63] : '=';
		*to++ = i + 2 < n ? base64_digits[v & 63] : '=';
		out->len += 4;
	}
	if (to)
		*to = '\0';
}

static int base64_value(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'	      ? 62
	       : c == '/'	      ? 63
				      : -1;
}

int base64_read(struct buf *out, const char *text, size_t n, struct err *e)
{
	const size_t padding = n >= 4 && text[n - 1] == '=' ? 1 + (text[n - 2] == '=') : 0;
	const size_t n_bytes = n / 4 * 3 - padding, end = out->len + n_bytes;
	char *to = buf_reserve(out, n_bytes + 3);
	unsigned long v = 0;

	if (!to)
		return buf_check(out, e);
	for (size_t i = 0; i < n; i++) {
		const int value = i < n - padding ? base64_value(text[i]) : 0;

		if (value < 0 || n % 4)
			return err_set(e, ERR_DATA, "not in base64 at letter %zu of %zu", i + 1, n);
		v = v << 6 | (unsigned long)value;
		if (i % 4 < 3)
			continue;
		*to++ = (char)(v >> 16 & 255);
		*to++ = (char)(v >> 8 & 255);
		*to++ = (char)(v & 255);
	}
	out->len = end;
	out->data[end] = '\0';
	return 0;
}
