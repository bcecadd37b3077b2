/* cpu_top.h - the best few numbers of many, kept in order while they go by. */
#ifndef WERKBANK_KERNELS_CPU_CPU_TOP_H
#define WERKBANK_KERNELS_CPU_CPU_TOP_H

#include <stdint.h>

#include "share/base/util.h"

/* x comes to its place in the falling list of at most k, of which there are n. */
static inline int32_t cpu_top_put(float *values, int32_t *ids, int32_t n, int32_t k, float x,
				  int32_t id, int32_t place)
{
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

/* Puts x into the list; equal ones stay behind. */
static inline int32_t cpu_top_insert(float *values, int32_t *ids, int32_t n, int32_t k, float x,
				     int32_t id)
{
	int32_t place = n;

	while (place > 0 && x > values[place - 1])
		place--;
	return cpu_top_put(values, ids, n, k, x, id, place);
}

/* The same for ids that do not come in order: equal ones are ordered by id. */
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
