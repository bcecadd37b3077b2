/*
 * sublayer_ffn.c - the feed-forward sublayer
 *
 *	inner (T, F) = x W_in^T + b_in			with a gate (T, 2F)
 *	context (T, F) = dropout(act(inner))		with a gate dropout(act(first half) * second half)
 *	branch (T, D) = context W_out^T			the residual adds b_out
 *
 * Each token is computed by itself. The backward pass reads inner, without b_in. ReLU with a bias and
 * without a gate is the usual case and has ops of its own: context overwrites inner, because the backward
 * pass needs only that. Where it is 0, ReLU or dropout have stopped the unit, and no gradient passes.
 */
#include <stddef.h>

#include "train/model/sublayer.h"

static bool is_plain_relu(const struct model_shape *s)
{
	return s->activation == ACTIVATION_relu && !s->gated_ffn && s->ffn_bias == ARCH_YES;
}

/* ---- ReLU in place -------------------------------------------------------- */

static void relu_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct sublayer_weights *w = at->w;
	const struct dropout drop = model_dropout(p, at, DROPOUT_INNER);

	if (drop.rate > 0) {
		model_linear(m, a->inner, a->x.out, w->in, MODEL_NO_BIAS, false);
		m->ops->relu_dropout(m->dev, a->inner, vector_of(w->in_bias), drop);
	} else {
		model_linear(m, a->inner, a->x.out, w->in, w->in_bias, true);
	}
	model_linear(m, with_rows(m->acts.branch, a->inner.rows), a->inner, w->out, MODEL_NO_BIAS,
		     false);
}

static void relu_backward(const struct model_pass *p, const struct sublayer *at)
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

/* ---- any activation -------------------------------------------------------- */

static void ffn_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct sublayer_weights *w = at->w;

	if (is_plain_relu(&m->shape)) {
		relu_forward(p, at);
		return;
	}
	model_linear(m, a->inner, a->x.out, w->in, MODEL_NO_BIAS, false);
	m->ops->activate(m->dev, a->context, a->inner, vector_of(w->in_bias),
			 (enum activation)m->shape.activation, model_dropout(p, at, DROPOUT_INNER));
	model_linear(m, with_rows(m->acts.branch, a->inner.rows), a->context, w->out, MODEL_NO_BIAS,
		     false);
}

/* The gradient of context: in place of that of inner, unless a gate makes inner wider. */
static struct tensor context_grad(const struct model_pass *p, const struct sublayer *at)
{
	const struct tensor context = at->act->context;
	struct tensor t = p->m->acts.gate_grad;

	if (!p->m->shape.gated_ffn)
		return model_inner_grad(p, context);
	t.rows = context.rows;
	t.cols = t.stride = context.cols;
	return t;
}

static void ffn_backward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const int64_t T = a->x.out.rows;
	const struct tensor dinner = model_inner_grad(p, a->inner), dcontext = context_grad(p, at);

	if (is_plain_relu(&m->shape)) {
		relu_backward(p, at);
		return;
	}
	model_product_grad(p, dcontext, at->g->out, with_rows(m->acts.branch, T), a->context,
			   at->w->out);
	m->ops->activate_grad(m->dev, dinner, vector_of(at->g->in_bias), dcontext, a->inner,
			      vector_of(at->w->in_bias), (enum activation)m->shape.activation,
			      model_dropout(p, at, DROPOUT_INNER));
	model_product_grad(p, with_rows(m->acts.dout, T), at->g->in, dinner, a->x.out, at->w->in);
}

static void plan_ffn(struct sublayer_act *act, const struct model_shape *s, enum model_stack stack,
		     int64_t tokens, struct arena_plan *c)
{
	if (!is_plain_relu(s))
		act->context = model_plan_tensor(c, tokens, model_ffn_width(s, stack));
}

const struct sublayer_kind sublayer_ffn = {
	.plan = plan_ffn,
	.forward = ffn_forward,
	.backward = ffn_backward,
	.inner_rate = offsetof(struct model_pass_options, relu_dropout),
	.kernels = 18,
};
