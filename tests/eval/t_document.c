/* t_document.c - documents: what is found in each format, and what is written back */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/document/docfile.h"
#include "eval/exchange/zip_write.h"
#include "share/base/mem.h"
#include "tests/test.h"

#define MAX_WORDS 100

static const struct docfile_languages languages = { "en", "de" };

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

#define XLIFF(unit)	"<?xml version=\"1.0\"?>\n<xliff><file><body>" unit "</body></file></xliff>\n"
#define TMX(units)	"<tmx version=\"1.4\"><body>" units "</body></tmx>"
#define TUV(lang, text) "<tuv xml:lang=\"" lang "\"><seg>" text "</seg></tuv>"
#define WORD(text)	"<w:document xmlns:w=\"w\"><w:body>" text "</w:body></w:document>"
#define ODT(text)	"<o xmlns:text=\"t\">" text "</o>"

static const struct {
	const char *format, *source, *expected;
} documents[] = {
	/* clang-format off */
	{ "txt", "\xEF\xBB\xBF" "one two\r\n\r\n  three <b>\n12\n", "\xEF\xBB\xBF" "ONE TWO\r\n\r\n  THREE <B>\n12\n" },
	{ "txt", "see http://a.b/c?d. now", "SEE http://a.b/c?d. NOW" },
	{ "html", "<!DOCTYPE html><p class=a>one <b>two</b><br>three</p>\n<script>if (a<b) x(\"<p>y</p>\")</script><P>four",
	  "<!DOCTYPE html><p class=a>ONE <b>TWO</b><br>THREE</p>\n<script>if (a<b) x(\"<p>y</p>\")</script><P>FOUR" },
	{ "html", "<pre>one</pre>two <code>x &lt; y</code>&nbsp;z<div translate=no>a<div>b</div>c</div><td title='a > b'>three",
	  "<pre>one</pre>TWO <code>x &lt; y</code> Z<div translate=no>a<div>b</div>c</div><td title='a > b'>THREE" },
	{ "html", "a < b & c &copy; &unknown; <!-- no <p> --> d <unfinished", "A < B & C &copy; &unknown; <!-- no <p> --> D &lt;UNFINISHED" },
	{ "html", "<p>one<style>p { x }", "<p>ONE<style>p { x }" },
	{ "md", "---\nx: y\n---\n# one *two*\n\n- [ ] three `code`\n> four\n> five\n\n    code\n\n| a | `b|c` |\n|---|---|\n```\nno\n```\n[x]: http://y \"z\"\n",
	  "---\nx: y\n---\n# ONE *TWO*\n\n- [ ] THREE `code`\n> FOUR\n> FIVE\n\n    code\n\n| A | `b|c` |\n|---|---|\n```\nno\n```\n[x]: http://y \"z\"\n" },
	{ "md", "one **two** [three](http://x) ![pic](y.png) snake_case_name 2 * 3 \\*four\\* <a@b.c>", "ONE **TWO** [THREE](http://x) ![pic](y.png) SNAKE_CASE_NAME 2 \\* 3 \\*FOUR\\* <a@b.c>" },
	{ "md", "Setext\n======\n\npara one\npara two\n1. item\n", "SETEXT\n======\n\nPARA ONE PARA TWO\n1. ITEM\n" },
	{ "xliff", XLIFF("<trans-unit id=\"1\"><source>one <g id=\"1\">two</g> &amp;</source></trans-unit>"),
	  XLIFF("<trans-unit id=\"1\"><source>one <g id=\"1\">two</g> &amp;</source><target>ONE <g id=\"1\">TWO</g> &amp;</target></trans-unit>") },
	{ "xliff", XLIFF("<trans-unit><source>one</source><target/></trans-unit><trans-unit><source>two</source><target a=\"b\"></target></trans-unit><trans-unit translate=\"no\"><source>x</source></trans-unit><trans-unit><source>y</source><target>z</target></trans-unit>"),
	  XLIFF("<trans-unit><source>one</source><target>ONE</target></trans-unit><trans-unit><source>two</source><target a=\"b\">TWO</target></trans-unit><trans-unit translate=\"no\"><source>x</source></trans-unit><trans-unit><source>y</source><target>z</target></trans-unit>") },
	{ "xliff", XLIFF("<unit><segment><source>one <pc id=\"1\">two</pc><ph id=\"2\"/></source></segment></unit>"),
	  XLIFF("<unit><segment><source>one <pc id=\"1\">two</pc><ph id=\"2\"/></source><target>ONE <pc id=\"1\">TWO</pc><ph id=\"2\"/></target></segment></unit>") },
	{ "xliff", XLIFF("<trans-unit><source>a b</source><seg-source><mrk mid=\"1\">a</mrk> <mrk mid=\"2\">b</mrk></seg-source><alt-trans><target>no</target></alt-trans></trans-unit>"),
	  XLIFF("<trans-unit><source>a b</source><seg-source><mrk mid=\"1\">a</mrk> <mrk mid=\"2\">b</mrk></seg-source><target><mrk mid=\"1\">A</mrk> <mrk mid=\"2\">B</mrk></target><alt-trans><target>no</target></alt-trans></trans-unit>") },
	{ "tmx", TMX("<tu>" TUV("en", "one <ph>x</ph>") "</tu><tu>" TUV("en-GB", "two") TUV("DE", "zwei") "</tu><tu>" TUV("fr", "un") "</tu>"),
	  TMX("<tu>" TUV("en", "one <ph>x</ph>") TUV("de", "ONE <ph>x</ph>") "</tu><tu>" TUV("en-GB", "two") TUV("DE", "zwei") "</tu><tu>" TUV("fr", "un") "</tu>") },
	{ "po", "msgid \"\"\nmsgstr \"\"\n\"X: y\\n\"\n\nmsgid \"one %s \\\"two\\\"\\n\"\nmsgstr \"\"\n\nmsgid \"a\"\nmsgid_plural \"%d bs\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n\nmsgid \"x\"\nmsgstr \"y\"\n#~ msgid \"old\"\n#~ msgstr \"\"\n",
	  "msgid \"\"\nmsgstr \"\"\n\"X: y\\n\"\n\nmsgid \"one %s \\\"two\\\"\\n\"\nmsgstr \"ONE %s \\\"TWO\\\"\\n\"\n\nmsgid \"a\"\nmsgid_plural \"%d bs\"\nmsgstr[0] \"A\"\nmsgstr[1] \"%d BS\"\n\nmsgid \"x\"\nmsgstr \"y\"\n#~ msgid \"old\"\n#~ msgstr \"\"\n" },
	{ "po", "msgid \"\"\n\"one\\n\"\n\"two {name}\"\nmsgstr \"\"", "msgid \"\"\n\"one\\n\"\n\"two {name}\"\nmsgstr \"\"\n\"ONE\\n\"\n\"TWO {name}\"" },
	{ "srt", "1\r\n00:01 --> 00:02\r\n<i>one</i>\r\n\r\n2\r\n00:03 --> 00:04\r\ntwo.\r\n\r\n3\r\n00:05 --> 00:06\r\nthree\r\n",
	  "1\r\n00:01 --> 00:02\r\n<i>ONE</i>\r\n\r\n2\r\n00:03 --> 00:04\r\nTWO.\r\n\r\n3\r\n00:05 --> 00:06\r\nTHREE\r\n" },
	{ "vtt", "WEBVTT\n\nNOTE\nno\n\nid\n00:01 --> 00:02 align:left\n<v Bob>one\ntwo</v>\n", "WEBVTT\n\nNOTE\nno\n\nid\n00:01 --> 00:02 align:left\n<v Bob>ONE\nTWO</v>\n" },
	/* clang-format on */
};

TEST(document_formats)
{
	for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
		size_t n;
		const size_t n_source = strlen(documents[i].source);
		char *out = translate_bytes(documents[i].format, documents[i].source, n_source,
					    false, &n);

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
	/* clang-format off */
	{ "docx", "word/document.xml",
	  WORD("<w:p><w:pPr><w:b/></w:pPr><w:r><w:t>one </w:t></w:r><w:proofErr w:type=\"x\"/><w:r><w:rPr><w:b/></w:rPr><w:t>two</w:t></w:r></w:p><w:p><w:r><w:t>12</w:t></w:r></w:p>"),
	  WORD("<w:p><w:pPr><w:b/></w:pPr><w:r><w:t xml:space=\"preserve\">ONE </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t xml:space=\"preserve\">TWO</w:t></w:r></w:p><w:p><w:r><w:t>12</w:t></w:r></w:p>") },
	{ "docx", "word/document.xml",
	  WORD("<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t></w:r><w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"end\"/></w:r></w:p>"
	       "<w:p><w:r><w:drawing><w:p><w:r><w:t>box</w:t></w:r></w:p></w:drawing></w:r></w:p>"),
	  WORD("<w:p><w:r><w:t xml:space=\"preserve\">A </w:t><w:br/><w:t xml:space=\"preserve\">B</w:t></w:r><w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"end\"/></w:r></w:p>"
	       "<w:p><w:r><w:drawing><w:p><w:r><w:t xml:space=\"preserve\">BOX</w:t></w:r></w:p></w:drawing></w:r></w:p>") },
	{ "odt", "content.xml", ODT("<text:p a=\"b\">one <text:span>two</text:span><text:line-break/>x<text:note><text:p>n</text:p></text:note></text:p>"),
	  ODT("<text:p a=\"b\">ONE <text:span>TWO</text:span><text:line-break/>X<text:note><text:p>n</text:p></text:note></text:p>") },
	/* clang-format on */
};

TEST(document_archives)
{
	for (size_t i = 0; i < ARRAY_LEN(packed); i++) {
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
	/* clang-format off */
	{ "xliff", "<!DOCTYPE x [<!ENTITY a \"b\">]><xliff>&a;</xliff>", "the DOCTYPE declares" },
	{ "xliff", "<xliff><source>", "no well-formed XML" },
	{ "tmx", "<tmx>&unknown;</tmx>", "no well-formed XML" },
	{ "html", "a\xff" "b", "not in UTF-8" },
	{ "docx", "PK\3\4 no", "end record" },
	{ "odt", "", "end record" },
	/* clang-format on */
};

TEST(document_hostile)
{
	struct docfile d;
	struct err e;
	struct buf deep = { 0 };
	size_t n;
	char *zip;

	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
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
