/*
 * side_likeness.h - are source and target of a held-out set swapped?
 *
 * A set whose two files are swapped, or a training text whose are, gives a BLEU near 0 after hours of
 * training. The frequencies of tokens show it: a text resembles other text of its language. The
 * likeness of two texts is the cosine of their token counts, from 0 to 1.
 *
 *	side_likeness_open(&l, vocabulary, e);
 *	side_likeness_add(&l, true, ...) for each training pair; the first LIKENESS_PAIRS count
 *	for each set: side_likeness_begin(&l); side_likeness_add(&l, false, ...); side_likeness_is_swapped(&l, likeness)
 *	side_likeness_free(&l);
 */
#ifndef WERKBANK_DATA_PREP_SIDE_LIKENESS_H
#define WERKBANK_DATA_PREP_SIDE_LIKENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "share/base/err.h"

#define LIKENESS_PAIRS	200000 /* training pairs that count, in their shuffled order */
#define LIKENESS_TOKENS 200    /* fewer on a side of the set or of the training text: no verdict */
#define LIKENESS_MARGIN 0.1    /* by so much both sides must resemble the wrong side more */

struct side_likeness {
	int32_t n;		/* ids are from 0 to n - 1 */
	uint32_t *counts[2][2]; /* owned: of the held-out set and of training; source, target */
	int64_t tokens[2][2];	/* sums of the counts */
	int64_t training_pairs;
};

/* Free it also after a failure. */
int side_likeness_open(struct side_likeness *l, int32_t n, struct err *e);
void side_likeness_free(struct side_likeness *l);

/* Forget the held-out set. */
void side_likeness_begin(struct side_likeness *l);
/* Count a pair; all ids are below n. */
void side_likeness_add(struct side_likeness *l, bool is_training, const int32_t *source,
		       int32_t n_source, const int32_t *target, int32_t n_target);

/*
 * Does the source of the held-out set resemble the training target clearly more than the training
 * source, and its target the training source? likeness[i][j]: of side i of the set with side j of
 * training.
 */
bool side_likeness_is_swapped(const struct side_likeness *l, double likeness[2][2]);

#endif
