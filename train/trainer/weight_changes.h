/*
 * weight_changes.h - how far each weight matrix has moved between evaluations.
 *
 * At each evaluation, the record "weights" says how far each weight matrix has moved since the last
 * one. A part of the model that does not learn is visible there.
 *
 * The first rank keeps a sample of each matrix: some short runs of weights, spread evenly. It
 * compares the sample with the weights at each evaluation. Training is not affected: the weights
 * are only read.
 */
#ifndef WERKBANK_TRAIN_TRAINER_WEIGHT_CHANGES_H
#define WERKBANK_TRAIN_TRAINER_WEIGHT_CHANGES_H

#include <stddef.h>

#include "train/model/model.h"
#include "train/trainer/run_records.h"

struct weight_changes;

/*
 * First rank, after the weights are loaded. Borrows both. Tensors of the frozen parts (frozen.h) are left out.
 * NULL: failure.
 */
struct weight_changes *weight_changes_open(struct model *model, struct run_records *records,
					   const struct conf_list *frozen, struct err *e);
void weight_changes_close(struct weight_changes *c); /* may be NULL */
/* Write the records of this step, unless there are some. c NULL (not the first rank): nothing. */
int weight_changes_report(struct weight_changes *c, struct err *e);

/* The change of a sample of weights. */
struct weight_change {
	double moved; /* norm of the change divided by the norm before; NAN: all were 0 */
	double still; /* share of the chunks in which no weight has changed */
};
/* before, now: (n_chunks, width) */
void weight_change_find(const float *before, const float *now, size_t n_chunks, size_t width,
			struct weight_change *found);

#endif
