/*
 * translate_document.h - the command "translate" for documents: the same kind of file with the text translated
 *
 * The kind comes from --document, or from the ending of the file's name if there is --output.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_TRANSLATE_DOCUMENT_H
#define WERKBANK_EVAL_TRANSLATE_TRANSLATE_DOCUMENT_H

#include <stdio.h>

#include "eval/document/docfile.h"
#include "eval/translate/passages.h"

/* *format: of the document that c asks for; NULL: it asks for lines. ERR_USAGE: c also asks for columns. */
int document_format_wanted(const struct conf *c, const struct docfile_format **format,
			   struct err *e);

/*
 * Translates the file at path (NULL: standard input) into out, as --list-sentences and --post-edited say. The caller checks
 * the stream.
 */
int document_translate(struct passages *p, struct engine *g, const struct decode_options *o,
		       struct terms *terms, const struct docfile_format *format, const char *path,
		       FILE *out, struct err *e);

/* ---- for callers that decode themselves (serve_stream.c) ---- */

/* The segments from … from + n - 1 as lines, which borrow them. */
void document_list_lines(const struct docfile *d, size_t from, size_t n, struct terms *terms,
			 struct passage_line *lines);
/* Puts the translations of these lines, which have alignments, into the segments; blank ones leave their segment as it is. */
int document_take_results(const struct engine *g, struct docfile *d, size_t from, size_t n,
			  const struct passage_result *results, struct err *e);

#endif
