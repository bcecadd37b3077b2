/*
 * format_po.c - messages of gettext: an empty msgstr gets the translation of its msgid or msgid_plural
 *
 * The header, obsolete messages (#~) and messages that have a translation stay.
 */
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
	bool is_plural_form;	    /* msgstr[1] and above */
	bool has_str;
};

/* Appends what stands between quotation marks in a line. */
static void unquote(const char *line, size_t n, struct buf *to)
{
	const char *at = memchr(line, '"', n), *end = line + n;

	for (at = at ? at + 1 : end; at < end && *at != '"'; at++) {
		if (*at == '\\' && at + 1 < end) {
			at++;
			buf_add_char(to, *at == 'n'   ? '\n'
					 : *at == 't' ? '\t'
					 : *at == 'r' ? '\r'
						      : *at);
		} else {
			buf_add_char(to, *at);
		}
	}
}

/* The msgstr in work is complete. */
static int end_po_message(struct po_scan *s, struct err *e)
{
	const struct buf *id = s->is_plural_form && s->plural.len ? &s->plural : &s->id;
	char *text;

	if (!s->has_str)
		return 0;
	s->has_str = false;
	if (!id->len || s->str.len || memchr(id->data, 0, id->len))
		return 0;
	text = strdup(buf_text(id));
	if (!text)
		return err_set(e, ERR_NOMEM, "out of memory");
	if (docfile_add_segment(s->d, s->part, s->from, s->to, MARKUP_MESSAGE, text, e))
		return e->code;
	return 0;
}

static bool po_begins(const char *line, size_t n, const char *word)
{
	return n >= strlen(word) && !memcmp(line, word, strlen(word));
}

static int read_message_line(struct po_scan *s, size_t at, size_t n, struct err *e)
{
	const char *line = s->p->bytes + at;

	if (n && *line == '"') {
		if (s->now)
			unquote(line, n, s->now);
		if (s->now == &s->str)
			s->to = at + n;
		return 0;
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

		if (!quote)
			return 0;
		s->now = &s->str;
		buf_clear(&s->str);
		s->has_str = true;
		s->is_plural_form =
			po_begins(line, n, "msgstr[") && !po_begins(line, n, "msgstr[0]");
		s->from = (size_t)(quote - s->p->bytes);
		s->to = at + n;
	}
	if (s->now)
		unquote(line, n, s->now);
	return 0;
}

static int find_po(struct docfile *d, size_t part, struct err *e)
{
	struct po_scan s = { .d = d, .p = &d->parts[part], .part = part };
	int rc = 0;

	for (size_t at = utf8_mark_bytes(s.p->bytes, s.p->n); at < s.p->n && !rc;) {
		const char *lf = memchr(s.p->bytes + at, '\n', s.p->n - at);
		const size_t end = lf ? (size_t)(lf - s.p->bytes) : s.p->n;
		size_t n = end - at;

		n -= n && s.p->bytes[at + n - 1] == '\r';
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

/* A string of C; one line a line of the message, as gettext writes it. */
static void put_po(const struct segment *s, struct buf *out)
{
	const char *text = s->translation.data, *end = text + s->translation.len;
	const size_t n_id = strlen(s->text);
	const char *lf;

	/* msgfmt refuses a line end at one end of a message without one at the same end of the other */
	if (end > text && end[-1] == '\n' && s->text[n_id - 1] != '\n')
		end--;
	if (end > text && *text == '\n' && *s->text != '\n')
		text++;
	lf = memchr(text, '\n', (size_t)(end - text));

	buf_add_str(out, lf && lf + 1 < end ? "\"\"\n\"" : "\"");
	for (; text < end; text++) {
		switch (*text) {
		case '\n':
			buf_add_str(out, text + 1 < end ? "\\n\"\n\"" : "\\n");
			break;
		case '\t':
			buf_add_str(out, "\\t");
			break;
		case '\r':
			buf_add_str(out, "\\r");
			break;
		case '"':
		case '\\':
			buf_add_char(out, '\\');
			/* fall through */
		default:
			buf_add_char(out, *text);
		}
	}
	buf_add_char(out, '"');
}

const struct docfile_format docfile_po = {
	.name = "po", .suffixes = ".po .pot ", .find = find_po, .put = put_po
};
