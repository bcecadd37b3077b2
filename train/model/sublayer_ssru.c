/*
 * sublayer_ssru.c - a recurrent unit in place of the decoder's attention to itself (Kim et al. 2019)
 *
 *	inner (T, 2D) = x W_in^T		candidates, forget gates
 *	context (T, D) = states			op ssru
 *	branch (T, D) = max(0, context)
 *
 * Decoding keeps one state for each hypothesis, not the keys and values of all its tokens. The backward pass
 * computes the gates again. There is no dropout inside.
 */
#include <stddef.h>

#include "train/model/sublayer.h"

static void ssru_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct attention_shape *s = &p->self[at->stack];

	model_linear(m, a->inner, a->x.out, at->w->in, MODEL_NO_BIAS, false);
	m->ops->ssru(m->dev, with_rows(m->acts.branch, a->inner.rows), a->context, a->inner,
		     vector_of(at->w->in_bias), s->q_start, s->n, s->max_q);
}

static void ssru_backward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model *m = p->m;
	const struct sublayer_act *a = at->act;
	const struct attention_shape *s = &p->self[at->stack];
	const struct tensor dinner = model_inner_grad(p, a->inner);
	const int64_t T = a->x.out.rows;

	m->ops->ssru_grad(m->dev, dinner, vector_of(at->g->in_bias), with_rows(m->acts.branch, T),
			  a->context, a->inner, vector_of(at->w->in_bias), s->q_start, s->n,
			  s->max_q);
	model_product_grad(p, with_rows(m->acts.dout, T), at->g->in, dinner, a->x.out, at->w->in);
}

static void plan_ssru(struct sublayer_act *act, const struct model_shape *s, enum model_stack stack,
		      int64_t tokens, struct arena_plan *c)
{
	(void)stack;
	act->context = model_plan_floats(c, tokens, s->d_model);
}

const struct sublayer_kind sublayer_ssru = {
	.plan = plan_ssru,
	.forward = ssru_forward,
	.backward = ssru_backward,
	.inner_rate = offsetof(struct model_pass_options, relu_dropout), /* no op asks for it */
	.kernels = 16,
};
