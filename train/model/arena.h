/*
 * arena.h - the model's flat arrays (weights, gradients, moments) as the host sees them.
 *
 * They lie where the backend computes; files and messages between ranks need them in the memory of
 * the host. With a backend that computes there nothing is copied: the view of a range is the range
 * itself. With a GPU it is a copy in room that the caller has.
 *
 *	float *view = arena_view(m, x, room, n);	of what computed until now
 *	…						read or change it
 *	arena_write_back(m, x, view, n);			unless it was only read
 *	rc = ops->sync(dev, e);				what went wrong shows here, as of ops
 */
#ifndef WERKBANK_TRAIN_MODEL_ARENA_H
#define WERKBANK_TRAIN_MODEL_ARENA_H

#include <stddef.h>

#include "train/model/model.h"

/* Is memory of the backend the host's? Then room may be NULL below. */
bool arena_is_host(const struct model *m);

/* n floats at x, on the backend's side, for the host: x, or room (n) with a copy. */
float *arena_view(const struct model *m, float *x, float *room, size_t n);
const float *arena_view_const(const struct model *m, const float *x, float *room, size_t n);

/* n floats from the host's memory to x on the backend's side; a view of x itself stays where it is. */
void arena_write_back(const struct model *m, float *x, const float *view, size_t n);

#endif
