/*
 * buckets.c - how the gradient arena is cut into buckets and pieces; see buckets.h
 *
 * All ranks compute the same cuts from the size of the arena, the size of a bucket and the number of
 * ranks alone; nothing is exchanged. Large buckets use the network well, small ones begin to be sent
 * earlier: the size is an option (bucket_mb).
 */
#include "train/comm/buckets.h"

#include <assert.h>

#include "share/base/util.h"
#include "train/comm/compress.h"

static size_t buckets_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

struct buckets buckets_make(size_t floats, double megabytes, int ranks)
{
	struct buckets b = { .floats = floats, .ranks = (size_t)ranks };
	const double wanted = megabytes * 1e6 / sizeof(float);

	assert(ranks >= 1);
	b.each = wanted < (double)floats ? buckets_round_up((size_t)wanted + 1, COMPRESS_BLOCK)
					 : buckets_round_up(MAX(floats, (size_t)1), COMPRESS_BLOCK);
	b.count = (floats + b.each - 1) / b.each;
	return b;
}

/*
 * Buckets start at multiples of their size, so the one at the start of the arena is full. Only
 * bucket 0, at the end of the arena, may be shorter.
 */
struct range buckets_at(const struct buckets *b, size_t bucket)
{
	const size_t at = (b->count - 1 - bucket) * b->each;

	assert(bucket < b->count);
	assert(at < b->floats);
	return (struct range){ at, MIN(b->each, b->floats - at) };
}

size_t buckets_piece_floats(const struct buckets *b, size_t bucket)
{
	return buckets_round_up((buckets_at(b, bucket).n + b->ranks - 1) / b->ranks,
				COMPRESS_BLOCK);
}

struct range buckets_piece(const struct buckets *b, size_t bucket, int rank)
{
	const struct range whole = buckets_at(b, bucket);
	const size_t each = buckets_piece_floats(b, bucket);
	const size_t from = MIN(each * (size_t)rank, whole.n);

	assert(rank >= 0 && (size_t)rank < b->ranks);
	return (struct range){ whole.at + from, MIN(each, whole.n - from) };
}

size_t buckets_owned(const struct buckets *b, int rank)
{
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++)
		n += buckets_piece(b, i, rank).n;
	return n;
}

size_t buckets_largest_piece(const struct buckets *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->count; i++)
		n = MAX(n, buckets_piece(b, i, 0).n);
	return n;
}
