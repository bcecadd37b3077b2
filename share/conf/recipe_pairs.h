/* recipe_pairs.h - which shipped recipe suits a corpus, by its number of pairs */
#ifndef WERKBANK_SHARE_CONF_RECIPE_PAIRS_H
#define WERKBANK_SHARE_CONF_RECIPE_PAIRS_H

#include <stdint.h>

/*
 * The recipe for a corpus with this number of training pairs, if nothing else is known about it: "small" or "medium". The limit is
 * the range that the recipes state for themselves; medium was not measured. Static.
 */
const char *recipe_for_pairs(int64_t pairs);

/* recipe_for_pairs() in place of a recipe that it can give; any other recipe stays. Borrowed from recipe, or static. */
const char *recipe_suited(const char *recipe, int64_t pairs);

/* The greatest number of training pairs for which recipe_for_pairs() gives this recipe; 0: it never gives it. */
int64_t recipe_pairs_limit(const char *recipe);

#endif
