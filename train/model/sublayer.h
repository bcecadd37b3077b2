/*
 * sublayer.h - the kinds of sublayers, and one sublayer of one layer during a pass.
 *
 * A sublayer reads the norm of the residual stream at its point (with post-norm, the stream itself is a
 * norm) and writes its branch, which sublayer_residual.c adds to the stream:
 *
 *	forward		act->x.out -> acts.branch		kind->forward()
 *			to->x = act->x + dropout(branch)	model_residual_forward()
 *	backward	acts.dout at to->x -> acts.dsum, acts.branch	  model_residual_backward()
 *			acts.branch -> acts.dout at act->x, gradients	  kind->backward()
 *			post-norm: acts.dout += acts.dsum		  model_residual_pass()
 *
 * A new kind: a row in sublayers.def, rows in params.def, a file like sublayer_ffn.c, its place in
 * layer_lists (model_params.c), and step_NAME() in eval/decode/incremental_sublayers.c.
 */
#ifndef WERKBANK_TRAIN_MODEL_SUBLAYER_H
#define WERKBANK_TRAIN_MODEL_SUBLAYER_H

#include "train/model/model_internal.h"

struct sublayer {
	enum model_sublayer number;
	const struct sublayer_kind *kind;
	enum model_stack stack;
	int32_t layer;
	bool is_first; /* of its layer */
	int32_t point; /* its place in the stack */
	int32_t next;  /* the next sublayer that this pass computes, or the end of the stack */
	const struct sublayer_act *act, *to;  /* at point, and at next */
	const struct sublayer_weights *w, *g; /* weights, gradients */
};

struct sublayer_kind {
	/* Lay out context and lse, for `tokens` tokens; NULL: the kind needs only inner. */
	void (*plan)(struct sublayer_act *act, const struct model_shape *s, enum model_stack stack,
		     int64_t tokens, struct arena_plan *c);
	void (*forward)(const struct model_pass *p, const struct sublayer *at);
	void (*backward)(const struct model_pass *p, const struct sublayer *at);
	size_t inner_rate; /* offset in struct model_pass_options: rate of the inner dropout */
	int32_t kernels;   /* of a GPU: upper bound for forward, backward and residual */
};

#define SUBLAYER(name) extern const struct sublayer_kind sublayer_##name;
#include "train/model/sublayers.def"

/* sublayer_table.c: all kinds. */
extern const struct sublayer_kind *const sublayer_kinds[N_SUBLAYER_KINDS];

/* Sublayer number i of a stack, 0 … n - 1. */
struct sublayer model_sublayer(const struct model_pass *p, enum model_stack stack, int32_t i);
/* Does LayerDrop skip the layer of sublayer i in this pass? */
bool model_is_skipped(const struct model_pass *p, enum model_stack stack, int32_t i);
/* The first sublayer from number i on that this pass computes, or the end of the stack. */
int32_t model_next_point(const struct model_pass *p, enum model_stack stack, int32_t i);
/* Draw the layers that this pass skips. */
void model_skip_layers(struct model_pass *p);

/* sublayer_parts.c: the sites of dropout in a sublayer: attention weights or hidden units, and the branch. */
enum dropout_site { DROPOUT_INNER, DROPOUT_BRANCH };
struct dropout model_dropout(const struct model_pass *p, const struct sublayer *at,
			     enum dropout_site site);
struct dropout model_embedding_dropout(const struct model_pass *p, enum model_stack stack);

/* sublayer_residual.c: the embedding and its norm, which are point 0 of a stack. */
void model_stack_begin(const struct model_pass *p, enum model_stack stack);
void model_residual_forward(const struct model_pass *p, const struct sublayer *at);
void model_residual_backward(const struct model_pass *p, const struct sublayer *at);
/* After kind->backward(): post-norm adds the gradient that passes around the sublayer to acts.dout. */
void model_residual_pass(const struct model_pass *p, const struct sublayer *at);
/* Where the backward pass of a stack ends: the gradients of point 0. */
void model_stack_end_backward(const struct model_pass *p, enum model_stack stack);

/* sublayer_parts.c: for out = in weight^T: din = dout weight, dweight += dout^T in. */
void model_product_grad(const struct model_pass *p, struct tensor din, struct tensor dweight,
			struct tensor dout, struct tensor in, struct tensor weight);
/* acts.wide_grad with the shape of inner. */
struct tensor model_inner_grad(const struct model_pass *p, struct tensor inner);
/* The gradient of a bias += column sums of dout; bias.data NULL: there is none. */
void model_bias_grad(const struct model_pass *p, struct tensor dbias, struct tensor dout);
/* The positions of the tokens of a stack, (T). */
const int32_t *model_token_positions(const struct model_pass *p, enum model_stack stack);

/* arena_plan.c: a tensor that products read or write: floats or bf16. */
struct tensor model_plan_tensor(struct arena_plan *c, int64_t rows, int64_t cols);

#endif
