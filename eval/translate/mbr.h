/*
 * mbr.h - minimum Bayes risk: of the hypotheses of a sentence, the one most like all of them.
 *
 * The utility of a hypothesis is the mean chrF2 (chrf.h) against all hypotheses of the sentence, itself
 * included (Kumar and Byrne 2004; Eikema and Aziz 2020): samples stand for the model's distribution.
 */
#ifndef WERKBANK_EVAL_TRANSLATE_MBR_H
#define WERKBANK_EVAL_TRANSLATE_MBR_H

#include <stddef.h>
#include <stdint.h>

#include "eval/translate/engine.h"
#include "share/base/err.h"

/*
 * Sorts the hypotheses of each translation by falling utility, equal ones as they were, and keeps the first `keep`.
 * Their score becomes the utility, 0 ... 100.
 */
int mbr_choose(struct engine_translation *translations, size_t n, int32_t keep, struct err *e);

#endif
