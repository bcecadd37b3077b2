/* encoding.c - text in another encoding than UTF-8 (see encoding.h) */
#include "data/text/encoding.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/icu.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define READ_BYTES ((size_t)64 << 10)
#define MOST_NAMES 8192

struct encoding_reader {
	struct icu_converter *converter; /* owned */
	const char *encoding, *name;	 /* borrowed, for messages */
	lines_read *read;
	void *from;
	bool repair, has_begun, is_at_end;
	char *bytes;	 /* owned: READ_BYTES of the file */
	struct buf text; /* converted; taken is the part that was returned */
	size_t taken;
	int64_t line, replaced; /* line: number of the line at the end of text */
};

/* ---- names ---- */

static int refuse_encoding(const char *encoding, struct err *e)
{
	const char **names = mem_alloc(MOST_NAMES, sizeof(*names), e);
	char hint[TEXT_HINT_MAX];
	size_t n = 0;

	if (!names)
		return e->code;
	while (n < MOST_NAMES && (names[n] = icu_encoding_name(n)) != NULL)
		n++;
	text_hint(hint, text_nearest(encoding, names, n));
	free(names);
	return err_set(e, ERR_CONFIG,
		       "encoding: no encoding is called %s%s; common ones are UTF-16, ISO-8859-1, "
		       "ISO-8859-2, WINDOWS-1250, WINDOWS-1251, WINDOWS-1252, MACINTOSH, KOI8-R, "
		       "GB18030, BIG5, SHIFT_JIS, EUC-JP and EUC-KR",
		       encoding, hint);
}

int encoding_check(const char *encoding, struct err *e)
{
	struct icu_converter *u;

	if (!encoding)
		return 0;
	if (!icu_encoding_exists(encoding))
		return refuse_encoding(encoding, e);
	u = icu_converter_new(encoding, e);
	icu_converter_free(u);
	return u ? 0 : e->code;
}

bool encoding_is_foreign(const char *encoding)
{
	return encoding && !icu_is_same_encoding(encoding, "UTF-8");
}

const char *encoding_of_wide_text(const char *bytes, size_t n)
{
	size_t zeros[4] = { 0 }, all = 0; /* zeros: by place modulo 4 */

	for (size_t i = 0; i < n; i++) {
		zeros[i % 4] += !bytes[i];
		all += !bytes[i];
	}
	if (n >= 4 && (!memcmp(bytes, "\xFF\xFE\0", 4) || !memcmp(bytes, "\0\0\xFE\xFF", 4)))
		return "UTF-32";
	if (n >= 2 && (!memcmp(bytes, "\xFF\xFE", 2) || !memcmp(bytes, "\xFE\xFF", 2)))
		return "UTF-16";
	if (n < 4 || all * 50 < n) /* of Cyrillic text, only the blanks have a zero */
		return NULL;
	if ((zeros[2] + zeros[3]) * 20 >= n * 9)
		return "UTF-32LE";
	if ((zeros[0] + zeros[1]) * 20 >= n * 9)
		return "UTF-32BE";
	if ((zeros[1] + zeros[3]) * 20 >= all * 19)
		return "UTF-16LE";
	return (zeros[0] + zeros[2]) * 20 >= all * 19 ? "UTF-16BE" : NULL;
}

/* ---- conversion ---- */

int encoding_convert_head(const char *encoding, const char *bytes, size_t n, struct buf *to,
			  struct err *e)
{
	struct icu_converter *u = icu_converter_new(encoding, e);
	int got = u ? 1 : e->code;

	while (got > 0)
		got = icu_convert(u, &bytes, &n, false, to, e);
	icu_converter_free(u);
	return got;
}

struct encoding_reader *encoding_reader_open(const char *encoding, const char *name,
					     lines_read *read, void *from, bool repair,
					     struct err *e)
{
	struct encoding_reader *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	*r = (struct encoding_reader){ .encoding = encoding,
				       .name = name,
				       .read = read,
				       .from = from,
				       .repair = repair,
				       .line = 1 };
	r->bytes = mem_alloc(READ_BYTES, 1, e);
	r->converter = r->bytes ? icu_converter_new(encoding, e) : NULL;
	if (r->converter)
		return r;
	encoding_reader_close(r);
	return NULL;
}

void encoding_reader_close(struct encoding_reader *r)
{
	if (!r)
		return;
	icu_converter_free(r->converter);
	buf_free(&r->text);
	free(r->bytes);
	free(r);
}

/* Bytes that are nothing in the encoding stand after the text. */
static int replace_invalid(struct encoding_reader *r, struct err *e)
{
	unsigned char bytes[8];
	char hex[2 * sizeof(bytes) + 1] = "";
	const size_t n = icu_invalid_bytes(r->converter, bytes);

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02X", bytes[i]);
	if (!r->repair)
		return err_set(e, ERR_DATA,
			       "%s:%lld: the bytes 0x%s are no character of %s: the file has "
			       "another encoding or is damaged (--repair would replace such bytes "
			       "by U+FFFD)",
			       r->name, (long long)r->line, hex, r->encoding);
	buf_add_str(&r->text, "\xEF\xBF\xBD");
	r->replaced++;
	return buf_check(&r->text, e);
}

/* Count the lines of the text from `old` on, and leave out a byte order mark at the beginning. */
static void note_converted(struct encoding_reader *r, size_t old)
{
	const char *at = buf_text(&r->text) + old, *end = buf_text(&r->text) + r->text.len;

	for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		r->line++;
	if (!r->has_begun)
		r->taken = utf8_mark_bytes(buf_text(&r->text), r->text.len);
	r->has_begun |= r->text.len > 0;
}

/* Read and convert some more bytes. */
static int convert_some(struct encoding_reader *r, struct err *e)
{
	const int64_t got = r->read(r->from, r->bytes, READ_BYTES, e);
	const char *from = r->bytes;
	size_t n = (size_t)got;
	int found;

	if (got < 0)
		return (int)got;
	r->is_at_end = !got;
	buf_clear(&r->text);
	r->taken = 0;
	do {
		const size_t old = r->text.len;

		found = icu_convert(r->converter, &from, &n, r->is_at_end, &r->text, e);
		if (found < 0)
			return found;
		note_converted(r, old);
		if (found && replace_invalid(r, e))
			return e->code;
	} while (found);
	return 0;
}

int64_t encoding_reader_read(void *from, void *to, size_t room, struct err *e)
{
	struct encoding_reader *r = from;
	size_t n;

	assert(room > 0);
	while (r->taken == r->text.len) {
		if (r->is_at_end)
			return 0;
		if (convert_some(r, e))
			return e->code;
	}
	n = MIN(room, r->text.len - r->taken);
	memcpy(to, r->text.data + r->taken, n);
	r->taken += n;
	return (int64_t)n;
}

int64_t encoding_reader_replaced(const struct encoding_reader *r)
{
	return r->replaced;
}
