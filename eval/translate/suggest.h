/*
 * suggest.h - words that could replace a word of a translation.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_SUGGEST_H
#define WERKBANK_EVAL_TRANSLATE_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode/decode.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"

struct word_suggestion {
	int32_t token;	 /* the first token that differs */
	double log_prob; /* of the token, in nats */
	char *word;	 /* owned: raw text of the whole word; "": the sentence ends */
	char *prefix;	 /* owned: raw text of the translation up to and including the word */
};

/*
 * The *n most probable words at token number at (from 0) of hypothesis h, given the tokens before
 * it. Sets *n to the number found. The caller frees with suggestions_free(); after a failure
 * nothing is left to free.
 */
int suggest_words(struct engine *g, const struct engine_translation *t,
		  const struct decode_hypothesis *h, int32_t at, struct word_suggestion *list,
		  int32_t *n, struct err *e);
void suggestions_free(struct word_suggestion *list, int32_t n);

#endif
