/*
 * adafactor.h - an optimizer with little memory: Adafactor (Shazeer and Stern 2018, algorithm 4) without a
 * first moment.
 *
 * The second moment of a matrix is known by the means of its rows r and of its columns c: 3 KiB instead of
 * 1 MiB for a matrix (512, 512). Tensors of one row or column keep all of theirs. For the gradient G of
 * update t, from 1, elementwise:
 *
 *	b = 1 - t^-0.8
 *	r = b r + (1 - b) mean of each row of (G^2 + 1e-30)	c: the same of each column
 *	V = r c^T / mean(r)					U = G / sqrt(V)
 *	W -= rate * U / max(1, root mean square of U)
 *
 * The rate is that of the schedule, as for Adam; the paper's scale by the size of W is left out: what
 * transformers' Adafactor does with scale_parameter=False and relative_step=False.
 *
 * The state is one flat array: the rows' means of the first tensor, its columns' means, and so on.
 */
#ifndef WERKBANK_TRAIN_OPTIM_ADAFACTOR_H
#define WERKBANK_TRAIN_OPTIM_ADAFACTOR_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/model/model.h"

/*
 * The tensors of the state for a model, as in a checkpoint, in the order of the flat array: NAME.rows and
 * NAME.columns of a matrix, NAME of another tensor. The caller frees *params. *n_floats: their sum.
 */
int adafactor_state_params(const struct model_shape *shape, struct model_param **params,
			   size_t *n_params, int64_t *n_floats, struct err *e);

struct adafactor;

struct adafactor_step {
	int64_t step; /* from 0 */
	double rate;
	double decay;  /* rate * weight decay */
	double factor; /* of the gradient */
	const struct conf_list
		*frozen; /* tensors that are left as they are (frozen.h); NULL: none */
};

/* For models of this shape. NULL: failure. */
struct adafactor *adafactor_open(const struct model_shape *shape, struct err *e);
void adafactor_free(struct adafactor *a); /* may be NULL */

/* One update of a model's flat array, in host memory; state: as above, 0 before the first update. */
void adafactor_update(struct adafactor *a, float *param, float *state, const float *grad,
		      const struct adafactor_step *how);

#endif
