/*
 * arena.h - host access to the model's flat arrays (weights, gradients, moments).
 *
 * The arrays are in the backend's memory; files and messages between ranks need them in host
 * memory. With a CPU backend the view of a range is the range itself, without a copy. With a GPU
 * the view is a copy in a buffer of the caller.
 *
 *	float *view = arena_view(m, x, room, n);	after all ops enqueued so far
 *	…						read or change view
 *	arena_write_back(m, x, view, n);		if it was changed
 *	rc = ops->sync(dev, e);				reports failures of the copies
 */
#ifndef WERKBANK_TRAIN_MODEL_ARENA_H
#define WERKBANK_TRAIN_MODEL_ARENA_H

#include <stddef.h>

#include "train/model/model.h"

/* Is the backend's memory host memory? Then room may be NULL below. */
bool arena_is_host(const struct model *m);

/* A view of n floats at x, in the backend's memory: x itself, or room (n) with a copy. */
float *arena_view(const struct model *m, float *x, float *room, size_t n);
const float *arena_view_const(const struct model *m, const float *x, float *room, size_t n);

/* Copy view (n) to x in the backend's memory; does nothing if view is x itself. */
void arena_write_back(const struct model *m, float *x, const float *view, size_t n);

#endif
