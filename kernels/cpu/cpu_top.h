/* cpu_top.h - a sorted list of the k greatest numbers seen so far. */
#ifndef WERKBANK_KERNELS_CPU_CPU_TOP_H
#define WERKBANK_KERNELS_CPU_CPU_TOP_H

#include <assert.h>
#include <stdint.h>

#include "share/base/util.h"

/*
 * Insert x at `place` of a falling list with n of at most k entries; the last entry of a full list
 * drops out. Returns the new n.
 */
static inline int32_t cpu_top_put(float *values, int32_t *ids, int32_t n, int32_t k, float x,
				  int32_t id, int32_t place)
{
	assert(0 <= place && place <= n && n <= k);
	if (place == k)
		return n;
	for (int32_t i = MIN(n, k - 1); i > place; i--) {
		values[i] = values[i - 1];
		ids[i] = ids[i - 1];
	}
	values[place] = x;
	ids[place] = id;
	return MIN(n + 1, k);
}

/* Insert x after equal entries: for ids that arrive in rising order. */
static inline int32_t cpu_top_insert(float *values, int32_t *ids, int32_t n, int32_t k, float x,
				     int32_t id)
{
	int32_t place = n;

	while (place > 0 && x > values[place - 1])
		place--;
	return cpu_top_put(values, ids, n, k, x, id, place);
}

/* Insert x; equal entries are ordered by id: for ids that arrive in any order. */
static inline int32_t cpu_top_merge(float *values, int32_t *ids, int32_t n, int32_t k, float x,
				    int32_t id)
{
	int32_t place = n;

	while (place > 0 &&
	       (x > values[place - 1] || (x == values[place - 1] && id < ids[place - 1])))
		place--;
	return cpu_top_put(values, ids, n, k, x, id, place);
}

#endif
