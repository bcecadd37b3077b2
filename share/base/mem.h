/*
 * mem.h - allocation with overflow-checked sizes.
 *
 * Sizes are multiplied only here, so that no product of two counts from a
 * file can overflow. All memory is released with free().
 */
#ifndef WERKBANK_SHARE_BASE_MEM_H
#define WERKBANK_SHARE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#include "share/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *product = a * b; false when it does not fit into size_t. */
bool mem_mul(size_t a, size_t b, size_t *product);

/* n zeroed elements of the given size, owned by the caller; NULL: ERR_NOMEM. n = 0 is allowed. */
void *mem_alloc(size_t n, size_t size, struct err *e);

/* The same, aligned to 64 bytes, for tensors; released with free() too. */
void *mem_alloc_aligned(size_t n, size_t size, struct err *e);

/*
 * Grow an array to at least need elements. array is the address of the array pointer (NULL at
 * first), *cap its capacity in elements, which is doubled; new elements are not zeroed. On failure
 * the old array is unchanged.
 */
int mem_grow(void *array, size_t *cap, size_t need, size_t size, struct err *e);

/* A copy of text, owned by the caller; NULL: ERR_NOMEM. */
char *mem_strdup(const char *text, struct err *e);

#ifdef __cplusplus
}
#endif

#endif
