/* shuffle.c - a Feistel network with cycle walking: see shuffle.h */
#include "data/shard/shuffle.h"

#include <assert.h>
#include <math.h>

#include "share/base/util.h"

struct shuffle shuffle_make(int64_t n, struct rng_key key)
{
	struct shuffle s = { .n = (uint64_t)n };
	uint64_t a = (uint64_t)sqrt((double)n);

	while (a > 1 && a * a > s.n) /* sqrt() of a rounded n may be one too large */
		a--;
	/* At least 16 by 16: on a small grid the network reaches only few permutations. */
	s.a = (uint32_t)MAX(a, 16);
	s.b = (uint32_t)MAX(CEIL_DIV(s.n, s.a), 16);
	assert((uint64_t)s.a * s.b >= s.n);
	for (uint32_t i = 0; i < SHUFFLE_ROUNDS; i++)
		s.key[i] = rng_u32(key, i);
	return s;
}

/* A pseudo-random number below limit: the finaliser of murmur3, then a multiplication as modulo. */
static inline uint32_t mix_below(uint32_t x, uint32_t key, uint32_t limit)
{
	x ^= key;
	x ^= x >> 16;
	x *= 0x85EBCA6Bu;
	x ^= x >> 13;
	x *= 0xC2B2AE35u;
	x ^= x >> 16;
	return (uint32_t)((uint64_t)x * limit >> 32);
}

static inline uint32_t add_below(uint32_t x, uint32_t y, uint32_t limit)
{
	uint64_t sum = (uint64_t)x + y;

	return (uint32_t)(sum >= limit ? sum - limit : sum);
}

int64_t shuffle_at(const struct shuffle *s, int64_t i)
{
	uint64_t x = (uint64_t)i;

	assert(x < s->n); /* else the walk might never end */
	do {
		uint32_t left = (uint32_t)(x % s->a), right = (uint32_t)(x / s->a);

		for (int r = 0; r < SHUFFLE_ROUNDS; r += 2) {
			left = add_below(left, mix_below(right, s->key[r], s->a), s->a);
			right = add_below(right, mix_below(left, s->key[r + 1], s->b), s->b);
		}
		x = (uint64_t)right * s->a + left;
	} while (x >= s->n);
	return (int64_t)x;
}

static inline uint32_t subtract_below(uint32_t x, uint32_t y, uint32_t limit)
{
	return x >= y ? x - y : (uint32_t)((uint64_t)x + limit - y);
}

/* The same rounds in reverse order; each subtracts what shuffle_at() adds. */
int64_t shuffle_inverse_at(const struct shuffle *s, int64_t j)
{
	uint64_t x = (uint64_t)j;

	assert(x < s->n);
	do {
		uint32_t left = (uint32_t)(x % s->a), right = (uint32_t)(x / s->a);

		for (int r = SHUFFLE_ROUNDS - 2; r >= 0; r -= 2) {
			right = subtract_below(right, mix_below(left, s->key[r + 1], s->b), s->b);
			left = subtract_below(left, mix_below(right, s->key[r], s->a), s->a);
		}
		x = (uint64_t)right * s->a + left;
	} while (x >= s->n);
	return (int64_t)x;
}
