/* steer_internal.h - what steer.c and terms.c share. */
#ifndef WERKBANK_EVAL_STEER_INTERNAL_H
#define WERKBANK_EVAL_STEER_INTERNAL_H

#include "eval/steer.h"

/* Tokens (owned by the caller) of raw text of the target language; ERR_DATA: it cannot be said. */
int steer_encode(struct engine *g, const char *text, size_t n, struct decode_phrase *phrase,
		 struct err *e);

#endif
