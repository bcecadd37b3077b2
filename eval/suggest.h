/*
 * suggest.h - what a translation may be made of: phrases that users name, and other words that
 * could stand at a place.
 */
#ifndef WERKBANK_EVAL_SUGGEST_H
#define WERKBANK_EVAL_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

#include "eval/decode.h"
#include "eval/engine.h"
#include "eval/forbid.h"
#include "share/base/err.h"

/* Phrases of the target language, as a search wants them. Zeroed: none. */
struct phrases {
	struct decode_phrase all[DECODE_MAX_PHRASES];
	int32_t n;
};

/*
 * One more, raw text. ERR_DATA: more than DECODE_MAX_PHRASES; nothing in it; not in the model's
 * vocabulary.
 */
int  phrases_add(struct phrases *p, struct engine *g, const char *text, size_t n, struct err *e);
/* ERR_DATA: one of them contains what is forbidden. */
int  phrases_agree(const struct phrases *p, const struct engine *g, const struct forbid *f,
		   struct err *e);
void phrases_free(struct phrases *p);

/* A word that could stand somewhere. */
struct suggestion {
	int32_t token;
	double  log_prob;	/* of the token, nats */
	char   *word;		/* owned: raw text; "": the sentence ends */
	char   *prefix;		/* owned: raw text of all up to and with the word */
};

/*
 * The *n best suggestions, at most that many, for token number at (from 0) of a translation, given
 * the tokens before it.
 */
int  suggest(struct engine *g, const struct engine_translation *t,
	     const struct decode_hypothesis *h, int32_t at, struct suggestion *list, int32_t *n,
	     struct err *e);
void suggestions_free(struct suggestion *list, int32_t n);

#endif
