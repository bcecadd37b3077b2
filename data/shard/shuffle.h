/*
 * shuffle.h - a permutation of 0 … n-1 that takes no memory.
 *
 *	struct shuffle s = shuffle_make(n, rng_key_make(seed, RNG_SHUFFLE, epoch, 0));
 *	for (i = 0; i < n; i++) … shuffle_at(&s, i) …		every number below n exactly once
 *
 * A Feistel network over the two digits of i in a grid just above n, walked
 * until it lands below n (Black and Rogaway 2002, "Ciphers with arbitrary
 * finite domains"). Any element can be asked for alone, in some 20 ns, so a
 * loader can start anywhere in an epoch of any size. Depends on n and key only.
 */
#ifndef WERKBANK_DATA_SHARD_SHUFFLE_H
#define WERKBANK_DATA_SHARD_SHUFFLE_H

#include <stdint.h>

#include "share/base/rng.h"

#define SHUFFLE_ROUNDS 6

struct shuffle {
	uint64_t n;
	uint32_t a, b; /* the grid: a * b >= n, and less than n + a unless n is tiny */
	uint32_t key[SHUFFLE_ROUNDS];
};

/* n must be in 0 … 2^62. */
struct shuffle shuffle_make(int64_t n, struct rng_key key);

/* Where item i of the shuffled order comes from; 0 <= i < n. */
int64_t shuffle_at(const struct shuffle *s, int64_t i);

/* Where item j goes to: shuffle_at(s, shuffle_inverse_at(s, j)) is j; 0 <= j < n. */
int64_t shuffle_inverse_at(const struct shuffle *s, int64_t j);

#endif
