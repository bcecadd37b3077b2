/* t_document.c - documents: what is found in each format, and what is written back */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "eval/export/zip_write.h"
#include "share/base/mem.h"
#include "tests/test.h"

#define MAX_WORDS 100

static const struct docfile_languages languages = { .source = "en", .target = "de" };

/* Does this build read the format? Without expat it reads no XML. */
static bool is_read_here(const char *format)
{
#ifdef HAVE_EXPAT
	(void)format;
	return true;
#else
	return !docfile_find_format(format)->is_xml;
#endif
}

/* The "translation" is the text in capital letters. */
static void translate_segment(struct segment *s)
{
	struct markup_word words[MAX_WORDS];
	struct markup_target t = { .words = words };
	struct err e = { 0 };
	char *text = mem_strdup(buf_text(&s->markup.text), &e);

	for (size_t i = 0; text[i];) {
		const size_t at = i;

		while (isalnum((unsigned char)text[i]) || (unsigned char)text[i] >= 0x80) {
			text[i] = (char)toupper((unsigned char)text[i]);
			i++;
		}
		i += i == at;
		if (!isspace((unsigned char)text[at]))
			words[t.n_words++] = (struct markup_word){ at, i, at, i };
	}
	t.text = text;
	t.n = strlen(text);
	check_int(markup_write(&s->markup, &t, &s->translation, &e), 0);
	free(text);
}

/* The document with capital letters (is_kept: with texts that are equal); the caller frees it. */
static char *translate_bytes(const char *format, const char *bytes, size_t n, bool is_kept,
			     size_t *n_out)
{
	struct docfile d;
	struct err e = { 0 };
	char *out = NULL;
	FILE *stream = open_memstream(&out, n_out);

	if (docfile_open_bytes(&d, "x", bytes, n, docfile_find_format(format), NULL, &languages,
			       &e))
		test_fail(__FILE__, __LINE__, "%s: %s", format, e.text);
	for (size_t i = 0; i < d.n; i++) {
		struct markup_target t = { buf_text(&d.segments[i].markup.text),
					   d.segments[i].markup.text.len, NULL, 0 };

		if (!is_kept)
			translate_segment(&d.segments[i]);
		else
			check_int(markup_write(&d.segments[i].markup, &t,
					       &d.segments[i].translation, &e),
				  0);
	}
	check_int(docfile_write(&d, stream, &e), 0);
	fclose(stream);
	docfile_close(&d);
	return out;
}

#define XLIFF(unit)	"<?xml version=\"1.0\"?>\n<xliff><body>" unit "</body></xliff>\n"
#define TMX(units)	"<tmx version=\"1.4\"><body>" units "</body></tmx>"
#define TUV(lang, text) "<tuv xml:lang=\"" lang "\"><seg>" text "</seg></tuv>"
#define WORD(text)	"<w:document xmlns:w=\"w\"><w:body>" text "</w:body></w:document>"
#define ODT(text)	"<o xmlns:text=\"t\">" text "</o>"

static const struct {
	const char *format, *source, *expected;
} documents[] = {
#include "tests/eval/document_cases.def"
};

TEST(document_formats)
{
	for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
		size_t n;
		const size_t n_source = strlen(documents[i].source);
		char *out;

		if (!is_read_here(documents[i].format))
			continue;
		out = translate_bytes(documents[i].format, documents[i].source, n_source, false,
				      &n);
		check_str(out, documents[i].expected);
		free(out);
		/* equal texts: equal bytes; in XLIFF, TMX and PO a target is added */
		if (strchr("xp", *documents[i].format) || !strcmp(documents[i].format, "tmx"))
			continue;
		out = translate_bytes(documents[i].format, documents[i].source, n_source, true, &n);
		check_str(out, documents[i].source);
		free(out);
	}
}

/* A ZIP archive of two members; the caller frees it. */
static char *make_zip(const char *name, const char *content, size_t *n)
{
	struct zip_writer z = { 0 };
	struct err e = { 0 };
	char *bytes = NULL;

	z.out = open_memstream(&bytes, n);
	check_int(zip_add_bytes(&z, "mimetype", "kind", 4, &e), 0);
	check_int(zip_add_bytes(&z, name, content, strlen(content), &e), 0);
	check_int(zip_finish(&z, &e), 0);
	fclose(z.out);
	zip_writer_close(&z);
	return bytes;
}

static const struct {
	const char *format, *member, *source, *expected;
} packed[] = {
#include "tests/eval/document_archives.def"
};

TEST(document_archives)
{
	for (size_t i = 0; i < ARRAY_LEN(packed) && is_read_here(packed[i].format); i++) {
		size_t n, n_out;
		char *zip = make_zip(packed[i].member, packed[i].source, &n);
		char *out = translate_bytes(packed[i].format, zip, n, false, &n_out);
		struct docfile d;
		struct err e = { 0 };

		check_int(docfile_open_bytes(&d, "x", out, n_out,
					     docfile_find_format(packed[i].format), NULL,
					     &languages, &e),
			  0);
		if (check(d.n_parts == 1))
			check_str(d.parts[0].bytes, packed[i].expected);
		check(!memcmp(out + 30, "mimetypekind", 12)); /* the first member, not compressed */
		docfile_close(&d);
		free(out);
		out = translate_bytes(packed[i].format, zip, n, true, &n_out);
		check(n_out == n && !memcmp(out, zip, n)); /* equal texts: equal bytes */
		free(out);
		free(zip);
	}
}

static const struct {
	const char *format, *bytes, *message;
} hostile[] = {
#include "tests/eval/document_refused.def"
};

TEST(document_hostile)
{
	struct docfile d;
	struct err e;
	struct buf deep = { 0 };
	size_t n;
	char *zip;

	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		if (!is_read_here(hostile[i].format))
			continue;
		e = (struct err){ 0 };
		check_err(docfile_open_bytes(&d, "x", hostile[i].bytes, strlen(hostile[i].bytes),
					     docfile_find_format(hostile[i].format), NULL,
					     &languages, &e),
			  ERR_DATA);
		if (!strstr(e.text, hostile[i].message))
			test_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", e.text,
				  hostile[i].message);
		docfile_close(&d);
	}
	for (int i = 0; i < 100000; i++) /* neither the stack nor the time grows with the depth */
		buf_add_str(&deep, "<div><b><code>x");
	e = (struct err){ 0 };
	check_int(docfile_open_bytes(&d, "x", deep.data, deep.len, &docfile_html, NULL, &languages,
				     &e),
		  0);
	docfile_close(&d);
	zip = make_zip("word/media.xml", "x", &n);
	check_err(docfile_open_bytes(&d, "x", zip, n, &docfile_docx, NULL, &languages, &e),
		  ERR_DATA);
	docfile_close(&d);
	free(zip);
	buf_free(&deep);
}

/* A PO document whose header declares another encoding has no place for other letters. */
TEST(document_encoding_refused)
{
	static const char bytes[] =
		"msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n\n"
		"msgid \"one\"\nmsgstr \"\"\n";
	struct docfile d;
	struct err e = { 0 };
	char *out = NULL;
	size_t n;
	FILE *stream = open_memstream(&out, &n);

	check_int(docfile_open_bytes(&d, "x.po", bytes, sizeof(bytes) - 1, &docfile_po, NULL,
				     &languages, &e),
		  0);
	if (check(d.n == 1)) {
		buf_add_str(&d.segments[0].translation, "Stra\xc3\x9f"
							"e");
		check_err(docfile_write(&d, stream, &e), ERR_DATA);
		check(strstr(e.text, "x.po: declares the encoding ISO-8859-1") != NULL);
	}
	fclose(stream);
	free(out);
	docfile_close(&d);
}

/* A caller that keeps several documents in memory limits their segments and tags. */
TEST(document_limits)
{
	static const struct docfile_languages limited = { .source = "en",
							  .target = "de",
							  .max_segments = 2 };
	static const struct {
		const char *bytes;
		int rc;
	} cases[] = { { "<p>a<p>b", 0 },
		      { "<p>a<p>b<p>1", 0 }, /* without words: no segment */
		      { "<p>a<p>b<p>c", ERR_NOMEM },
		      { "<b>a</b> <i>b</i><br><br> <u>c</u> <s>d</s>", 0 },
		      { "<b><b><b><b><b><b><b><b><b>a", ERR_NOMEM } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct docfile d;
		struct err e = { 0 };

		check_int(docfile_open_bytes(&d, "x", cases[i].bytes, strlen(cases[i].bytes),
					     &docfile_html, NULL, &limited, &e),
			  cases[i].rc);
		docfile_close(&d);
	}
}
