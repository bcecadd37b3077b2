/*
 * sublayer_attention.c - multi-head attention: of a sentence to itself, and of the decoder to the source
 *
 *	context = softmax(Q K^T / sqrt(D / H)) V	within each sentence, for each head; head h has
 *							the columns h D/H .. (h + 1) D/H - 1
 *	branch = context W_out^T
 *
 * Self attention has Q, K and V from one product, inner (T, 3D) = x W_in^T; in the decoder a token sees
 * only itself and those before it. Cross attention has only Q from its own input, inner (T, D). Its K
 * and V are columns of memory_kv: one product of the encoder's output computes them for all decoder
 * layers, because all of them read the same input.
 *
 * With rotary positions, queries and keys of self attention are turned by their positions before.
 *
 * The weights of attention, a number for each pair of tokens and each head, are never stored. The
 * forward pass stores the logarithm of each softmax's sum, lse (T, H), from which the backward pass
 * computes them again.
 */
#include <stddef.h>

#include "train/model/sublayer.h"

/* Queries, keys and values of a sublayer, or their gradients. */
struct qkv_views {
	struct tensor q, k, v;
};

/* inner: act->inner or its gradient; memory: acts.memory_kv or its gradient. */
static struct qkv_views view_qkv(const struct model_pass *p, const struct sublayer *at,
				 struct tensor inner, struct tensor memory)
{
	const int64_t D = p->m->shape.d_model;
	const bool cross = at->number == SUBLAYER_cross;
	const int64_t k = cross ? 2 * D * at->layer : D;
	const struct tensor from = cross ? memory : inner;

	return (struct qkv_views){ tensor_columns(inner, 0, D), tensor_columns(from, k, D),
				   tensor_columns(from, k + D, D) };
}

static struct attention_shape attention_shape_at(const struct model_pass *p,
						 const struct sublayer *at)
{
	return at->number == SUBLAYER_cross ? p->cross : p->self[at->stack];
}

/* Rotary positions: turn queries and keys, which are side by side in inner, or turn their gradients back. */
static void rotate_heads(const struct model_pass *p, const struct sublayer *at, struct tensor inner,
			 bool back)
{
	const struct model *m = p->m;
	const struct tensor waves = model_rotary_waves(m, at->stack);

	if (waves.data && at->number == SUBLAYER_self)
		m->ops->rotate(m->dev, tensor_columns(inner, 0, 2 * m->shape.d_model), waves,
			       model_token_positions(p, at->stack),
			       2 * model_heads(&m->shape, at->stack), back);
}

static void attention_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct qkv_views x = view_qkv(p, at, a->inner, m->acts.memory_kv);

	model_linear(m, a->inner, a->x.out, at->w->in, at->w->in_bias, false);
	rotate_heads(p, at, a->inner, false);
	m->ops->attention(m->dev, a->context, a->lse, x.q, x.k, x.v, attention_shape_at(p, at),
			  model_dropout(p, at, DROPOUT_INNER));
	model_linear(m, with_rows(m->acts.branch, a->context.rows), a->context, at->w->out,
		     MODEL_NO_BIAS, false);
}

static void attention_backward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct tensor dinner = model_inner_grad(p, a->inner),
			    dout = with_rows(m->acts.dout, a->x.out.rows);
	const struct qkv_views x = view_qkv(p, at, a->inner, m->acts.memory_kv),
			       d = view_qkv(p, at, dinner, m->acts.dmemory_kv);

	/* dout holds the gradient of the context, then that of the sublayer's input */
	model_product_grad(p, dout, at->g->out, with_rows(m->acts.branch, dout.rows), a->context,
			   at->w->out);
	m->ops->attention_grad(m->dev, d.q, d.k, d.v, dout, a->context, a->lse, x.q, x.k, x.v,
			       attention_shape_at(p, at), model_dropout(p, at, DROPOUT_INNER));
	rotate_heads(p, at, dinner, true);
	model_bias_grad(p, at->g->in_bias, dinner);
	model_product_grad(p, dout, at->g->in, dinner, a->x.out, at->w->in);
}

static void plan_attention(struct sublayer_act *act, const struct model_shape *s,
			   enum model_stack stack, int64_t tokens, struct arena_plan *c)
{
	act->context = model_plan_tensor(c, tokens, s->d_model);
	act->lse = arena_plan_array(c, tokens * model_heads(s, stack), sizeof(float));
}

const struct sublayer_kind sublayer_self = {
	.plan = plan_attention,
	.forward = attention_forward,
	.backward = attention_backward,
	.inner_rate = offsetof(struct model_pass_options, attention_dropout),
	.kernels = 22,
};

const struct sublayer_kind sublayer_cross = {
	.plan = plan_attention,
	.forward = attention_forward,
	.backward = attention_backward,
	.inner_rate = offsetof(struct model_pass_options, attention_dropout),
	.kernels = 24,
};
