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
	double *squares;		/* (n_squares) of ranges, on the backend's side; owned */
	double *read;			/* (n_squares) the same here; owned */
	size_t n_squares;
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

/*
 * Sums of squares of ranges of the gradient as it lies in the arena: room for n of them, then each
 * by a number below n, nobody waits; then all are read at once. *sums is borrowed until there is
 room for more.
 */
int  adam_squares_room(struct adam *a, size_t n, struct err *e);
void adam_square(struct adam *a, size_t number, struct range r);
const double *adam_read_squares(struct adam *a, size_t n);

/* The length of the whole gradient as it lies in the arena; waits. */
double adam_grad_norm(struct adam *a);

/* step is counted from 0 and corrects the moments' start. */
struct adam_update {
	int64_t step;
	double rate;
	double scale;		/* the gradient is multiplied by this */
	double clip;		/* and then so that its length is at most this; 0: as it is */
};

/* One update with gradients times scale, whatever they are. */
void adam_apply(struct adam *a, int64_t step, double rate, double scale);

/*
 * Measure the whole gradient and update with it, without a wait: the backend clips by itself, and
 * leaves everything as it is where the gradient's length or model_tally()'s loss is not finite.
 * model_take_sums() tells the sum of squares.
 */
void adam_measure_and_update(struct adam *a, const struct adam_update *how);

#endif
