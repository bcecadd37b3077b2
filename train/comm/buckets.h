/*
 * buckets.h - how the gradient arena is cut into buckets and pieces: pure arithmetic.
 *
 * The backward pass finishes the arena from its end to its start, so bucket 0 is the end of the
 * arena and is reduced first. Each bucket is cut into one piece for each rank; the rank sums and
 * owns this piece. Pieces begin at multiples of COMPRESS_BLOCK. In small buckets the pieces of
 * the last ranks may be shorter or empty.
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
	size_t floats; /* of the arena */
	size_t each;   /* floats of a bucket; only bucket 0 may be shorter */
	size_t count;  /* of buckets */
	size_t ranks;
};

/* Buckets of about megabytes * 10^6 bytes of fp32. floats: of the arena; ranks: at least 1. */
struct buckets buckets_make(size_t floats, double megabytes, int ranks);
/* The range of a bucket in the arena. */
struct range buckets_at(const struct buckets *b, size_t bucket);
/* Floats of each piece of a bucket, except of the last pieces, which may be shorter. */
size_t buckets_piece_floats(const struct buckets *b, size_t bucket);
/* The range in the arena that rank owns of a bucket; n may be 0. */
struct range buckets_piece(const struct buckets *b, size_t bucket, int rank);
/* Floats of all pieces of a rank. */
size_t buckets_owned(const struct buckets *b, int rank);
/* Floats of the largest piece of any bucket. */
size_t buckets_largest_piece(const struct buckets *b);

#endif
