/* slots.c - see slots.h */
#include "data/words/slots.h"

#include <stdlib.h>

#include "share/base/mem.h"

int slots_grow(uint64_t **slots, size_t *n_slots, size_t first, struct err *e)
{
	size_t n = *n_slots ? *n_slots * 2 : first;
	uint64_t *more = mem_alloc(n, sizeof(*more), e);

	if (!more)
		return e->code;
	for (size_t i = 0; i < *n_slots; i++) {
		const uint64_t s = (*slots)[i];
		size_t at = (size_t)(s >> 32) & (n - 1);

		if (!s)
			continue;
		while (more[at])
			at = (at + 1) & (n - 1);
		more[at] = s;
	}
	free(*slots);
	*slots = more;
	*n_slots = n;
	return 0;
}
