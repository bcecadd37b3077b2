/*
 * side_likeness.h - are source and target of a held-out set swapped?
 *
 * Swapped files of a held-out set or of the training text keep BLEU near 0 for a whole training. Token
 * counts show them: a text resembles other texts of its language. The likeness of two texts is the
 * cosine of their token counts, from 0 to 1.
 *
 *	side_likeness_open(&l, vocabulary, e);
 *	for each training pair: side_likeness_add(&l, true, ...);
 *	for each held-out set:
 *		side_likeness_begin_set(&l);
 *		for each pair: side_likeness_add(&l, false, ...);
 *		side_likeness_is_swapped(&l, likeness);
 *	side_likeness_free(&l);
 */
#ifndef WERKBANK_DATA_PREP_SIDE_LIKENESS_H
#define WERKBANK_DATA_PREP_SIDE_LIKENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"

#define LIKENESS_PAIRS	200000 /* only the first training pairs count; they are shuffled */
#define LIKENESS_TOKENS 200    /* fewer tokens in one of the four texts: no verdict */
#define LIKENESS_MARGIN 0.1    /* least difference between the likeness with either side */

struct side_likeness {
	int32_t n; /* number of token ids: 0 to n - 1 */
	uint32_t *counts
		[2]
		[2]; /* owned: (n) counts; [0: held-out set, 1: training][0: source, 1: target] */
	int64_t tokens[2][2]; /* sums of the counts */
	int64_t training_pairs;
};

/* n: size of the vocabulary. ERR_NOMEM. Call side_likeness_free() after a failure too. */
int side_likeness_open(struct side_likeness *l, int32_t n, struct err *e);
void side_likeness_free(struct side_likeness *l);

/* Clear the counts of the held-out set. */
void side_likeness_begin_set(struct side_likeness *l);
/* Count the tokens of a pair; all ids are below n. */
void side_likeness_add(struct side_likeness *l, bool is_training, const int32_t *source,
		       int32_t n_source, const int32_t *target, int32_t n_target);

/*
 * Are the sides swapped? True if the source of the set resembles the training target more than the
 * training source, and the target of the set the training source, both by LIKENESS_MARGIN.
 * likeness[i][j]: of side i of the set with side j of the training text; 0: source, 1: target.
 */
bool side_likeness_is_swapped(const struct side_likeness *l, double likeness[2][2]);

#endif
