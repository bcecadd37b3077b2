/*
 * external_shuffle.h - pairs put in any order, given back in the order of their places, in bounded memory.
 *
 * A pair is two sequences of numbers (token ids, or words). The places 0 … n-1 are cut
 * into runs; the pairs of each run are appended to a file of its own, and later
 * each file is read whole, its pairs are ordered in memory and handed on. So everything is
 * written and read once, front to back, whatever the order. The files have no names
 * while they are in use, so that nothing stays behind, however the program ends.
 */
#ifndef WERKBANK_DATA_PREP_EXTERNAL_SHUFFLE_H
#define WERKBANK_DATA_PREP_EXTERNAL_SHUFFLE_H

#include <stdint.h>

#include "share/base/err.h"

struct external_shuffle;

struct external_shuffle_options {
	const char *stem;	/* the files are made as STEM.0, STEM.1, … */
	int64_t places;		/* n */
	int64_t expected_bytes; /* of all pairs, about: 2 or 4 a number */
	int64_t bucket_bytes;	/* of a file, about; it is in memory three times. 0: 32 MB */
	int64_t limit;		/* numbers are in 0 … limit - 1; up to 65,536 they take 2 bytes */
	int threads;		/* 1: everything on the calling thread */
};

/* NULL: failure. */
struct external_shuffle *external_shuffle_new(const struct external_shuffle_options *o,
					      struct err *e);

/* Once for each place. */
int external_shuffle_put(struct external_shuffle *p, int64_t place, const int32_t *source,
			 int32_t n_source, const int32_t *target, int32_t n_target, struct err *e);

/*
 * All pairs in the order of their places, one call each. Places without a pair, or
 * with two: ERR_INTERNAL. Once, at the end.
 */
typedef int (*shuffled_pair_visitor)(void *context, const int32_t *source, int32_t n_source,
				     const int32_t *target, int32_t n_target, struct err *e);
int external_shuffle_run(struct external_shuffle *p, shuffled_pair_visitor take, void *context,
			 struct err *e);

void external_shuffle_free(struct external_shuffle *p);

#endif
