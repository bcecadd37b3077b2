/*
 * unknown_words.h - words of a prefix that the vocabulary lacks
 *
 * The decoder chooses <unk> never; a prefix may force it. Its pieces are then written as the prefix has them.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_UNKNOWN_WORDS_H
#define WERKBANK_EVAL_TRANSLATE_UNKNOWN_WORDS_H

#include "eval/translate/engine.h"
#include "share/base/err.h"

/* The raw text of hypothesis h of t, the translation of a line. The caller frees it; NULL: failure. */
char *unknown_words_text(const struct engine *g, const struct engine_line *line,
			 const struct engine_translation *t, int32_t h, struct err *e);

#endif
