/*
 * external_shuffle.h - permute sentence pairs on the disk, in bounded memory
 *
 * The caller puts n pairs in any order, each with its position 0 ... n-1 in the result;
 * external_shuffle_run() then visits all pairs in the order of their positions. A pair is two
 * sequences of numbers (token ids or words). Positions are divided into buckets; each bucket has a
 * temporary file, which is appended to sequentially and later read back whole. The files are
 * unlinked at once, so nothing stays behind, however the program ends.
 */
#ifndef WERKBANK_DATA_PREP_EXTERNAL_SHUFFLE_H
#define WERKBANK_DATA_PREP_EXTERNAL_SHUFFLE_H

#include <stdint.h>

#include "share/base/err.h"

struct external_shuffle;

struct external_shuffle_options {
	const char *stem;	/* files are created as STEM.0, STEM.1, ... and unlinked */
	int64_t n_pairs;	/* n */
	int64_t expected_bytes; /* estimate for all pairs: 2 or 4 bytes a number */
	int64_t bucket_bytes;	/* approximate size of a bucket, three are in memory; 0: 32 MB */
	int64_t limit;		/* numbers are in 0 ... limit - 1; up to 65,536 they take 2 bytes */
	int threads;		/* 1: all work on the calling thread */
};

/* Copies o; o->stem is used in this call only. NULL: failure. */
struct external_shuffle *external_shuffle_new(const struct external_shuffle_options *o,
					      struct err *e);

/* Call once for each position 0 ... n_pairs - 1, in any order. */
int external_shuffle_put(struct external_shuffle *p, int64_t position, const int32_t *source,
			 int32_t n_source, const int32_t *target, int32_t n_target, struct err *e);

/*
 * Visit all pairs in the order of their positions, one call each. A position without a pair, or
 * with two: ERR_INTERNAL. At most once, after all puts. The arrays are borrowed during the call.
 */
typedef int (*shuffled_pair_visitor)(void *context, const int32_t *source, int32_t n_source,
				     const int32_t *target, int32_t n_target, struct err *e);
int external_shuffle_run(struct external_shuffle *p, shuffled_pair_visitor visit, void *context,
			 struct err *e);

void external_shuffle_free(struct external_shuffle *p);

#endif
