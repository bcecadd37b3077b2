/* docfile.c - opens, writes and closes documents; see docfile.h */
#include "eval/document/docfile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/bilingual/xml_reader.h"
#include "eval/document/docfile_zip.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/document_kind.h"

static const struct docfile_format *const formats[] = {
	&docfile_txt, &docfile_html, &docfile_markdown, &docfile_xliff, &docfile_po,
	&docfile_srt, &docfile_vtt,  &docfile_tmx,	&docfile_docx,	&docfile_odt,
};

const struct docfile_format *docfile_format_at(size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(formats); k++) {
		const bool needs_xml = formats[k]->is_xml;

		if ((!needs_xml || xml_reader_is_built()) && !i--)
			return formats[k];
	}
	return NULL;
}

const struct docfile_format *docfile_find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const struct docfile_format *docfile_format_of(const char *path)
{
	const struct document_kind *kind = document_kind_of(path);

	return kind ? docfile_find_format(kind->name) : NULL;
}

/* ---- XML is checked first ---- */

static int ignore_begin(void *to, const char *name, const char *const *attributes, int depth,
			struct err *e)
{
	(void)to, (void)name, (void)attributes, (void)depth, (void)e;
	return 0;
}

static int ignore_end(void *to, const char *name, int depth, struct err *e)
{
	(void)to, (void)name, (void)depth, (void)e;
	return 0;
}

static int ignore_text(void *to, const char *text, size_t n, struct err *e)
{
	(void)to, (void)text, (void)n, (void)e;
	return 0;
}

static int64_t read_memory(void *from, void *to, size_t room, struct err *e)
{
	struct markup_bytes *b = from;
	const size_t n = MIN(room, b->n);

	(void)e;
	memcpy(to, b->bytes, n);
	b->bytes += n;
	b->n -= n;
	return (int64_t)n;
}

static int check_xml(const char *path, const char *bytes, size_t n, struct err *e)
{
	static const struct xml_events events = { ignore_begin, ignore_end, ignore_text };
	struct markup_bytes from = { bytes, n };
	struct xml_reader *r = xml_reader_open(path, &events, NULL, read_memory, &from, e);
	int got = r ? 1 : e->code;

	while (got > 0)
		got = xml_reader_step(r, e);
	xml_reader_close(r);
	return got;
}

/* ---- encodings ---- */

void docfile_note_encoding(struct docfile *d, const char *name, size_t n)
{
	static const char *const same[] = { "utf-8", "utf8",
					    "charset" }; /* CHARSET: of a template */

	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		if (n == strlen(same[i]) && !strncasecmp(name, same[i], n))
			return;
	if (n && !d->encoding[0])
		snprintf(d->encoding, sizeof(d->encoding), "%.*s", (int)MIN(n, (size_t)23), name);
}

/* The encoding in the declaration of XML, or in <meta charset=…>. */
static void read_encoding(struct docfile *d, const struct docfile_part *p)
{
	const bool is_declared = p->n > 5 && !memcmp(p->bytes, "<?xml", 5);
	const char *end = is_declared ? memchr(p->bytes, '>', p->n) : NULL;
	const char *at = end ? memmem(p->bytes, (size_t)(end - p->bytes), "encoding", 8) : NULL;

	if (!at && !d->format->is_xml) {
		end = p->bytes + MIN(p->n, (size_t)4096);
		for (at = p->bytes; (at = memmem(at, (size_t)(end - at), "<meta", 5)) != NULL;
		     at += 5) {
			const char *stop = memchr(at, '>', (size_t)(end - at)),
				   *found = stop ? memmem(at, (size_t)(stop - at), "charset", 7)
						 : NULL;

			if (found) {
				at = found;
				break;
			}
		}
	}
	if (!at)
		return;
	at += strspn(at, "acdeghinorst"); /* encoding, charset */
	at += strspn(at, "= \"'");
	docfile_note_encoding(d, at, strcspn(at, " \t\n\"';>?/"));
}

/* Appends a translation. Characters that the document's encoding may lack become references. */
static int put_encoded(const struct docfile *d, const char *text, size_t n_text, struct buf *out,
		       struct err *e)
{
	for (size_t i = 0, n; i < n_text; i += n) {
		uint32_t c = (unsigned char)text[i];

		n = c < 0x80 ? 1 : utf8_decode(text + i, n_text - i, &c);
		if (c < 0x80)
			buf_add_char(out, text[i]);
		else if (d->format->has_references)
			buf_printf(out, "&#%u;", c);
		else
			return err_set(
				e, ERR_DATA,
				"%s: declares the encoding %s, and the translation has other "
				"letters than ASCII: convert it to UTF-8 first, for example "
				"with msgconv -t UTF-8",
				d->path, d->encoding);
	}
	return 0;
}

/* ---- opening ---- */

/* Does the document stay within the limits of its caller? */
static int check_limits(const struct docfile *d, struct err *e)
{
	const size_t max = d->languages.max_segments;

	if (!max || (d->n <= max && d->n_tags <= DOCFILE_TAGS * max))
		return 0;
	return err_set(e, ERR_NOMEM,
		       "%s: has more than %zu segments or %zu tags: divide it into smaller files",
		       d->path, max, DOCFILE_TAGS * max);
}

/* Is the name of a member in "word/document.xml word/header* "? */
static bool is_wanted_member(const char *members, const char *name)
{
	for (const char *at = members, *end; (end = strchr(at, ' ')) != NULL; at = end + 1) {
		const size_t n = (size_t)(end - at);
		const bool is_prefix = end[-1] == '*';

		if (!strncmp(at, name, n - is_prefix) && (is_prefix || !name[n]))
			return true;
	}
	return false;
}

static int open_parts(struct docfile *d, struct err *e)
{
	struct docfile_member *members;
	size_t n, bytes = 0;

	if (!d->format->members) {
		d->parts = mem_alloc(1, sizeof(*d->parts), e);
		if (!d->parts)
			return e->code;
		d->parts[d->n_parts++] =
			(struct docfile_part){ .bytes = buf_text(&d->file), .n = d->file.len };
		return 0;
	}
	if (docfile_zip_list(d->path, &d->file, &members, &n, e))
		return e->code;
	d->parts = mem_alloc(n, sizeof(*d->parts), e);
	for (size_t i = 0; i < n && d->parts && !e->code; i++) {
		struct docfile_part *p = &d->parts[d->n_parts];

		if (!is_wanted_member(d->format->members, members[i].name))
			continue;
		bytes += members[i].full;
		if (bytes > DOCFILE_MAX_PARTS) {
			err_set(e, ERR_DATA, "%s: its parts have more than %zu MiB together",
				d->path, DOCFILE_MAX_PARTS >> 20);
			break;
		}
		if (!docfile_zip_unpack(d->path, &members[i], &p->owned, &p->n, e)) {
			p->name = members[i].name;
			p->bytes = p->owned;
			members[i].name = NULL; /* the part owns it */
			d->n_parts++;
		}
	}
	docfile_zip_free(members, n);
	if (!e->code && !d->n_parts)
		return err_set(e, ERR_DATA, "%s: is no %s document: it has none of the members %s",
			       d->path, d->format->name, d->format->members);
	return e->code;
}

static int find_segments(struct docfile *d, struct err *e)
{
	for (size_t i = 0; i < d->n_parts; i++) {
		const struct docfile_part *p = &d->parts[i];

		if (!utf8_valid(p->bytes, p->n))
			return err_set(
				e, ERR_DATA,
				"%s%s%s is not in UTF-8: convert it first, for example with iconv",
				d->path, p->name ? ": " : "", p->name ? p->name : "");
		if (d->format->is_xml && check_xml(d->path, p->bytes, p->n, e))
			return e->code;
		if (d->format->has_references)
			read_encoding(d, p);
		if (d->format->find(d, i, e))
			return e->code;
	}
	return 0;
}

int docfile_open_bytes(struct docfile *d, const char *path, const char *bytes, size_t n,
		       const struct docfile_format *format, const struct protect *symbols,
		       const struct docfile_languages *languages, struct err *e)
{
	*d = (struct docfile){
		.format = format, .path = path, .symbols = symbols, .languages = *languages
	};
	e->code = 0;
	buf_add(&d->file, bytes, n);
	if (buf_check(&d->file, e) || open_parts(d, e))
		return e->code;
	return find_segments(d, e);
}

void docfile_close(struct docfile *d)
{
	for (size_t i = 0; i < d->n; i++) {
		markup_free(&d->segments[i].markup);
		buf_free(&d->segments[i].translation);
		free(d->segments[i].text);
		free(d->segments[i].around);
	}
	for (size_t i = 0; i < d->n_parts; i++) {
		free(d->parts[i].owned);
		free((char *)(uintptr_t)d->parts[i].name);
	}
	free(d->segments);
	free(d->parts);
	free(d->remark);
	buf_free(&d->file);
	*d = (struct docfile){ 0 };
}

int docfile_add_segment(struct docfile *d, size_t part, size_t from, size_t to,
			enum markup_kind kind, char *text, struct err *e)
{
	const char *bytes = d->parts[part].bytes;
	const size_t n_text = text ? strlen(text) : 0;
	struct segment *s;

	if (mem_grow(&d->segments, &d->cap, d->n + 1, sizeof(*d->segments), e)) {
		free(text);
		return e->code;
	}
	while (!text && from < to && isspace((unsigned char)bytes[from]))
		from++;
	while (!text && to > from && isspace((unsigned char)bytes[to - 1]))
		to--;
	s = &d->segments[d->n];
	*s = (struct segment){
		.part = part, .from = from, .to = to, .text = text, .before = "", .after = ""
	};
	while (s->lead < n_text && isspace((unsigned char)text[s->lead]))
		s->lead++;
	while (s->trail < n_text - s->lead && isspace((unsigned char)text[n_text - s->trail - 1]))
		s->trail++;
	if (markup_read(&s->markup, kind, d->symbols, text ? text + s->lead : bytes + from,
			text ? n_text - s->lead - s->trail : to - from, e) ||
	    !s->markup.has_words) {
		markup_free(&s->markup);
		free(text);
		return e->code;
	}
	d->n++;
	d->n_tags += s->markup.n;
	return check_limits(d, e);
}

struct segment *docfile_last_segment(struct docfile *d, size_t n)
{
	return d->n > n ? &d->segments[d->n - 1] : NULL;
}

/* What stands around the last segment of a message is known. */
static int close_message_line(struct docfile *d, struct docfile_message *m, const char *after,
			      struct err *e)
{
	struct segment *s = &d->segments[m->last];

	buf_add_char(&m->before, '\0');
	buf_add_str(&m->before, after);
	s->around = buf_detach(&m->before, e);
	if (!s->around)
		return e->code;
	s->before = s->around;
	s->after = s->around + strlen(s->around) + 1;
	return 0;
}

int docfile_message_line(struct docfile *d, struct docfile_message *m, size_t part, size_t from,
			 size_t to, enum markup_kind kind, char *text, bool *is_added,
			 struct err *e)
{
	const bool is_first = m->last == SIZE_MAX;
	const size_t n = d->n;

	if (docfile_add_segment(d, part, is_first ? from : to, to, kind, text, e))
		return e->code;
	*is_added = docfile_last_segment(d, n) != NULL;
	if (!*is_added)
		return 0;
	if (!is_first && close_message_line(d, m, "", e))
		return e->code;
	m->last = d->n - 1;
	d->segments[m->last].is_line = true;
	m->before = m->literal;
	m->literal = (struct buf){ 0 };
	return 0;
}

int docfile_message_end(struct docfile *d, struct docfile_message *m, const char *after,
			struct err *e)
{
	int rc = 0;

	buf_add_str(&m->literal, after);
	if (m->last != SIZE_MAX)
		rc = close_message_line(d, m, buf_text(&m->literal), e);
	buf_free(&m->before);
	buf_free(&m->literal);
	return rc;
}

/* ---- writing ---- */

static int put_translation(const struct docfile *d, const struct segment *s, struct buf *out,
			   struct err *e)
{
	const bool has_text = s->translation.len > 0;
	const char *text = has_text ? s->translation.data : s->text;
	const size_t n = has_text ? s->translation.len : strlen(s->text);
	const bool is_same = !s->text && n == s->to - s->from &&
			     !memcmp(text, d->parts[s->part].bytes + s->from, n);
	struct buf escaped = { 0 };
	int rc = 0;

	if (d->format->put) {
		d->format->put(text, n, &escaped);
		text = buf_text(&escaped);
	}
	if (d->encoding[0] && !is_same)
		rc = put_encoded(d, text, d->format->put ? escaped.len : n, out, e);
	else
		buf_add(out, text, d->format->put ? escaped.len : n);
	if (!rc)
		rc = buf_check(&escaped, e);
	buf_free(&escaped);
	return rc;
}

/* Has a segment, or another line of its message, a translation? i: its index, the first one of the message. */
static bool is_message_translated(const struct docfile *d, size_t i)
{
	const struct segment *first = &d->segments[i];

	for (; i < d->n && d->segments[i].part == first->part && d->segments[i].to == first->to;
	     i++)
		if (d->segments[i].translation.len)
			return true;
	return false;
}

static int write_part(const struct docfile *d, size_t part, struct buf *out, struct err *e)
{
	const struct docfile_part *p = &d->parts[part];
	size_t at = 0;
	bool is_wanted = false;

	for (size_t i = 0; i < d->n; i++) {
		const struct segment *s = &d->segments[i];

		if (s->part != part)
			continue;
		if (!s->is_line)
			is_wanted = s->translation.len > 0;
		else if (!i || s[-1].to != s->to)
			is_wanted = is_message_translated(d, i);
		if (!is_wanted)
			continue;
		buf_add(out, p->bytes + at, s->from - at);
		buf_add_str(out, s->before);
		if (s->text)
			buf_add(out, s->text, s->lead);
		if (put_translation(d, s, out, e))
			return e->code;
		if (s->text)
			buf_add_str(out, s->text + strlen(s->text) - s->trail);
		buf_add_str(out, s->after);
		at = s->to;
	}
	buf_add(out, p->bytes + at, p->n - at);
	return buf_check(out, e);
}

int docfile_write(const struct docfile *d, FILE *out, struct err *e)
{
	struct buf *parts = mem_alloc(d->n_parts, sizeof(*parts), e);
	int rc = parts ? 0 : e->code;

	for (size_t i = 0; i < d->n_parts && !rc; i++)
		rc = write_part(d, i, &parts[i], e);
	if (!rc && d->format->members)
		rc = docfile_zip_write(d, parts, out, e);
	else if (!rc)
		(void)!fwrite(buf_text(&parts[0]), 1, parts[0].len, out);
	for (size_t i = 0; parts && i < d->n_parts; i++)
		buf_free(&parts[i]);
	free(parts);
	return rc;
}
