/*
 * adam.h - the optimizer: Adam (Kingma and Ba 2015) over the model's flat arrays, or parts of them; AdamW,
 * which is Adam with decoupled weight decay (optimizer.h), and Adafactor (adafactor.h).
 *
 * Gradients are sums over tokens; an update multiplies them by a scale, 1 / tokens. The moments
 * are in the backend's memory, like the parameters. With parts (ranges of the arrays that this
 * rank owns) there are moments for these parts only, one part after the other.
 */
#ifndef WERKBANK_TRAIN_OPTIM_ADAM_H
#define WERKBANK_TRAIN_OPTIM_ADAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "train/comm/buckets.h"
#include "train/model/model.h"
#include "train/optim/adafactor.h"
#include "train/optim/optimizer.h"

/* Neighbours in the flat array that are updated alike. */
struct update_range {
	size_t end; /* floats from the start of the array; the range begins at the end before it */
	bool decays;
	bool is_frozen; /* never updated, and its gradient does not count */
};

struct adam {
	struct model *model;   /* borrowed; must outlive this */
	float *first, *second; /* (floats) moments, in the backend's memory; owned */
	enum optimizer_kind kind;
	double weight_decay;
	const struct conf_list *frozen; /* borrowed; NULL: none, see adam_freeze() */
	struct update_range *ranges;	/* (n_ranges) owned */
	size_t n_ranges;
	struct adafactor
		*factored; /* owned; NULL: Adam. Then first is NULL, second its state (floats) */
	double *squares;   /* (n_squares) of ranges, in the backend's memory; owned */
	double *read;	   /* (n_squares) the same in host memory; owned */
	size_t n_squares;
	struct range *parts; /* (n_parts) owned */
	size_t n_parts;
	size_t floats; /* of all parts */
	double beta1, beta2, epsilon;
	/*
	 * Steps after which the second moments stay as they are; 0: never. The owner sets it, for gradients whose
	 * squares are mostly the noise of compression (Tang et al. 2021, "1-bit Adam"). Not of a factored optimizer.
	 */
	int64_t held_after;
	/* Updates that held them; the owner restores it. held_after may differ in each part of a resumed run. */
	int64_t held_steps;
};

/* Moments of the whole model, all 0. After a failure there is nothing to close. */
int adam_open(struct adam *a, struct model *m, double beta1, double beta2, double epsilon,
	      struct err *e);
void adam_close(struct adam *a);

/*
 * Call it right after adam_open(): the kind of optimizer, and its weight decay. Its state is 0. After a
 * failure there is nothing to close.
 */
int adam_choose(struct adam *a, enum optimizer_kind kind, double weight_decay, struct err *e);

/*
 * Call it right after adam_choose(): tensors of these parts (frozen.h), which are borrowed, stay as they are. After a
 * failure there is nothing to close.
 */
int adam_freeze(struct adam *a, const struct conf_list *parts, struct err *e);

/*
 * Restrict the optimizer to these n parts; their moments are 0. Call it right after adam_open() and adam_choose(), and never
 * with a factored optimizer.
 * After a failure there is nothing to close.
 */
int adam_set_parts(struct adam *a, const struct range *parts, size_t n, struct err *e);

/*
 * Sums of squares of ranges of the gradient array, without scale: begin n sums with 0, then add
 * ranges to sum number i, without a wait; then read all sums, which waits. The result (n) is
 * borrowed until the next adam_squares_begin(); the caller may write to it.
 */
int adam_squares_begin(struct adam *a, size_t n, struct err *e);
void adam_square(struct adam *a, size_t number, struct range r);
double *adam_read_squares(struct adam *a, size_t n);

/* The norm of the whole gradient array, without scale; waits. */
double adam_grad_norm(struct adam *a);

struct adam_update {
	int64_t step; /* from 0; for the correction of the moments' bias */
	double rate;  /* learning rate */
	double scale; /* factor of the gradient */
	bool tokens;  /* also divide the gradient by the target tokens in model_tally() */
	double clip;  /* maximum norm of the gradient after that; 0: no clipping */
};

/* One update with the gradient times scale, even if the gradient is not finite. */
void adam_apply(struct adam *a, int64_t step, double rate, double scale);

/*
 * Without a wait: adam_measure() sets squares in model_tally() to the sum of squares of these
 * ranges. adam_update_measured() clips by it, and changes nothing if squares or the loss in
 * model_tally() is not finite. model_collect_sums() returns squares to the host.
 */
void adam_measure(struct adam *a, const struct range *ranges, size_t n);
void adam_update_measured(struct adam *a, const struct adam_update *how);

/* adam_measure() of the whole gradient, then adam_update_measured(). */
void adam_measure_and_update(struct adam *a, const struct adam_update *how);

#endif
