/*
 * adam.h - the optimizer: Adam over the model's flat arenas, or over parts of them.
 *
 * Gradients are sums over tokens; adam_apply() takes their mean by its scale.
 * The moments live on the backend's side, as the parameters do. With parts they
 * are kept for these alone, one part after the other.
 */
#ifndef WERKBANK_TRAIN_MODEL_ADAM_H
#define WERKBANK_TRAIN_MODEL_ADAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/comm/buckets.h"
#include "train/model/model.h"

struct adam {
	struct model *model;   /* borrowed; must outlive this */
	float *first, *second; /* (floats) moments, on the backend's side; owned */
	double *squares;       /* (n_squares) of ranges, on the backend's side; owned */
	double *read;	       /* (n_squares) the same here; owned */
	size_t n_squares;
	struct range *parts; /* owned */
	size_t n_parts;
	size_t floats; /* of all parts */
	double beta1, beta2, epsilon;
};

/* Moments of zero, of the whole model. On failure there is nothing to close. */
int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e);
void adam_close(struct adam *a);

/* Right after adam_open(): only these parts of the arenas; moments of zero. Failure: see above. */
int adam_set_parts(struct adam *a, const struct range *parts, size_t n, struct err *e);

/*
 * n sums of squares of ranges of the gradient as it lies in the arena: they begin with 0, then each
 * range is added to one of them, nobody waits; then all are read at once. What is read is borrowed until
 * they begin again, and may be written to.
 */
int adam_squares_begin(struct adam *a, size_t n, struct err *e);
void adam_square(struct adam *a, size_t number, struct range r);
double *adam_read_squares(struct adam *a, size_t n);

/* The length of the whole gradient as it lies in the arena; waits. */
double adam_grad_norm(struct adam *a);

/* step is counted from 0 and corrects the moments' start. */
struct adam_update {
	int64_t step;
	double rate;
	double scale; /* the gradient is multiplied by this */
	bool tokens;  /* … and divided by model_tally()'s target tokens */
	double clip;  /* and then so that its length is at most this; 0: as it is */
};

/* One update with gradients times scale, whatever they are. */
void adam_apply(struct adam *a, int64_t step, double rate, double scale);

/*
 * model_tally()'s squares = those of these ranges of the gradient; then an update, clipped by what is there
 * and left out where that or model_tally()'s loss is not finite. The backend does both by itself,
 * nobody waits; model_collect_sums() tells the sum of squares.
 */
void adam_measure(struct adam *a, const struct range *ranges, size_t n);
void adam_update_measured(struct adam *a, const struct adam_update *how);

/* Both, with the whole gradient. */
void adam_measure_and_update(struct adam *a, const struct adam_update *how);

#endif
