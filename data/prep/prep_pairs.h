/*
 * prep_pairs.h - the pairs of the training text as words, and the words as pieces, one after the
 * other; only prep*.c include this.
 *
 * Both sides are read in step, each on a thread of its own where there are threads.
 */
#ifndef WERKBANK_DATA_PREP_PREP_PAIRS_H
#define WERKBANK_DATA_PREP_PREP_PAIRS_H

#include <stdint.h>

#include "data/prep/prep_stages.h"
#include "share/base/buf.h"

struct pair_words {
	int64_t number;			/* of the pair, in the order of the sources, from 0 */
	int64_t kept;			/* the same among the pairs that are given */
	const int32_t *source, *target; /* borrowed during the call */
	int32_t n_source, n_target;
};

typedef int (*pair_visitor)(void *context, const struct pair_words *pair, struct err *e);

/*
 * Give every pair whose verdict is CLEAN_KEEP; numbers of words are below n_words. verdicts: a
 * byte for each pair of the training texts, of which there must be exactly as many (else
 * ERR_DATA). Moves the progress on.
 */
int prep_each_pair(struct prep *p, const struct buf *verdicts, int32_t n_words, pair_visitor visit,
		   void *context, struct err *e);

typedef int (*word_visitor)(void *context, int32_t word, const char *pieces, size_t n,
			    struct err *e);

/*
 * Give the pieces of every word of the table with a count above 0, joined by one blank, in the
 * order of the words. Found on p->threads threads.
 */
int prep_each_word(struct prep *p, const int64_t *counts, word_visitor visit, void *context,
		   struct err *e);

/* work/NAME, verdicts of all pairs, appended to b. */
int prep_read_verdicts(struct prep *p, const char *name, struct buf *b, struct err *e);
int64_t prep_count_kept(const struct buf *verdicts);

/* work/counts; owned by the caller; NULL: failure. */
int64_t *prep_read_counts(struct prep *p, int32_t n_words, struct err *e);

#endif
