/*
 * arena_plan.c - divides an arena into arrays; see model_internal.h
 *
 * A plan is made twice by the same calls: first without memory, which only counts bytes, then with the
 * arena of that size. Each array starts at a multiple of 64 bytes, a cache line.
 */
#include <assert.h>

#include "share/base/mem.h"
#include "train/model/sublayer.h"

void *arena_plan_array(struct arena_plan *c, int64_t n, size_t size)
{
	size_t bytes, end;
	void *p = c->base ? c->base + c->used : NULL;

	if (!mem_mul((size_t)n, size, &bytes) || bytes > SIZE_MAX / 2 ||
	    __builtin_add_overflow(c->used, (bytes + 63) / 64 * 64, &end) || end > SIZE_MAX / 2) {
		c->overflow = true;
		return NULL;
	}
	c->used = end;
	return p;
}

static struct tensor plan_tensor_of(struct arena_plan *c, int64_t rows, int64_t cols,
				    enum dtype dtype)
{
	size_t n;

	assert(rows >= 0 && cols > 0);
	if (!mem_mul((size_t)rows, (size_t)cols, &n) || n > INT64_MAX)
		c->overflow = true;
	return (struct tensor){
		.data = c->overflow ? NULL : arena_plan_array(c, rows * cols, dtype_bytes(dtype)),
		.rows = rows,
		.cols = cols,
		.stride = cols,
		.dtype = dtype,
	};
}

struct tensor model_plan_floats(struct arena_plan *c, int64_t rows, int64_t cols)
{
	return plan_tensor_of(c, rows, cols, DTYPE_F32);
}

struct tensor model_plan_tensor(struct arena_plan *c, int64_t rows, int64_t cols)
{
	return plan_tensor_of(c, rows, cols, c->dtype);
}
