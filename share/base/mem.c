/* mem.c - see mem.h */
#include "share/base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool mem_mul(size_t a, size_t b, size_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

void *mem_alloc(size_t n, size_t size, struct err *e)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		err_set(e, ERR_NOMEM, "out of memory: %zu elements of %zu bytes were asked for", n,
			size);
	return p;
}

#define HUGE_PAGE ((size_t)2 << 20)

/*
 * Large blocks are read repeatedly, in order or at random. Pages of 2 MiB, where the system grants
 * them on request, save most TLB misses.
 */
static void *alloc_aligned(size_t bytes)
{
	assert(bytes && bytes % 64 == 0); /* aligned_alloc() wants a multiple of the alignment */
#if defined(MADV_HUGEPAGE)
	if (bytes >= 2 * HUGE_PAGE && bytes <= SIZE_MAX - HUGE_PAGE) {
		size_t whole = CEIL_DIV(bytes, HUGE_PAGE) * HUGE_PAGE;
		void *p = aligned_alloc(HUGE_PAGE, whole);

		if (p)
			(void)madvise(p, whole, MADV_HUGEPAGE); /* a hint */
		return p;
	}
#endif
	return aligned_alloc(64, bytes);
}

void *mem_alloc_aligned(size_t n, size_t size, struct err *e)
{
	size_t bytes;
	void *p = NULL;

	if (mem_mul(n, size, &bytes) && bytes <= SIZE_MAX - 64) {
		bytes = CEIL_DIV(MAX(bytes, 1), 64) * 64;
		p = alloc_aligned(bytes);
	}
	if (!p) {
		err_set(e, ERR_NOMEM, "out of memory: %zu elements of %zu bytes were asked for", n,
			size);
		return NULL;
	}
	memset(p, 0, bytes);
	return p;
}

int mem_grow(void *array, size_t *cap, size_t need, size_t size, struct err *e)
{
	size_t new_cap = *cap ? *cap : 16, bytes;
	void *old, *bigger;

	assert(size);
	if (need <= *cap)
		return 0;
	memcpy(&old, array, sizeof(old)); /* a T * of any type T */
	while (new_cap < need && new_cap <= SIZE_MAX / 2)
		new_cap *= 2;
	if (new_cap < need || !mem_mul(new_cap, size, &bytes) || !(bigger = realloc(old, bytes)))
		return err_set(e, ERR_NOMEM,
			       "out of memory: %zu elements of %zu bytes were asked for", need,
			       size);
	memcpy(array, &bigger, sizeof(bigger));
	*cap = new_cap;
	return 0;
}

char *mem_strdup(const char *text, struct err *e)
{
	size_t n = strlen(text) + 1;
	char *copy = mem_alloc(n, 1, e);

	if (copy)
		memcpy(copy, text, n);
	return copy;
}
