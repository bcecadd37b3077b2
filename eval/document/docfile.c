/* docfile.c - opens, writes and closes documents; see docfile.h */
#include "eval/document/docfile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/bilingual/xml_reader.h"
#include "eval/document/docfile_zip.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

static const struct docfile_format *const formats[] = {
	&docfile_txt, &docfile_html, &docfile_markdown, &docfile_xliff, &docfile_po,
	&docfile_srt, &docfile_vtt,  &docfile_tmx,	&docfile_docx,	&docfile_odt,
};

const struct docfile_format *docfile_find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const struct docfile_format *docfile_format_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && !strchr(dot, '/') && i < ARRAY_LEN(formats); i++)
		for (const char *at = formats[i]->suffixes, *end; (end = strchr(at, ' ')) != NULL;
		     at = end + 1)
			if (strlen(dot) == (size_t)(end - at) &&
			    !strncasecmp(dot, at, (size_t)(end - at)))
				return formats[i];
	return NULL;
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

/* ---- opening ---- */

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
	size_t n;

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
				"%s: %s%sis not in UTF-8: convert it first, for example with iconv",
				d->path, p->name ? p->name : "", p->name ? " " : "");
		if (d->format->is_xml && check_xml(d->path, p->bytes, p->n, e))
			return e->code;
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

int docfile_open(struct docfile *d, const char *path, const struct docfile_format *format,
		 const struct protect *symbols, const struct docfile_languages *languages,
		 struct err *e)
{
	*d = (struct docfile){
		.format = format, .path = path, .symbols = symbols, .languages = *languages
	};
	e->code = 0;
	if (file_read_all(path, DOCFILE_MAX_BYTES, &d->file, e) || open_parts(d, e))
		return e->code;
	return find_segments(d, e);
}

void docfile_close(struct docfile *d)
{
	for (size_t i = 0; i < d->n; i++) {
		markup_free(&d->segments[i].markup);
		buf_free(&d->segments[i].translation);
		free(d->segments[i].text);
	}
	for (size_t i = 0; i < d->n_parts; i++) {
		free(d->parts[i].owned);
		free((char *)(uintptr_t)d->parts[i].name);
	}
	free(d->segments);
	free(d->parts);
	free(d->before_target);
	buf_free(&d->file);
	*d = (struct docfile){ 0 };
}

int docfile_add_segment(struct docfile *d, size_t part, size_t from, size_t to,
			enum markup_kind kind, char *text, struct err *e)
{
	const char *bytes = d->parts[part].bytes;
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
	if (markup_read(&s->markup, kind, d->symbols, text ? text : bytes + from,
			text ? strlen(text) : to - from, e) ||
	    !s->markup.has_words) {
		markup_free(&s->markup);
		free(text);
		return e->code;
	}
	d->n++;
	return 0;
}

struct segment *docfile_last_segment(struct docfile *d, size_t n)
{
	return d->n > n ? &d->segments[d->n - 1] : NULL;
}

/* ---- writing ---- */

static int write_part(const struct docfile *d, size_t part, struct buf *out, struct err *e)
{
	const struct docfile_part *p = &d->parts[part];
	size_t at = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct segment *s = &d->segments[i];

		if (s->part != part || !s->translation.len)
			continue;
		buf_add(out, p->bytes + at, s->from - at);
		buf_add_str(out, s->before);
		if (d->format->put)
			d->format->put(s, out);
		else
			buf_add(out, s->translation.data, s->translation.len);
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
