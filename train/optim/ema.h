/*
 * ema.h - an exponential moving average of the weights, for evaluation and decoding.
 *
 * Training itself uses the weights.
 *
 * After step t (from 1)	average += (1 - decay(t)) * (weights - average)
 *				decay(t) = min(decay, (1 + t) / (10 + t))
 *
 * The smaller decay of early steps removes the random initial weights soon (as in TensorFlow's
 * ExponentialMovingAverage with num_updates). The average is in the backend's memory. It covers
 * the whole model, or the parts of the flat array that this rank owns.
 */
#ifndef WERKBANK_TRAIN_OPTIM_EMA_H
#define WERKBANK_TRAIN_OPTIM_EMA_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/comm/buckets.h"
#include "train/model/model.h"

struct ema;

/* An average of these n parts, undefined until ema_set_from_arena(). Borrows m. NULL: failure. */
struct ema *ema_open(struct model *m, double decay, const struct range *parts, size_t n,
		     struct err *e);
void ema_free(struct ema *a); /* may be NULL */

/* Bytes of the average of a model of `floats` floats. */
size_t ema_memory(size_t floats);

/* average = the parts of arena, a flat array in the backend's memory. */
void ema_set_from_arena(struct ema *a, const float *arena);

/* Update the average after `steps` more steps, the last of which was step (from 1). */
void ema_update(struct ema *a, int64_t step, int64_t steps);

/* Write the average to the parts of arena, a flat array in the backend's memory. */
void ema_copy_to_arena(const struct ema *a, float *arena);

/* The average in the backend's memory, part after part; borrowed. */
const float *ema_arena(const struct ema *a);

#endif
