/* constraint_options_internal.h - what constraint_options.c and terms.c share. */
#ifndef WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_INTERNAL_H
#define WERKBANK_EVAL_TRANSLATE_CONSTRAINT_OPTIONS_INTERNAL_H

#include "eval/translate/constraint_options.h"

/* Tokens (owned by the caller) of raw text of the target language; ERR_DATA: it cannot be said. */
int encode_target_phrase(struct engine *g, const char *text, size_t n, struct decode_phrase *phrase,
			 struct err *e);

#endif
