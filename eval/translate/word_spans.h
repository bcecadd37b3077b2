/*
 * word_spans.h - where the words of a translation stand in its text, and the source words they are aligned to
 *
 * Tokens are found in the text again, from left to right: a word as its tokens spell it, or what stands
 * between two words that are found (an unknown token, a character that the normalizer has changed).
 */
#ifndef WERKBANK_EVAL_TRANSLATE_WORD_SPANS_H
#define WERKBANK_EVAL_TRANSLATE_WORD_SPANS_H

#include "eval/document/markup.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"

/*
 * *words: (*n_words) the words of hypothesis h of t, which must have alignments; source: its (n_source) plain text. The
 * caller frees *words, which is NULL after a failure.
 */
int word_spans_find(const struct engine *g, const struct engine_translation *t, int32_t h,
		    const char *source, size_t n_source, struct markup_word **words,
		    size_t *n_words, struct err *e);

/* Appends hypothesis h of t, the translation of m.text, with the mark-up of m. Without mark-up it needs no alignments. */
int segment_write(const struct engine *g, const struct markup *m,
		  const struct engine_translation *t, int32_t h, struct buf *out, struct err *e);

#endif
