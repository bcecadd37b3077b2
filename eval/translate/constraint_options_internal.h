/* constraint_options_internal.h - a helper of constraint_options.c and terms.c. */
#ifndef WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_INTERNAL_H
#define WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_INTERNAL_H

#include "eval/translate/constraint_options.h"

/*
 * Encodes n bytes of raw target text; the caller frees phrase->tokens. ERR_DATA: the text has no
 * words, is too long, or needs a character that the vocabulary lacks.
 */
int encode_target_phrase(struct engine *g, const char *text, size_t n, struct decode_phrase *phrase,
			 struct err *e);

#endif
