/*
 * ema.h - an exponential moving average of the weights, for those who score and use the model:
 * training itself goes on with the weights.
 *
 * After step t (from 1)	average += (1 - decay(t)) * (weights - average)
 *				decay(t) = min(decay, (1 + t) / (10 + t))
 *
 * so that the random weights of the beginning are soon forgotten (as TensorFlow's
 * ExponentialMovingAverage with num_updates does). It lies on the backend's side, of the whole
 * model or, where ranks share the work, of the parts of each.
 */
#ifndef WERKBANK_TRAIN_MODEL_EMA_H
#define WERKBANK_TRAIN_MODEL_EMA_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/comm/buckets.h"
#include "train/model/model.h"

struct ema;

/* Of these parts of the arena; nothing is averaged yet. Borrows the model. NULL: failure. */
struct ema *ema_open(struct model *m, double decay, const struct range *parts, size_t n,
		     struct err *e);
void ema_free(struct ema *a); /* may be NULL */

/* Bytes that it takes for so many floats. */
size_t ema_memory(size_t floats);

/* Begin with, or go on from, the parts of an arena on the backend's side. */
void ema_set_from_arena(struct ema *a, const float *arena);

/* After so many steps more, the last of which was step. */
void ema_update(struct ema *a, int64_t step, int64_t steps);

/* Put the parts where they belong in an arena on the backend's side. */
void ema_copy_to_arena(const struct ema *a, float *arena);

/* The average of a whole model, on the backend's side; borrowed. */
const float *ema_arena(const struct ema *a);

#endif
