/*
 * shuffle.h - a random permutation of 0 … n-1 without a table.
 *
 *	struct shuffle s = shuffle_make(n, rng_key_make(seed, RNG_SHUFFLE, epoch, 0));
 *	for (i = 0; i < n; i++) … shuffle_at(&s, i) …		every number below n exactly once
 *
 * The row and the column of i in a grid of a * b >= n cells go through a Feistel network, again
 * and again until the result is below n (cycle walking; Black and Rogaway 2002, "Ciphers with
 * arbitrary finite domains"). Each element takes about 20 ns and no other elements, so a loader
 * can start anywhere in an epoch. The permutation depends on n and key only.
 */
#ifndef WERKBANK_DATA_SHARD_SHUFFLE_H
#define WERKBANK_DATA_SHARD_SHUFFLE_H

#include <stdint.h>

#include "share/base/rng.h"

#define SHUFFLE_ROUNDS 6

struct shuffle {
	uint64_t n;
	uint32_t a, b; /* columns and rows: a * b >= n, and < n + a unless n is tiny */
	uint32_t key[SHUFFLE_ROUNDS];
};

/* n must be in 0 … 2^62. */
struct shuffle shuffle_make(int64_t n, struct rng_key key);

/* Element i of the permutation; 0 <= i < n. */
int64_t shuffle_at(const struct shuffle *s, int64_t i);

/* The inverse: shuffle_at(s, shuffle_inverse_at(s, j)) == j; 0 <= j < n. */
int64_t shuffle_inverse_at(const struct shuffle *s, int64_t j);

#endif
