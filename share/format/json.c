/* json.c - writing JSON; see json.h */
#include "share/format/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/text.h"

static void json_add_comma(struct json_writer *w)
{
	if (w->need_comma)
		buf_add_char(w->out, ',');
	w->need_comma = true;
}

void json_open(struct json_writer *w, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	json_add_comma(w);
	buf_add_char(w->out, bracket);
	w->need_comma = false;
}

void json_close(struct json_writer *w, char bracket)
{
	assert(bracket == '}' || bracket == ']');
	buf_add_char(w->out, bracket);
	w->need_comma = true;
}

static void json_add_quoted(struct buf *b, const char *text, size_t n)
{
	size_t plain = 0;

	buf_add_char(b, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F)
			continue;
		buf_add(b, text + plain, i - plain);
		plain = i + 1;
		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c == '\n')
			buf_add_str(b, "\\n");
		else if (c == '\t')
			buf_add_str(b, "\\t");
		else
			buf_printf(b, "\\u%04x", c);
	}
	buf_add(b, text + plain, n - plain);
	buf_add_char(b, '"');
}

void json_strn(struct json_writer *w, const char *text, size_t n)
{
	json_add_comma(w);
	if (utf8_valid(text, n)) {
		json_add_quoted(w->out, text, n);
	} else {
		struct buf mended = { 0 };

		utf8_repair(&mended, text, n);
		if (mended.failed)
			w->out->failed = true;
		else
			json_add_quoted(w->out, buf_text(&mended), mended.len);
		buf_free(&mended);
	}
}

void json_raw(struct json_writer *w, const char *json, size_t n)
{
	json_add_comma(w);
	buf_add(w->out, json, n);
}

void json_str(struct json_writer *w, const char *text)
{
	json_strn(w, text, strlen(text));
}

void json_key(struct json_writer *w, const char *key)
{
	json_str(w, key);
	buf_add_char(w->out, ':');
	w->need_comma = false;
}

void json_int(struct json_writer *w, int64_t value)
{
	json_add_comma(w);
	buf_printf(w->out, "%lld", (long long)value);
}

void json_real(struct json_writer *w, double value)
{
	char text[40];

	json_add_comma(w);
	if (!isfinite(value)) {
		buf_add_str(w->out, "null");
		return;
	}
	/* the shortest of four precisions that reads back as the same number */
	for (int digits = 6; digits <= 17; digits += digits < 15 ? 9 : 1) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_add_str(w->out, text);
}

void json_bool(struct json_writer *w, bool value)
{
	json_add_comma(w);
	buf_add_str(w->out, value ? "true" : "false");
}

void json_null(struct json_writer *w)
{
	json_add_comma(w);
	buf_add_str(w->out, "null");
}

/* ---- members ----------------------------------------------------------- */

void json_put_str(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_str(w, text);
}

void json_put_strn(struct json_writer *w, const char *key, const char *text, size_t n)
{
	json_key(w, key);
	json_strn(w, text, n);
}

void json_put_int(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_int(w, value);
}

void json_put_real(struct json_writer *w, const char *key, double value)
{
	json_key(w, key);
	json_real(w, value);
}

void json_put_bool(struct json_writer *w, const char *key, bool value)
{
	json_key(w, key);
	json_bool(w, value);
}

void json_put_count(struct json_writer *w, const char *key, int64_t count)
{
	json_key(w, key);
	if (count < 0)
		json_null(w);
	else
		json_int(w, count);
}

void json_put_open(struct json_writer *w, const char *key, char bracket)
{
	json_key(w, key);
	json_open(w, bracket);
}
