/*
 * weight_average.h - the moving average of a run's weights over all ranks (train/optim/ema.h).
 *
 * With several ranks each rank stores the average of its own pieces (buckets.h). With local steps
 * the average is updated when the ranks are in sync.
 */
#ifndef WERKBANK_TRAIN_TRAINER_WEIGHT_AVERAGE_H
#define WERKBANK_TRAIN_TRAINER_WEIGHT_AVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "train/optim/ema.h"
#include "train/trainer/exchange.h"

struct weight_average {
	struct ema *ema;       /* owned; NULL: no moving average */
	int64_t pending_steps; /* steps that the average does not include yet */
};

/*
 * Collective; all ranks have the same weights. decay 0: no average. resumed: on the first rank, the
 * checkpoint whose model is the average to go on with, else NULL.
 */
int weight_average_open(struct weight_average *a, const struct exchange *x, double decay,
			const char *resumed, struct err *e);
/* After each step (from 1). */
void weight_average_step(struct weight_average *a, int64_t step, bool in_sync);
/* Bytes on this rank. */
size_t weight_average_memory(const struct exchange *x, double decay);
/*
 * Collective. *whole = the average of all weights, in the backend's memory; NULL: no average. With
 * several ranks it is in the gradient array: valid until the next step, or until moments are saved.
 */
int weight_average_gather(const struct weight_average *a, const struct exchange *x,
			  const float **whole, struct err *e);

#endif
