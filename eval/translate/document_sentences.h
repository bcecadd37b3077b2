/*
 * document_sentences.h - the sentences of a document as lines, and translations of them that a person has checked
 *
 * Sentences are those that "translate" translates one by one, without mark-up, on one line each. A file of post-edited
 * translations has a line "SOURCE TAB TRANSLATION" for each of them, as the workbench keeps them (tui/translate/document.h).
 */
#ifndef WERKBANK_EVAL_TRANSLATE_DOCUMENT_SENTENCES_H
#define WERKBANK_EVAL_TRANSLATE_DOCUMENT_SENTENCES_H

#include <stdio.h>

#include "eval/document/docfile.h"
#include "eval/translate/passages.h"
#include "share/base/lines.h"

/* Writes the sentences of the segments from … from + n - 1. The caller checks the stream. */
int document_list_sentences(struct passages *p, const struct docfile *d, size_t from, size_t n,
			    FILE *out, struct err *e);
/*
 * Puts the translations of the next lines of `edited` into these segments; the model aligns their words. ERR_DATA: a
 * line has no tab, or another source, or lines are missing.
 */
int document_put_sentences(struct passages *p, struct engine *g, const struct decode_options *o,
			   struct docfile *d, size_t from, size_t n, struct lines *edited,
			   struct err *e);
/* ERR_DATA: lines are left. */
int document_end_sentences(struct lines *edited, struct err *e);

#endif
