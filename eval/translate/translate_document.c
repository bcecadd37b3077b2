/* translate_document.c - see translate_document.h */
#include "eval/translate/translate_document.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "eval/translate/document_sentences.h"
#include "eval/translate/word_spans.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/format/document_kind.h"

#define READ_BYTES     ((size_t)1 << 16)
#define BATCH_SEGMENTS 1024 /* translated together */

int document_format_wanted(const struct conf *c, const struct docfile_format **format,
			   struct err *e)
{
	const char *path = c->n_arguments > 0 ? c->arguments[0] : "-";

	*format = NULL;
	if (c->document) {
		*format = docfile_find_format(c->document);
		assert(*format); /* the parser knows the names, too */
	} else if ((c->output || c->list_sentences || c->post_edited) && strcmp(path, "-")) {
		*format = docfile_format_of(path);
		if (*format == &docfile_txt) /* lines, as ever */
			*format = NULL;
	}
	if (!*format && !c->quiet && !c->markup && strcmp(path, "-")) {
		const struct docfile_format *looks = docfile_format_of(path);

		if (looks && looks != &docfile_txt)
			fprintf(stderr,
				"werkbank: %s looks like a document, and is translated line by "
				"line with its mark-up: give --output FILE or --document %s to "
				"translate it as one\n",
				path, looks->name);
	}
	if (!*format && (c->list_sentences || c->post_edited))
		return err_set(e, ERR_USAGE,
			       "--list-sentences and --post-edited are for documents, and %s is "
			       "translated by lines: name the kind with --document, txt for a text",
			       path);
	if (*format && (c->n_best > 1 || c->scores || c->alignments || c->prefix || c->markup))
		return err_set(e, ERR_USAGE,
			       "a document has no place for --n-best, --scores, --alignments, "
			       "--prefix and --markup: "
			       "leave them out, or translate lines");
	return 0;
}

void document_list_lines(const struct docfile *d, size_t from, size_t n, struct terms *terms,
			 struct passage_line *lines)
{
	for (size_t i = 0; i < n; i++)
		lines[i] = (struct passage_line){
			.line = { .text = buf_text(&d->segments[from + i].markup.text),
				  .n = d->segments[from + i].markup.text.len,
				  .number = i },
			.terms = terms
		};
}

static bool is_blank_translation(const char *text)
{
	return !text[strspn(text, " \t\n\r")];
}

int document_take_results(const struct engine *g, struct docfile *d, size_t from, size_t n,
			  const struct passage_result *results, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct segment *s = &d->segments[from + i];

		if (results[i].joined.result.n > 0 &&
		    !is_blank_translation(results[i].joined.texts[0]) &&
		    segment_write(g, &s->markup, &results[i].joined, 0, &s->translation, e))
			return e->code;
	}
	return 0;
}

/* Translates the segments from … from + n - 1. */
static int translate_segments(struct passages *p, const struct engine *g,
			      const struct decode_options *o, struct terms *terms,
			      struct docfile *d, size_t from, size_t n, int64_t *n_cut,
			      struct err *e)
{
	struct passage_line *lines = mem_alloc(n, sizeof(*lines), e);
	struct passage_result *results = mem_alloc(n, sizeof(*results), e);
	int rc = lines && results ? 0 : e->code;

	if (!rc) {
		document_list_lines(d, from, n, terms, lines);
		rc = passages_translate(p, o, lines, n, results, e);
	}
	if (!rc) {
		for (size_t i = 0; i < n; i++)
			*n_cut += results[i].joined.result.truncated;
		rc = document_take_results(g, d, from, n, results, e);
		passages_results_free(results, n);
	}
	free(lines);
	free(results);
	return rc;
}

/* Reads the bytes of a document; path NULL: standard input. */
static int read_document(const char *path, struct buf *bytes, struct err *e)
{
	if (path)
		return file_read_all(path, DOCFILE_MAX_BYTES, bytes, e);
	while (bytes->len <= DOCFILE_MAX_BYTES && buf_reserve(bytes, READ_BYTES)) {
		const size_t got = fread(bytes->data + bytes->len, 1, READ_BYTES, stdin);

		bytes->len += got;
		if (!got)
			break;
	}
	if (ferror(stdin))
		return err_set_errno(e, ERR_IO, "standard input cannot be read");
	if (bytes->len > DOCFILE_MAX_BYTES)
		return err_set(e, ERR_DATA, "standard input has more than %zu MiB",
			       DOCFILE_MAX_BYTES >> 20);
	return buf_check(bytes, e);
}

/* Opens the document; path NULL: standard input. With --repair, letters that are no UTF-8 become U+FFFD, but not in archives. */
static int open_document(struct docfile *d, const struct engine *g,
			 const struct docfile_format *format, const char *path, struct err *e)
{
	const struct docfile_languages languages = { .source = g->conf->source_language,
						     .target = g->conf->target_language };
	const struct protect *symbols = pipeline_protect(g->pipeline);
	const char *name = path ? path : "standard input";
	struct buf bytes = { 0 }, repaired = { 0 };
	int rc = read_document(path, &bytes, e);

	if (!rc && g->conf->repair && !format->members && !utf8_valid(bytes.data, bytes.len)) {
		utf8_repair(&repaired, bytes.data, bytes.len);
		rc = buf_check(&repaired, e);
		buf_free(&bytes);
		bytes = repaired;
		if (!rc && !g->conf->quiet)
			fprintf(stderr,
				"werkbank: warning: %s: bytes that are not UTF-8 became U+FFFD\n",
				name);
	}
	if (!rc)
		rc = docfile_open_bytes(d, name, buf_text(&bytes), bytes.len, format, symbols,
					&languages, e);
	buf_free(&bytes);
	return rc;
}

/* Says what was left alone, and when nothing was translated. */
static void tell_units(const struct docfile *d)
{
	const size_t n = d->n_units ? d->n_units : d->n;
	size_t n_translated = 0;

	for (size_t i = 0; i < d->n; i++)
		n_translated += d->segments[i].translation.len > 0;
	if (d->remark)
		fprintf(stderr, "werkbank: warning: %s: %s\n", d->path, d->remark);
	if (n_translated)
		return;
	if (!n)
		fprintf(stderr, "werkbank: warning: %s: has no text to translate\n", d->path);
	else
		fprintf(stderr, "werkbank: warning: %s: 0 of %zu units were translated%s\n",
			d->path, n,
			d->remark ? ""
				  : ": they have a translation, are marked to stay, or have no "
				    "words");
}

/* Translates the document, or puts the translations of --post-edited into it. */
static int fill_document(struct passages *p, struct engine *g, const struct decode_options *o,
			 struct terms *terms, struct docfile *d, struct lines *edited,
			 int64_t *n_cut, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < d->n && !rc; i += BATCH_SEGMENTS) {
		const size_t n = MIN(d->n - i, (size_t)BATCH_SEGMENTS);

		if (d->n > BATCH_SEGMENTS && !g->conf->quiet)
			fprintf(stderr, DOCUMENT_PROGRESS "\n", i, d->n);
		rc = edited ? document_put_sentences(p, g, o, d, i, n, edited, e)
			    : translate_segments(p, g, o, terms, d, i, n, n_cut, e);
	}
	return rc || !edited ? rc : document_end_sentences(edited, e);
}

/* The same with the file of --post-edited. */
static int fill_post_edited(struct passages *p, struct engine *g, const struct decode_options *o,
			    struct docfile *d, struct err *e)
{
	struct lines edited;
	int rc;

	if (lines_open(&edited, g->conf->post_edited, e))
		return e->code;
	edited.drops_mark = true;
	rc = fill_document(p, g, o, NULL, d, &edited, NULL, e);
	lines_close(&edited);
	return rc;
}

int document_translate(struct passages *p, struct engine *g, const struct decode_options *options,
		       struct terms *terms, const struct docfile_format *format, const char *path,
		       FILE *out, struct err *e)
{
	struct decode_options o = *options;
	struct docfile d = { 0 };
	int64_t n_cut = 0; /* segments with a sentence that is too long */
	int rc = open_document(&d, g, format, path, e);

	o.alignments = true;
	if (!rc && g->conf->list_sentences) {
		rc = document_list_sentences(p, &d, 0, d.n, out, e);
		docfile_close(&d);
		return rc;
	}
	if (!rc && g->conf->post_edited)
		rc = fill_post_edited(p, g, &o, &d, e);
	else if (!rc)
		rc = fill_document(p, g, &o, terms, &d, NULL, &n_cut, e);
	if (n_cut && !g->conf->quiet)
		fprintf(stderr,
			"werkbank: warning: %lld segments have a sentence that is too long and is "
			"translated in "
			"part: give a larger --decode-tokens\n",
			(long long)n_cut);
	if (!rc)
		rc = docfile_write(&d, out, e);
	if (!rc && !g->conf->quiet)
		tell_units(&d);
	docfile_close(&d);
	return rc;
}
