/*
 * optimizer.h - which optimizers there are, and what the user may say about them. Their work: adam.h.
 *
 * Weight decay is decoupled (Loshchilov and Hutter 2019): param -= rate * weight_decay * param, beside the
 * update by the gradient. It is for the weights of products and for embeddings: tensors that params.def
 * begins with random numbers. Norms and biases, which begin with 1 or 0, do not decay.
 */
#ifndef WERKBANK_TRAIN_OPTIM_OPTIMIZER_H
#define WERKBANK_TRAIN_OPTIM_OPTIMIZER_H

#include <stdbool.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/model/model.h"

enum optimizer_kind {
#define OPTIMIZER(name, state, uses) OPTIMIZER_##name,
#include "train/optim/optimizers.def"
	N_OPTIMIZERS
};

/* The value of the option optimizer; static. */
const char *optimizer_name(enum optimizer_kind kind);

/* *kind = the optimizer of this name; "": adam. false: this program does not know it; *kind is adam. */
bool optimizer_find(const char *name, enum optimizer_kind *kind);

/* Do both have the same state in checkpoints? */
bool optimizer_has_state_of(enum optimizer_kind kind, enum optimizer_kind other);

/* Does it need whole tensors in host memory? Its state is that of adafactor.h. */
bool optimizer_is_factored(enum optimizer_kind kind);

/*
 * ERR_CONFIG: an option that the optimizer needs is missing, it does not use one that is given, or it
 * cannot be combined with another way of training with this number of ranks.
 */
int optimizer_check_conf(const struct conf *c, int ranks, struct err *e);

/* ERR_CONFIG: the optimizer does not run on this backend. */
int optimizer_check_backend(const struct conf *c, const struct ops *ops, struct err *e);

/* Does the tensor decay where there is weight decay? */
bool optimizer_decays(const struct model_param *p);

#endif
