/* yaml_subset.c - reads mappings of scalars and lists; see yaml_subset.h */
#include "eval/weights/yaml_subset.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"

struct yaml_reader {
	struct yaml *y;
	const char *path;
	const char *at, *end; /* of the current line */
	size_t line;
	struct err *e;
};

static int yaml_bad(const struct yaml_reader *r, const char *what)
{
	return err_set(r->e, ERR_DATA, "%s: line %zu: %s", r->path, r->line, what);
}

static void yaml_skip_blanks(struct yaml_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

/* ---- scalars: appended to y->text, without NUL -------------------------- */

static int add_hexadecimal(struct yaml_reader *r, int digits)
{
	uint32_t c = 0;
	char bytes[4];

	if (r->end - r->at < digits)
		return yaml_bad(r, "an escape is cut short");
	for (int i = 0; i < digits; i++) {
		const char *all = "0123456789abcdef", x = *r->at++,
			   *at = x ? strchr(all, x >= 'A' && x <= 'F' ? x + 32 : x) : NULL;

		if (!at)
			return yaml_bad(r, "an escape has no hexadecimal digits");
		c = c << 4 | (uint32_t)(at - all);
	}
	if (!c || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return yaml_bad(r, "an escape is no character");
	buf_add(&r->y->text, bytes, utf8_encode(c, bytes));
	return 0;
}

static int add_escape(struct yaml_reader *r)
{
	static const char names[] = "abtnvfre\"\\/ ", values[] = "\a\b\t\n\v\f\r\x1b\"\\/ ";
	const char c = r->at < r->end ? *r->at++ : 0, *name = c ? strchr(names, c) : NULL;

	if (name)
		buf_add_char(&r->y->text, values[name - names]);
	else if (c == 'N')
		buf_add_str(&r->y->text, "\xC2\x85");
	else if (c == '_')
		buf_add_str(&r->y->text, "\xC2\xA0");
	else if (c == 'L' || c == 'P')
		buf_add_str(&r->y->text, c == 'L' ? "\xE2\x80\xA8" : "\xE2\x80\xA9");
	else if (c == 'x' || c == 'u' || c == 'U')
		return add_hexadecimal(r, c == 'x' ? 2 : c == 'u' ? 4 : 8);
	else
		return yaml_bad(r, "an escape is not known");
	return 0;
}

static int add_quoted(struct yaml_reader *r)
{
	const char quote = *r->at++;

	while (r->at < r->end) {
		const char c = *r->at++;

		if (c == quote && quote == '\'' && r->at < r->end && *r->at == '\'')
			r->at++;
		else if (c == quote)
			return 0;
		else if (c == '\\' && quote == '"') {
			if (add_escape(r))
				return r->e->code;
			continue;
		}
		buf_add_char(&r->y->text, c);
	}
	return yaml_bad(r, "a quotation mark is missing");
}

/* A plain scalar ends at ": ", or at the line's end; in a list also at ',' and ']'. */
static int add_plain_scalar(struct yaml_reader *r, bool is_key, bool in_list)
{
	const char *from = r->at, *to;

	while (r->at < r->end && !(in_list && (*r->at == ',' || *r->at == ']')) &&
	       !(is_key && *r->at == ':' && (r->at + 1 == r->end || r->at[1] == ' ')))
		r->at++;
	for (to = r->at; to > from && (to[-1] == ' ' || to[-1] == '\t');)
		to--;
	if (to > from && strchr("&*!|>%@`", *from) && !is_key)
		return yaml_bad(r, "this form of YAML does not occur in files of Marian");
	buf_add(&r->y->text, from, (size_t)(to - from));
	return 0;
}

static int add_yaml_scalar(struct yaml_reader *r, bool is_key, bool in_list)
{
	yaml_skip_blanks(r);
	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		return add_quoted(r);
	return add_plain_scalar(r, is_key, in_list);
}

/* ---- values ------------------------------------------------------------ */

/* [a, b]: items joined by blanks. */
static int add_flow_list(struct yaml_reader *r)
{
	bool is_first = true;

	r->at++;
	for (;;) {
		yaml_skip_blanks(r);
		if (r->at < r->end && *r->at == ']') {
			r->at++;
			return 0;
		}
		if (r->at == r->end)
			return yaml_bad(r, "a list has no end in its line");
		if (!is_first)
			buf_add_char(&r->y->text, ' ');
		if (add_yaml_scalar(r, false, true))
			return r->e->code;
		is_first = false;
		yaml_skip_blanks(r);
		if (r->at < r->end && *r->at == ',')
			r->at++;
	}
}

static int add_value(struct yaml_reader *r)
{
	int rc;

	yaml_skip_blanks(r);
	rc = r->at < r->end && *r->at == '[' ? add_flow_list(r) : add_yaml_scalar(r, false, false);
	yaml_skip_blanks(r);
	if (!rc && r->at < r->end && *r->at != '#')
		rc = yaml_bad(r, "there is text after the value");
	return rc;
}

static int add_pair(struct yaml_reader *r)
{
	struct yaml *y = r->y;

	if (mem_grow(&y->pairs, &y->cap, y->n + 1, sizeof(*y->pairs), r->e))
		return r->e->code;
	y->pairs[y->n++] = (struct yaml_pair){ y->text.len, 0 };
	return 0;
}

static int end_scalar(struct yaml_reader *r)
{
	buf_add_char(&r->y->text, 0);
	return buf_check(&r->y->text, r->e);
}

/* Begins the value of the last pair. */
static int begin_value(struct yaml_reader *r)
{
	if (end_scalar(r))
		return r->e->code;
	r->y->pairs[r->y->n - 1].value = r->y->text.len;
	return add_value(r) ? r->e->code : end_scalar(r);
}

/* A line that belongs to the last key: an item, or a list. */
static int add_to_last(struct yaml_reader *r)
{
	struct yaml *y = r->y;

	if (!y->n)
		return yaml_bad(r, "a value has no key");
	if (*r->at == '-' && r->at + 1 < r->end && r->at[1] != ' ')
		return yaml_bad(r, "expected an item of a list");
	r->at += *r->at == '-';
	y->text.len--; /* the NUL of the value so far, which is at the end */
	if (y->text.len > y->pairs[y->n - 1].value)
		buf_add_char(&y->text, ' ');
	return add_value(r) ? r->e->code : end_scalar(r);
}

static int read_line(struct yaml_reader *r, bool *has_long_key)
{
	const char *start = r->at;

	yaml_skip_blanks(r);
	if (r->at == r->end || *r->at == '#' ||
	    (r->end - start == 3 && (!memcmp(start, "---", 3) || !memcmp(start, "...", 3))))
		return 0;
	if (*has_long_key) {
		*has_long_key = false;
		if (*r->at != ':')
			return yaml_bad(r, "expected the value of the key of the line before");
		r->at++;
		return begin_value(r);
	}
	if (r->at > start || (*r->at == '-' && r->at + 1 < r->end && r->at[1] == ' '))
		return add_to_last(r);
	if (add_pair(r))
		return r->e->code;
	if (*r->at == '?' && r->at + 1 < r->end && r->at[1] == ' ') {
		r->at++;
		*has_long_key = true;
		return add_yaml_scalar(r, false, false);
	}
	if (add_yaml_scalar(r, true, false))
		return r->e->code;
	yaml_skip_blanks(r);
	if (r->at == r->end || *r->at != ':')
		return yaml_bad(r, "expected a key, a colon and a value");
	r->at++;
	return begin_value(r);
}

int yaml_read(struct yaml *y, const char *path, const char *bytes, size_t n, struct err *e)
{
	const char *nul = memchr(bytes, 0, n), *all = bytes, *end = nul ? nul : bytes + n;
	struct yaml_reader r = { .y = y, .path = path, .e = e };
	bool has_long_key = false;
	int rc = 0;

	*y = (struct yaml){ .n = 0 };
	if (!utf8_valid(bytes, (size_t)(end - bytes)))
		return err_set(e, ERR_DATA, "%s is not UTF-8 text", path);
	while (!rc && all < end) {
		const char *lf = memchr(all, '\n', (size_t)(end - all));

		r.line++;
		r.at = all;
		r.end = lf ? lf : end;
		all = lf ? lf + 1 : end;
		if (r.end > r.at && r.end[-1] == '\r')
			r.end--;
		rc = read_line(&r, &has_long_key);
	}
	return rc || !has_long_key ? rc : yaml_bad(&r, "a key has no value");
}

const char *yaml_key(const struct yaml *y, size_t i)
{
	return buf_text(&y->text) + y->pairs[i].key;
}

const char *yaml_value(const struct yaml *y, size_t i)
{
	return buf_text(&y->text) + y->pairs[i].value;
}

const char *yaml_get(const struct yaml *y, const char *key, const char *fallback)
{
	for (size_t i = 0; i < y->n; i++)
		if (!strcmp(yaml_key(y, i), key))
			return yaml_value(y, i);
	return fallback;
}

void yaml_close(struct yaml *y)
{
	buf_free(&y->text);
	free(y->pairs);
	*y = (struct yaml){ .n = 0 };
}
