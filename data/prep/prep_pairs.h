/*
 * prep_pairs.h - iterate over the kept training pairs as words, and over the words as pieces
 *
 * Only prep*.c include this. With more than one thread, source and target columns are read on two
 * threads; the visitor always runs on the calling thread.
 */
#ifndef WERKBANK_DATA_PREP_PREP_PAIRS_H
#define WERKBANK_DATA_PREP_PREP_PAIRS_H

#include <stdint.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/external_shuffle.h"
#include "data/prep/prep_stages.h"
#include "data/shard/shuffle.h"
#include "share/base/buf.h"

struct pair_words {
	int64_t number; /* index among all training pairs, in source order */
	int64_t kept;	/* index among the kept pairs */
	/* [n_source], [n_target] word numbers, borrowed; source begins with the tag of its text */
	const int32_t *source, *target;
	int32_t n_source, n_target;
};

typedef int (*pair_visitor)(void *context, const struct pair_words *pair, struct err *e);

/*
 * Visit every pair whose verdict is CLEAN_KEEP, in source order. verdicts: one byte for each
 * training pair; another number of pairs is ERR_DATA. n_words: size of the word table; larger word
 * numbers are ERR_DATA. Advances the progress.
 */
int prep_each_pair(struct prep *p, const struct buf *verdicts, int32_t n_words, pair_visitor visit,
		   void *context, struct err *e);

typedef int (*word_visitor)(void *context, int32_t word, const char *pieces, size_t n,
			    struct err *e);

/*
 * Visit every word with counts[word] > 0, in the order of the word table, with its pieces of the side joined
 * by single blanks. Encodes on p->threads threads; visits on the calling thread.
 */
int prep_each_word(struct prep *p, enum pipeline_side side, const int64_t *counts,
		   word_visitor visit, void *context, struct err *e);

/* Append work/NAME (the verdicts of all training pairs) to b. */
int prep_read_verdicts(struct prep *p, const char *name, struct buf *b, struct err *e);
int64_t prep_count_kept(const struct buf *verdicts);

/*
 * An external shuffle of the pairs that work/verdicts.final keeps, by `order`: into the order of
 * train.shard. o: limit and expected_bytes are set. *final: the verdicts. NULL: failure.
 */
struct external_shuffle *prep_open_shuffle(struct prep *p, struct external_shuffle_options *o,
					   struct buf *final, struct shuffle *order, struct err *e);

/* Numbers of work/counts: one for each word and subword model. */
size_t prep_counts(const struct prep *p, int32_t n_words);
/* Read work/counts, of the source first; owned by the caller; NULL: failure. */
int64_t *prep_read_counts(struct prep *p, int32_t n_words, struct err *e);

#endif
