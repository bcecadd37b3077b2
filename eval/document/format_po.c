/*
 * format_po.c - messages of gettext: an empty msgstr gets the translation of its msgid or msgid_plural
 *
 * Each line of a message is a segment. The header, obsolete messages (#~) and messages that have a translation stay.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "share/base/text.h"

struct po_scan {
	struct docfile *d;
	const struct docfile_part *p;
	size_t part;
	struct buf id, plural, str; /* unescaped */
	struct buf *now;	    /* the string that goes on in the next line; NULL: none */
	size_t from, to;	    /* quoted strings of the msgstr in work */
	long line;		    /* number of the line in work */
	bool has_crlf;		    /* of the first line */
	bool is_plural_form;	    /* msgstr[1] and above */
	bool has_str;
};

/* Appends what stands between quotation marks in a line; to NULL: only checks it. */
static int unquote(const struct po_scan *s, const char *line, size_t n, struct buf *to,
		   struct err *e)
{
	const char *at = memchr(line, '"', n), *end = line + n;

	for (at = at ? at + 1 : end; at < end && *at != '"'; at++) {
		char c = *at;

		if (c == '\\' && at + 1 < end) {
			at++;
			c = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at == 'r' ? '\r' : *at;
		}
		if (to)
			buf_add_char(to, c);
	}
	if (at >= end)
		return err_set(e, ERR_DATA, "%s:%ld: the string lacks a quotation mark", s->d->path,
			       s->line);
	while (++at < end)
		if (*at != ' ' && *at != '\t')
			return err_set(
				e, ERR_DATA,
				"%s:%ld: something stands after the string: a quotation mark "
				"in a string is written \\\"",
				s->d->path, s->line);
	return 0;
}

/* Appends a text as it stands between quotation marks. */
static void put_po(const char *text, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (strchr("\t\r\"\\", text[i]) && text[i])
			buf_add_char(out, '\\');
		buf_add_char(out, text[i] == '\t' ? 't' : text[i] == '\r' ? 'r' : text[i]);
	}
}

/* Adds a line of a message, without its line end: white space at its ends and the mark of a list stay. */
static int add_po_line(struct po_scan *s, struct docfile_message *m, const char *line, size_t n,
		       struct err *e)
{
	size_t lead = 0;
	bool is_added;
	char *text;

	while (lead < n && isspace((unsigned char)line[lead]))
		lead++;
	if (lead + 1 < n && strchr("-*", line[lead]) && line[lead + 1] == ' ')
		lead += 2; /* of a list */
	put_po(line, lead, &m->literal);
	line += lead;
	n -= lead;
	lead = n;
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	text = strndup(line, n);
	if (!text)
		return err_set(e, ERR_NOMEM, "out of memory");
	if (docfile_message_line(s->d, m, s->part, s->from, s->to, MARKUP_MESSAGE, text, &is_added,
				 e))
		return e->code;
	if (!is_added)
		put_po(line, n, &m->literal);
	put_po(line + n, lead - n, &m->literal);
	return 0;
}

/* Adds a message as C string literals, one for each line, as gettext writes it. */
static int add_po_message(struct po_scan *s, const char *id, size_t n, struct err *e)
{
	struct docfile_message m = DOCFILE_MESSAGE;
	const char *line_end = s->has_crlf ? "\r\n" : "\n", *end = id + n;
	const char *lf = memchr(id, '\n', n);
	int rc = 0;

	buf_add_char(&m.literal, '"');
	if (lf && lf + 1 < end)
		buf_printf(&m.literal, "\"%s\"", line_end);
	for (; id < end && !rc; id = lf + 1) {
		lf = memchr(id, '\n', (size_t)(end - id));
		rc = add_po_line(s, &m, id, (size_t)((lf ? lf : end) - id), e);
		if (!lf)
			break;
		buf_add_str(&m.literal, "\\n");
		if (lf + 1 < end)
			buf_printf(&m.literal, "\"%s\"", line_end);
	}
	if (docfile_message_end(s->d, &m, "\"", e) && !rc)
		rc = e->code;
	return rc;
}

/* The header declares the encoding. */
static void note_po_encoding(struct po_scan *s)
{
	const char *at = strstr(buf_text(&s->str), "charset=");

	if (at)
		docfile_note_encoding(s->d, at + 8, strcspn(at + 8, " \t\n;"));
}

/* The msgstr in work is complete. */
static int end_po_message(struct po_scan *s, struct err *e)
{
	const struct buf *id = s->is_plural_form && s->plural.len ? &s->plural : &s->id;

	if (!s->has_str)
		return 0;
	s->has_str = false;
	if (!id->len && s->str.len)
		note_po_encoding(s);
	s->d->n_units += id->len > 0;
	if (!id->len || s->str.len || memchr(id->data, 0, id->len))
		return 0;
	return add_po_message(s, id->data, id->len, e);
}

static bool po_begins(const char *line, size_t n, const char *word)
{
	return n >= strlen(word) && !memcmp(line, word, strlen(word));
}

static int read_message_line(struct po_scan *s, size_t at, size_t n, struct err *e)
{
	const char *line = s->p->bytes + at;

	if (n && *line == '"') {
		if (s->now == &s->str)
			s->to = at + n;
		return unquote(s, line, n, s->now, e);
	}
	if (end_po_message(s, e))
		return e->code;
	s->now = NULL;
	if (po_begins(line, n, "msgid_plural")) {
		s->now = &s->plural;
	} else if (po_begins(line, n, "msgid")) {
		buf_clear(&s->id);
		buf_clear(&s->plural);
		s->now = &s->id;
	} else if (po_begins(line, n, "msgstr")) {
		const char *quote = memchr(line, '"', n);

		s->now = &s->str;
		buf_clear(&s->str);
		s->has_str = true;
		s->is_plural_form =
			po_begins(line, n, "msgstr[") && !po_begins(line, n, "msgstr[0]");
		s->from = quote ? (size_t)(quote - s->p->bytes) : at + n;
		s->to = at + n;
	}
	return s->now || po_begins(line, n, "msgctxt") ? unquote(s, line, n, s->now, e) : 0;
}

static int find_po(struct docfile *d, size_t part, struct err *e)
{
	struct po_scan s = { .d = d, .p = &d->parts[part], .part = part };
	int rc = 0;

	for (size_t at = utf8_mark_bytes(s.p->bytes, s.p->n); at < s.p->n && !rc;) {
		const char *lf = memchr(s.p->bytes + at, '\n', s.p->n - at);
		const size_t end = lf ? (size_t)(lf - s.p->bytes) : s.p->n;
		size_t n = end - at;

		if (n && s.p->bytes[at + n - 1] == '\r') {
			n--;
			s.has_crlf |= s.line == 0;
		}
		s.line++;
		rc = read_message_line(&s, at, n, e);
		at = end + 1;
	}
	if (!rc)
		rc = end_po_message(&s, e);
	if (!rc)
		rc = buf_check(&s.id, e) || buf_check(&s.plural, e) || buf_check(&s.str, e)
			     ? e->code
			     : 0;
	buf_free(&s.id);
	buf_free(&s.plural);
	buf_free(&s.str);
	return rc;
}

const struct docfile_format docfile_po = { .name = "po", .find = find_po, .put = put_po };
