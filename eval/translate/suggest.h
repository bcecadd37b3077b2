/*
 * suggest.h - other words that could stand at a place of a translation.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SUGGEST_H
#define WERKBANK_EVAL_TRANSLATE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"

/* A word that could stand somewhere. */
struct word_suggestion {
	int32_t token;
	double log_prob; /* of the token, nats */
	char *word;	 /* owned: raw text; "": the sentence ends */
	char *prefix;	 /* owned: raw text of all up to and with the word */
};

/*
 * The *n best suggestions, at most that many, for token number at (from 0) of a translation, given
 * the tokens before it.
 */
int suggest_words(struct engine *g, const struct engine_translation *t,
		  const struct decode_hypothesis *h, int32_t at, struct word_suggestion *list,
		  int32_t *n, struct err *e);
void suggestions_free(struct word_suggestion *list, int32_t n);

#endif
