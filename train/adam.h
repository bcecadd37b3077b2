/*
 * adam.h - the optimizer: Adam over the model's flat arenas.
 *
 * Gradients are sums over tokens; adam_apply() takes their mean by its scale.
 * The moments live on the backend's side, as the parameters do.
 */
#ifndef WERKBANK_TRAIN_ADAM_H
#define WERKBANK_TRAIN_ADAM_H

#include <stdint.h>

#include "share/base/err.h"
#include "train/model.h"

struct adam {
	struct model *model;		/* borrowed; must outlive this */
	float *first, *second;		/* moments, on the backend's side; owned */
	double *sum;			/* one number on the backend's side; owned */
	double beta1, beta2, epsilon;
};

/* Moments of zero. On failure there is nothing to close. */
int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e);
void adam_close(struct adam *a);

/* The length of the whole gradient as it lies in the arena. */
double adam_grad_norm(struct adam *a);

/* One update with gradients times scale; step is counted from 0 and corrects the moments' start. */
void adam_apply(struct adam *a, int64_t step, double rate, double scale);

#endif
