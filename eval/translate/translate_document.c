/* translate_document.c - see translate_document.h */
#include "eval/translate/translate_document.h"

#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "eval/translate/word_spans.h"
#include "share/base/mem.h"

#define BATCH_SEGMENTS 1024 /* translated together */

int document_format_wanted(const struct conf *c, const struct docfile_format **format,
			   struct err *e)
{
	const char *path = c->n_arguments > 0 ? c->arguments[0] : "-";
	struct buf names = { 0 };

	*format = NULL;
	if (c->document) {
		*format = docfile_find_format(c->document);
		if (!*format) {
			docfile_list_formats(&names);
			err_set(e, ERR_USAGE,
				"there is no kind of documents \"%.40s\": give one of %s",
				c->document, buf_text(&names));
			buf_free(&names);
			return e->code;
		}
	} else if (c->output && strcmp(path, "-")) {
		*format = docfile_format_of(path);
		if (*format == &docfile_txt) /* lines, as ever */
			*format = NULL;
	}
	if (*format && (c->n_best > 1 || c->scores || c->alignments || c->prefix || c->markup))
		return err_set(e, ERR_USAGE,
			       "a document has no place for --n-best, --scores, --alignments, "
			       "--prefix and --markup: "
			       "leave them out, or translate lines");
	return 0;
}

/* Translates the segments from … from + n - 1. */
static int translate_segments(struct passages *p, const struct engine *g,
			      const struct decode_options *o, struct terms *terms,
			      struct segment *segments, size_t n, int64_t *n_cut, struct err *e)
{
	struct passage_line *lines = mem_alloc(n, sizeof(*lines), e);
	struct passage_result *results = mem_alloc(n, sizeof(*results), e);
	bool is_translated;
	int rc = lines && results ? 0 : e->code;

	for (size_t i = 0; i < n && !rc; i++)
		lines[i] =
			(struct passage_line){ .line = { .text = buf_text(&segments[i].markup.text),
							 .n = segments[i].markup.text.len,
							 .number = i },
					       .terms = terms };
	if (!rc)
		rc = passages_translate(p, o, lines, n, results, e);
	is_translated = !rc;
	for (size_t i = 0; i < n && !rc; i++)
		*n_cut += results[i].joined.result.truncated;
	for (size_t i = 0; i < n && !rc; i++)
		if (results[i].joined.result.n > 0)
			rc = segment_write(g, &segments[i].markup, &results[i].joined, 0,
					   &segments[i].translation, e);
	if (is_translated)
		passages_results_free(results, n);
	free(lines);
	free(results);
	return rc;
}

int document_translate(struct passages *p, const struct engine *g,
		       const struct decode_options *options, struct terms *terms,
		       const struct docfile_format *format, const char *path, FILE *out,
		       struct err *e)
{
	const struct docfile_languages languages = { g->conf->source_language,
						     g->conf->target_language };
	struct decode_options o = *options;
	struct docfile d = { 0 };
	int64_t n_cut = 0; /* segments with a sentence that is too long */
	int rc = docfile_open(&d, path, format, pipeline_protect(g->pipeline), &languages, e);

	o.alignments = true;
	for (size_t i = 0; i < d.n && !rc; i += BATCH_SEGMENTS)
		rc = translate_segments(p, g, &o, terms, d.segments + i,
					MIN(d.n - i, (size_t)BATCH_SEGMENTS), &n_cut, e);
	if (n_cut && !g->conf->quiet)
		fprintf(stderr,
			"werkbank: warning: %lld segments have a sentence that is too long and is "
			"translated in "
			"part: give a larger --decode-tokens\n",
			(long long)n_cut);
	if (!rc)
		rc = docfile_write(&d, out, e);
	docfile_close(&d);
	return rc;
}
