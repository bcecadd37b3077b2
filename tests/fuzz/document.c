/* document.c - targets for documents and inline mark-up; see fuzz.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/fuzz/fuzz.h"

/* The first byte is the kind. A translation of one word keeps all mark-up of a segment, but emphasis of nothing; plain text keeps its bytes. */
FUZZ(markup)
{
	struct markup m = { 0 };
	struct buf out = { 0 };
	struct err e = { 0 };
	const char *text = (const char *)data + 1;
	struct markup_word word = { 0, 1, 0, 0 };
	struct markup_target t = { "z", 1, &word, 1 };
	size_t kept = 0;

	if (!n || !utf8_valid(text, n - 1))
		return 0;
	property(!markup_read(&m, (enum markup_kind)(data[0] % (MARKUP_MESSAGE + 1)), NULL, text,
			      n - 1, &e));
	property(m.text.len == strlen(buf_text(&m.text)) || memchr(text, 0, n - 1));
	property(utf8_valid(buf_text(&m.text), m.text.len));
	for (size_t i = 0; i < m.n; i++) {
		const struct markup_node *x = &m.nodes[i];

		property(x->parent < (int32_t)i && x->at <= x->end && x->end <= m.text.len);
		property(x->parent < 0 || m.nodes[x->parent].is_pair);
		kept += x->open.n + x->close.n;
	}
	property(kept <= n - 1);
	word.source_end = m.text.len;
	property(!markup_write(&m, &t, &out, &e));
	property(out.len >= kept || m.kind == MARKUP_MARKDOWN ||
		 (m.text.len == 1 && *m.text.data == 'z'));
	buf_free(&out);
	markup_free(&m);
	return 0;
}

/* The first byte is the format. Without translations a document is written as it was. */
FUZZ(document)
{
	static const char *const names[] = { "txt", "html", "md",  "xliff", "tmx",
					     "po",  "srt",  "vtt", "docx",  "odt" };
	static const struct docfile_format *const of_texts[] = { &docfile_xml_text,
								 &docfile_xml_lines };
	static const struct docfile_languages languages = { .source = "en", .target = "de" };
	const size_t kind = n ? data[0] % (ARRAY_LEN(names) + ARRAY_LEN(of_texts)) : 0;
	const struct docfile_format *format = kind < ARRAY_LEN(names)
						      ? docfile_find_format(names[kind])
						      : of_texts[kind - ARRAY_LEN(names)];
	struct docfile d;
	struct err e = { 0 };
	char *out = NULL;
	size_t n_out, at = 0, part = 0;
	FILE *stream;

	if (!n)
		return 0;
	if (!docfile_open_bytes(&d, "x", (const char *)data + 1, n - 1, format, NULL, &languages,
				&e)) {
		for (size_t i = 0; i < d.n; i++) {
			const struct segment *s = &d.segments[i];

			property(s->part >= part);
			at = s->part > part ? 0 : at;
			part = s->part;
			property(s->from >= at && s->to >= s->from && s->to <= d.parts[part].n);
			property(s->markup.text.len > 0);
			at = s->to;
		}
		stream = open_memstream(&out, &n_out);
		property(stream && !docfile_write(&d, stream, &e));
		fclose(stream);
		if (!d.format->members)
			property(n_out == n - 1 && !memcmp(out, data + 1, n_out));
		free(out);
	}
	docfile_close(&d);
	return 0;
}
