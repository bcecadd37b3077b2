/*
 * adam.h - the optimizer: Adam over the model's flat arenas, or over parts of them.
 *
 * Gradients are sums over tokens; adam_apply() takes their mean by its scale.
 * The moments live on the backend's side, as the parameters do. With parts they
 * are kept for these alone, one part after the other.
 */
#ifndef WERKBANK_TRAIN_ADAM_H
#define WERKBANK_TRAIN_ADAM_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/buckets.h"
#include "train/model.h"

struct adam {
	struct model *model;		/* borrowed; must outlive this */
	float *first, *second;		/* (floats) moments, on the backend's side; owned */
	double *sum;			/* one number on the backend's side; owned */
	struct range *parts;		/* owned */
	size_t n_parts;
	size_t floats;			/* of all parts */
	double beta1, beta2, epsilon;
};

/* Moments of zero, of the whole model. On failure there is nothing to close. */
int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e);
void adam_close(struct adam *a);

/* Right after adam_open(): only these parts of the arenas; moments of zero. Failure: see above. */
int adam_set_parts(struct adam *a, const struct range *parts, size_t n, struct err *e);

/* Sum of squares of a range of the gradient as it lies in the arena. */
double adam_sum_squares(struct adam *a, struct range r);

/* The length of the whole gradient as it lies in the arena. */
double adam_grad_norm(struct adam *a);

/* One update with gradients times scale; step is counted from 0 and corrects the moments' start. */
void adam_apply(struct adam *a, int64_t step, double rate, double scale);

#endif
