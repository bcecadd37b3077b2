/*
 * phrase_places.h - which sentence of a line gets each of its forced phrases
 *
 * A line of several sentences is translated sentence by sentence (passages.h), and a phrase that the user forces belongs
 * to one of them. Nobody says to which one, so each sentence is translated without and with the phrase: it goes
 * to the sentence whose log-probability it lowers least. n sentences and k phrases take n (k + 1) translations.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_PHRASE_PLACES_H
#define WERKBANK_EVAL_TRANSLATE_PHRASE_PLACES_H

#include "eval/translate/constraint_options.h"
#include "eval/translate/engine.h"
#include "share/base/err.h"

/*
 * Adds each phrase of line to the phrases of one of these n sentences (n > 1), before their terms. A sentence that has
 * DECODE_MAX_PHRASES loses its last term: *left counts them. sentences[i] borrows phrases[i], which borrow the tokens.
 * ERR_USAGE: too many sentences.
 */
int place_forced_phrases(struct engine *g, const struct decode_options *o,
			 const struct engine_line *line, struct engine_line *sentences,
			 struct phrases *phrases, size_t n, int32_t *left, struct err *e);

#endif
