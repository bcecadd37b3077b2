/* recipe_pairs.h - which shipped recipe suits a corpus, by its number of pairs */
#ifndef WERKBANK_SHARE_CONF_RECIPE_PAIRS_H
#define WERKBANK_SHARE_CONF_RECIPE_PAIRS_H

#include <stdint.h>

/*
 * The recipe for a corpus of that many training pairs, of which nothing else is known: "small" or "medium". Measured:
 * section "Which recipe" of share/doc/your-own-corpus.md. Static.
 */
const char *recipe_for_pairs(int64_t pairs);

/* The most training pairs for which recipe_for_pairs() gives this recipe; 0: it never gives it. */
int64_t recipe_pairs_limit(const char *recipe);

#endif
