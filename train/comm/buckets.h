/*
 * buckets.h - the order in which gradients are reduced, and who sums what: pure arithmetic.
 *
 * Backward finishes the arena from its end to its start, so bucket 0 is the end of
 * it. Each bucket is cut into a piece for each rank, which sums it; pieces begin at multiples of
 * COMPRESS_BLOCK, and those of small buckets may be empty. What a rank owns are its pieces of all buckets.
 *
 *	arena    0 |  bucket 2  |    bucket 1     |    bucket 0     | floats
 *	                        | p 0 | p 1 | p 2 |
 */
#ifndef WERKBANK_TRAIN_COMM_BUCKETS_H
#define WERKBANK_TRAIN_COMM_BUCKETS_H

#include <stddef.h>

struct range {
	size_t at, n; /* floats */
};

struct buckets {
	size_t floats, each; /* of the arena, of a bucket */
	size_t count;	     /* of buckets */
	size_t ranks;
};

/* Of about megabytes * 10^6 bytes of fp32 each. */
struct buckets buckets_make(size_t floats, double megabytes, int ranks);
struct range buckets_at(const struct buckets *b, size_t bucket);
size_t buckets_each(const struct buckets *b, size_t bucket); /* of its pieces but the last */
struct range buckets_piece(const struct buckets *b, size_t bucket, int rank);
size_t buckets_owned(const struct buckets *b, int rank); /* floats */
size_t buckets_largest_piece(const struct buckets *b);

#endif
