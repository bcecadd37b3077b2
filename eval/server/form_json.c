/* form_json.c - see form_json.h */
#include "eval/server/form_json.h"

#include <stdbool.h>
#include <string.h>

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

int form_to_json(const char *form, size_t n, struct buf *out, struct err *e)
{
	struct form f = { .n = 0 };
	struct json_writer w = { .out = out };
	int rc = read_form(&f, form, n, e);

	json_open(&w, '{');
	for (size_t i = 0; i < f.n && !rc; i++)
		write_field(&w, &f, i);
	json_close(&w, '}');
	buf_free_part(&f.text, out);
	return rc ? rc : buf_check(out, e);
}
