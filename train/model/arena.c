/* arena.c - host access to the model's flat arrays; see arena.h */
#include "train/model/arena.h"

#include <assert.h>

bool arena_is_host(const struct model *m)
{
	return !model_get_ops(m)->has_device_memory;
}

const float *arena_view_const(const struct model *m, const float *x, float *room, size_t n)
{
	if (arena_is_host(m))
		return x;
	assert(room);
	model_get_ops(m)->to_host(model_get_dev(m), room, x, n * sizeof(*x));
	return room;
}

float *arena_view(const struct model *m, float *x, float *room, size_t n)
{
	return arena_view_const(m, x, room, n) == x ? x : room;
}

void arena_write_back(const struct model *m, float *x, const float *view, size_t n)
{
	if (view != x && n)
		model_get_ops(m)->to_device(model_get_dev(m), x, view, n * sizeof(*x));
}
