/*
 * sublayer_ffn.c - the feed-forward sublayer
 *
 *	inner (T, F) = dropout(max(0, x W_in^T + b_in))
 *	branch (T, D) = inner W_out^T			the residual adds b_out
 *
 * Each token is computed by itself. The backward pass needs only inner: where it is 0, ReLU or dropout
 * have stopped the unit, and no gradient passes.
 */
#include <stddef.h>

#include "train/model/sublayer.h"

static void ffn_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct sublayer_weights *w = at->w;
	const struct dropout drop = model_dropout(p, at, DROPOUT_INNER);

	if (drop.rate > 0) {
		model_linear(m, a->inner, a->x.out, w->in, NULL, false);
		m->ops->relu_dropout(m->dev, a->inner, vector_of(w->in_bias), drop);
	} else {
		model_linear(m, a->inner, a->x.out, w->in, &w->in_bias, true);
	}
	model_linear(m, with_rows(m->acts.branch, a->inner.rows), a->inner, w->out, NULL, false);
}

static void ffn_backward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const int64_t T = a->x.out.rows;
	const struct tensor dinner = model_inner_grad(p, a->inner);

	model_product_grad(p, dinner, at->g->out, with_rows(m->acts.branch, T), a->inner,
			   at->w->out);
	m->ops->relu_dropout_grad(m->dev, dinner, vector_of(at->g->in_bias), a->inner,
				  model_dropout(p, at, DROPOUT_INNER));
	model_product_grad(p, with_rows(m->acts.dout, T), at->g->in, dinner, a->x.out, at->w->in);
}

const struct sublayer_kind sublayer_ffn = {
	.forward = ffn_forward,
	.backward = ffn_backward,
	.inner_rate = offsetof(struct model_pass_options, relu_dropout),
	.kernels = 14,
};
