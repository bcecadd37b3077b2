/*
 * sublayer_residual.c - what is around every sublayer: the residual stream and its norms
 *
 *	stream = stream + dropout(branch + b_out)
 *	out = norm(stream) * scale + shift		read by the next sublayer
 *
 * One op computes both lines, so that a row of the stream is read and written only once. The norm
 * between two sublayers is a weight of the second one: w[1], or that of the stack's end. The backward
 * pass keeps the gradient of the stream in acts.dsum: the stream passes each sublayer unchanged, so
 * each point only adds to this gradient what comes back through its norm.
 */
#include <math.h>

#include "train/model/sublayer.h"

void model_stack_begin(const struct model_pass *p, enum model_stack stack)
{
	const struct model *m = p->m;
	const struct device_batch *ids = &m->acts.ids;
	const bool encoder = stack == STACK_ENCODER;
	const struct norm_point *x = &m->acts.stack[stack].sub[0].x;
	const struct sublayer_weights *w = &m->weights.stack[stack].sub[0];

	m->ops->embed(m->dev, x->sum, m->weights.embed, encoder ? ids->source : ids->target_in,
		      encoder ? ids->source_position : ids->target_position,
		      (struct embed_how){ .scale = sqrtf((float)m->shape.d_model) },
		      model_embedding_dropout(p, stack));
	m->ops->norm(m->dev, x->out, x->mean, x->rstd, x->sum, vector_of(w->norm_scale),
		     vector_of(w->norm_shift), MODEL_NORM);
}

void model_residual_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct norm_point *x = &at->act[0].x, *to = &at->act[1].x;

	p->m->ops->add_norm(p->m->dev, to->sum, to->out, to->mean, to->rstd, x->sum,
			    with_rows(p->m->acts.branch, x->sum.rows), vector_of(at->w->out_bias),
			    vector_of(at->w[1].norm_scale), vector_of(at->w[1].norm_shift),
			    MODEL_NORM, model_dropout(p, at, DROPOUT_BRANCH));
}

void model_residual_backward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model_acts *a = &p->m->acts;
	const struct norm_point *x = &at->act[1].x;
	const int64_t T = x->sum.rows;

	p->m->ops->add_norm_grad(p->m->dev, with_rows(a->dsum, T), with_rows(a->branch, T),
				 vector_of(at->g->out_bias), vector_of(at->g[1].norm_scale),
				 vector_of(at->g[1].norm_shift), with_rows(a->dout, T), x->sum,
				 x->mean, x->rstd, vector_of(at->w[1].norm_scale), MODEL_NORM,
				 model_dropout(p, at, DROPOUT_BRANCH));
}

void model_stack_end_backward(const struct model_pass *p, enum model_stack stack)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const struct norm_point *x = &a->stack[stack].sub[0].x;
	const struct sublayer_weights *w = &m->weights.stack[stack].sub[0],
				      *g = &m->grads.stack[stack].sub[0];
	const struct tensor dsum = with_rows(a->dsum, x->sum.rows);

	m->ops->norm_grad(m->dev, dsum, vector_of(g->norm_scale), vector_of(g->norm_shift),
			  with_rows(a->dout, x->sum.rows), x->sum, x->mean, x->rstd,
			  vector_of(w->norm_scale), MODEL_NORM, true);
	m->ops->embed_grad(m->dev, m->grads.embed, dsum,
			   stack == STACK_ENCODER ? a->ids.source : a->ids.target_in,
			   sqrtf((float)m->shape.d_model), model_embedding_dropout(p, stack));
}
