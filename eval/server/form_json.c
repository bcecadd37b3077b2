/* form_json.c - see form_json.h */
#include "eval/server/form_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "share/base/text.h"
#include "share/format/json.h"

/* A name or a value: bytes `at` … `at` + `n` of the decoded text. */
struct form_part {
	size_t at, n;
};

struct form {
	struct buf text; /* all names and values, decoded */
	struct form_part names[FORM_MAX_FIELDS], values[FORM_MAX_FIELDS];
	size_t n;
};

static int form_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int decode_part(struct form *f, const char *text, size_t n, struct form_part *part,
		       struct err *e)
{
	part->at = f->text.len;
	for (size_t i = 0; i < n; i++) {
		char c = text[i] == '+' ? ' ' : text[i];

		if (c == '%') {
			const int high = i + 2 < n ? form_hex_digit(text[i + 1]) : -1,
				  low = i + 2 < n ? form_hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return err_set(e, ERR_DATA, "the form has an incomplete %%-escape");
			c = (char)(16 * high + low);
			i += 2;
		}
		if (!c)
			return err_set(e, ERR_DATA, "the form has a NUL character");
		buf_add_char(&f->text, c);
	}
	part->n = f->text.len - part->at;
	if (buf_check(&f->text, e))
		return e->code;
	if (!utf8_valid(buf_text(&f->text) + part->at, part->n))
		return err_set(e, ERR_DATA, "the form must be valid UTF-8");
	return 0;
}

static int read_form(struct form *f, const char *form, size_t n, struct err *e)
{
	for (size_t at = 0, end; at < n; at = end + 1) {
		const char *stop = memchr(form + at, '&', n - at), *equals;
		size_t name;

		end = stop ? (size_t)(stop - form) : n;
		if (end == at)
			continue;
		if (f->n == FORM_MAX_FIELDS)
			return err_set(e, ERR_DATA, "the form has more than %d fields",
				       FORM_MAX_FIELDS);
		equals = memchr(form + at, '=', end - at);
		name = equals ? (size_t)(equals - form) - at : end - at;
		if (decode_part(f, form + at, name, &f->names[f->n], e) ||
		    decode_part(f, form + at + name + (equals ? 1 : 0),
				end - at - name - (equals ? 1 : 0), &f->values[f->n], e))
			return e->code;
		f->n++;
	}
	return 0;
}

static bool has_same_name(const struct form *f, size_t a, size_t b)
{
	const struct form_part *x = &f->names[a], *y = &f->names[b];

	return x->n == y->n &&
	       !memcmp(buf_text(&f->text) + x->at, buf_text(&f->text) + y->at, x->n);
}

static void write_field(struct json_writer *w, const struct form *f, size_t i)
{
	const char *text = buf_text(&f->text);
	size_t n = 0;

	for (size_t k = 0; k < i; k++)
		if (has_same_name(f, k, i))
			return;
	for (size_t k = i; k < f->n; k++)
		n += has_same_name(f, k, i);
	json_strn(w, text + f->names[i].at, f->names[i].n);
	buf_add_char(w->out, ':');
	w->need_comma = false;
	if (n > 1)
		json_open(w, '[');
	for (size_t k = i; k < f->n; k++)
		if (has_same_name(f, k, i))
			json_strn(w, text + f->values[k].at, f->values[k].n);
	if (n > 1)
		json_close(w, ']');
}

/* Writes the form, which was read with rc, and frees it. */
static int end_form(struct form *f, int rc, struct buf *out, struct err *e)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	for (size_t i = 0; i < f->n && !rc; i++)
		write_field(&w, f, i);
	json_close(&w, '}');
	buf_free_part(&f->text, out);
	return rc ? rc : buf_check(out, e);
}

int form_to_json(const char *form, size_t n, struct buf *out, struct err *e)
{
	struct form f = { .n = 0 };

	return end_form(&f, read_form(&f, form, n, e), out, e);
}

/* ---- multipart/form-data ---- */

#define BOUNDARY_MAX 70 /* characters (RFC 2046, 5.1.1) */

/*
 * The value of a parameter ("; name=value", with or without quotes) of a header. NULL: there is none. A quoted value has
 * no escapes: clients write a quote in it as %22.
 */
static const char *find_parameter(const char *header, size_t n, const char *name, size_t *n_value)
{
	for (size_t i = 0, at;;) {
		const char *value, *end;
		bool is_quoted = false, is_name;

		for (; i < n && (is_quoted || header[i] != ';'); i++)
			is_quoted ^= header[i] == '"';
		while (i < n && (header[i] == ';' || header[i] == ' ' || header[i] == '\t'))
			i++;
		for (at = i; i < n && header[i] != '=' && header[i] != ';';)
			i++;
		if (i >= n)
			return NULL;
		if (header[i] == ';')
			continue;
		is_name = i - at == strlen(name) && !strncasecmp(header + at, name, i - at);
		value = header + i + 1;
		is_quoted = value < header + n && *value == '"';
		value += is_quoted;
		end = memchr(value, is_quoted ? '"' : ';', (size_t)(header + n - value));
		if (!end && is_quoted)
			return NULL;
		if (!end)
			end = header + n;
		i = (size_t)(end - header) + is_quoted;
		*n_value = (size_t)(end - value);
		if (is_name)
			return value;
	}
}

/* The name in filename*=UTF-8'LANGUAGE'NAME (RFC 5987), with its %-escapes; NULL: there is none. */
static const char *find_encoded_name(const char *header, size_t n, size_t *n_name)
{
	const char *value = find_parameter(header, n, "filename*", n_name), *mark;

	for (int i = 0; value && i < 2; i++) {
		mark = memchr(value, '\'', *n_name);
		if (!mark)
			return value;
		*n_name -= (size_t)(mark + 1 - value);
		value = mark + 1;
	}
	return value;
}

/* Adds a text as it is. */
static int add_form_text(struct form *f, const char *text, size_t n, struct form_part *part,
			 struct err *e)
{
	*part = (struct form_part){ f->text.len, n };
	buf_add(&f->text, text, n);
	if (buf_check(&f->text, e))
		return e->code;
	if (memchr(text, 0, n) || !utf8_valid(text, n))
		return err_set(e, ERR_DATA, "the form must be valid UTF-8");
	return 0;
}

/* Adds a part of n_body bytes with these headers. */
static int add_form_part(struct form *f, const char *head, size_t n_head, const char *body,
			 size_t n_body, struct form_file *file, struct err *e)
{
	static const char field[] = "content-disposition:";
	const char *name = NULL, *file_name = NULL;
	size_t n_name = 0, n_file_name = 0;
	bool is_encoded = false;

	for (size_t at = 0, end; at < n_head; at = end + 2) {
		const char *stop = memmem(head + at, n_head - at, "\r\n", 2);

		end = stop ? (size_t)(stop - head) : n_head;
		if (end - at < sizeof(field) ||
		    strncasecmp(head + at, field, sizeof(field) - 1) != 0)
			continue;
		name = find_parameter(head + at, end - at, "name", &n_name);
		file_name = find_encoded_name(head + at, end - at, &n_file_name);
		is_encoded = file_name != NULL;
		if (!is_encoded)
			file_name = find_parameter(head + at, end - at, "filename", &n_file_name);
	}
	if (!name)
		return err_set(e, ERR_DATA, "a part of the form has no name");
	if (f->n == FORM_MAX_FIELDS)
		return err_set(e, ERR_DATA, "the form has more than %d fields", FORM_MAX_FIELDS);
	if (file_name && file->bytes)
		return err_set(e, ERR_DATA, "the form has several files");
	if (file_name)
		*file = (struct form_file){ body, n_body };
	if (add_form_text(f, name, n_name, &f->names[f->n], e) ||
	    (is_encoded ? decode_part(f, file_name, n_file_name, &f->values[f->n], e)
			: add_form_text(f, file_name ? file_name : body,
					file_name ? n_file_name : n_body, &f->values[f->n], e)))
		return e->code;
	f->n++;
	return 0;
}

/* Reads the parts after the first boundary; mark: (n_mark) CR LF and the boundary, before each further one. */
static int read_form_parts(struct form *f, const char *at, const char *end, const char *mark,
			   size_t n_mark, struct form_file *file, struct err *e)
{
	while (end - at < 2 || memcmp(at, "--", 2) != 0) {
		const char *head = at + 2, *blank, *stop;

		if (end - at < 2 || memcmp(at, "\r\n", 2) != 0)
			return err_set(e, ERR_DATA, "a boundary of the form has no end");
		blank = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
		stop = blank ? memmem(blank + 2, (size_t)(end - blank) - 2, mark, n_mark) : NULL;
		if (!stop)
			return err_set(e, ERR_DATA, "a part of the form has no end");
		/* a part without content: its blank line is the one before the boundary */
		if (stop < blank + 4
			    ? add_form_part(f, head, blank > at ? (size_t)(blank - head) : 0,
					    blank + 2, 0, file, e)
			    : add_form_part(f, head, blank > at ? (size_t)(blank - head) : 0,
					    blank + 4, (size_t)(stop - blank) - 4, file, e))
			return e->code;
		at = stop + n_mark;
	}
	return 0;
}

int multipart_to_json(const char *type, size_t n_type, const char *body, size_t n, struct buf *out,
		      struct form_file *file, struct err *e)
{
	struct form f = { .n = 0 };
	char mark[BOUNDARY_MAX + 5];
	size_t n_boundary = 0, n_mark;
	const char *boundary = find_parameter(type, n_type, "boundary", &n_boundary);

	*file = (struct form_file){ NULL, 0 };
	if (!boundary || !n_boundary || n_boundary > BOUNDARY_MAX)
		return err_set(e, ERR_DATA, "the form has no boundary of 1 to %d characters",
			       BOUNDARY_MAX);
	n_mark = (size_t)snprintf(mark, sizeof(mark), "\r\n--%.*s", (int)n_boundary, boundary);
	if (n < n_mark || memcmp(body, mark + 2, n_mark - 2) != 0)
		return err_set(e, ERR_DATA, "the form does not begin with its boundary");
	return end_form(&f, read_form_parts(&f, body + n_mark - 2, body + n, mark, n_mark, file, e),
			out, e);
}
