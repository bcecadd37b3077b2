/*
 * sublayer_residual.c - what is around every sublayer: the residual stream and its norms
 *
 *	pre-norm	sum' = sum + dropout(branch + b_out),	out = norm(sum)
 *	post-norm	sum' = out + dropout(branch + b_out),	out = norm(sum)
 *
 * out is what the next sublayer reads. One op computes both lines, so that a row of the stream is read and
 * written only once. model_norm_at() says which norm a point has: before sublayer i it is a weight of this
 * sublayer, with post-norm of the one before, and point 0 has none.
 *
 * Backward, acts.dsum is the gradient of the sum and acts.dout that of out. With pre-norm the stream passes
 * each sublayer unchanged, so each point only adds to dsum what comes back through its norm. With
 * post-norm all of it comes through the norm; around the sublayer, it is added to the dout below.
 */
#include "train/model/sublayer.h"

struct norm_how model_embedding_norm(const struct model *m)
{
	return (struct norm_how){ m->shape.norm == NORM_RMS ? NORM_RMS : NORM_LAYER, m->epsilon };
}

struct model_norm model_norm_at(const struct model *m, const struct model_weights *w,
				enum model_stack stack, int32_t point)
{
	const int32_t i = m->shape.norm_place == NORM_POST ? point - 1 : point;
	const struct sublayer_weights *at = i < 0 ? NULL : &w->stack[stack].sub[i];

	if (!at || !at->norm_scale.data)
		return (struct model_norm){ .how = { .kind = NORM_NONE } };
	return (struct model_norm){
		.how = model_embedding_norm(m),
		.scale = vector_of(at->norm_scale),
		.shift = vector_of(at->norm_shift),
	};
}

static struct model_norm norm_of_pass(const struct model_pass *p, enum model_stack stack,
				      int32_t point)
{
	return model_norm_at(p->m, &p->m->weights, stack, point);
}

static struct model_norm grads_of_norm(const struct model_pass *p, enum model_stack stack,
				       int32_t point)
{
	return model_norm_at(p->m, &p->m->grads, stack, point);
}

/* The point whose norm the output of a sublayer has: with pre-norm that of the next sublayer. */
static int32_t norm_point_after(const struct model_pass *p, const struct sublayer *at)
{
	return p->m->shape.norm_place == NORM_POST ? at->point + 1 : at->next;
}

/* The point that the embeddings pass to, and the point whose norm they get: 0 unless layers are skipped. */
static int32_t first_point(const struct model_pass *p, enum model_stack stack)
{
	return model_next_point(p, stack, 0);
}

static int32_t first_norm_point(const struct model_pass *p, enum model_stack stack)
{
	return p->m->shape.norm_place == NORM_POST ? 0 : first_point(p, stack);
}

/* ---- embeddings ---------------------------------------------------------- */

static const int32_t *token_ids(const struct model_pass *p, enum model_stack stack)
{
	const struct device_batch *ids = &p->m->acts.ids;

	return stack == STACK_ENCODER ? ids->source : ids->target_in;
}

void model_stack_begin(const struct model_pass *p, enum model_stack stack)
{
	const struct model *m = p->m;
	const struct model_weights *w = &m->weights;
	const struct norm_point *x = &m->acts.stack[stack].sub[first_point(p, stack)].x,
				*raw = &m->acts.stack[stack].embedding;
	const struct model_norm first = norm_of_pass(p, stack, first_norm_point(p, stack));
	const bool has_norm = m->shape.embedding_norm;

	m->ops->embed(m->dev, has_norm ? raw->sum : x->sum,
		      stack == STACK_ENCODER ? w->source_embed : w->embed, token_ids(p, stack),
		      model_token_positions(p, stack), model_embed_how(m, stack),
		      model_embedding_dropout(p, stack));
	if (has_norm)
		m->ops->norm(m->dev, x->sum, raw->mean, raw->rstd, raw->sum,
			     vector_of(w->embedding_scale[stack]),
			     vector_of(w->embedding_shift[stack]), model_embedding_norm(m));
	m->ops->norm(m->dev, x->out, x->mean, x->rstd, x->sum, first.scale, first.shift, first.how);
}

/* The gradients of the tables, from that of the embeddings. */
static void embedding_backward(const struct model_pass *p, enum model_stack stack,
			       struct tensor grad)
{
	const struct model *m = p->m;
	const struct model_weights *g = &m->grads;
	const struct dropout drop = model_embedding_dropout(p, stack);

	m->ops->embed_grad(m->dev, stack == STACK_ENCODER ? g->source_embed : g->embed, grad,
			   token_ids(p, stack), model_embed_how(m, stack).scale, drop);
	if (g->position[stack].data)
		m->ops->embed_grad(m->dev, g->position[stack], grad,
				   model_token_positions(p, stack), 1, drop);
}

void model_stack_end_backward(const struct model_pass *p, enum model_stack stack)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const struct norm_point *x = &a->stack[stack].sub[first_point(p, stack)].x,
				*raw = &a->stack[stack].embedding;
	const int32_t point = first_norm_point(p, stack);
	const struct model_norm w = norm_of_pass(p, stack, point),
				g = grads_of_norm(p, stack, point);
	const int64_t T = x->sum.rows;
	const struct tensor dsum = with_rows(a->dsum, T), dembed = with_rows(a->embed_grad, T);

	/* with post-norm all of dsum has been passed on */
	m->ops->norm_grad(m->dev, dsum, g.scale, g.shift, with_rows(a->dout, T), x->sum, x->mean,
			  x->rstd, w.scale, w.how, m->shape.norm_place == NORM_PRE);
	if (!m->shape.embedding_norm) {
		embedding_backward(p, stack, dsum);
		return;
	}
	m->ops->norm_grad(m->dev, dembed, vector_of(m->grads.embedding_scale[stack]),
			  vector_of(m->grads.embedding_shift[stack]), dsum, raw->sum, raw->mean,
			  raw->rstd, vector_of(m->weights.embedding_scale[stack]),
			  model_embedding_norm(m), false);
	embedding_backward(p, stack, dembed);
}

/* ---- around a sublayer ---------------------------------------------------- */

void model_residual_forward(const struct model_pass *p, const struct sublayer *at)
{
	const struct norm_point *x = &at->act->x, *to = &at->to->x;
	const struct model_norm norm = norm_of_pass(p, at->stack, norm_point_after(p, at));

	p->m->ops->add_norm(p->m->dev, to->sum, to->out, to->mean, to->rstd,
			    p->m->shape.norm_place == NORM_POST ? x->out : x->sum,
			    with_rows(p->m->acts.branch, x->sum.rows), vector_of(at->w->out_bias),
			    norm.scale, norm.shift, norm.how, model_dropout(p, at, DROPOUT_BRANCH));
}

void model_residual_backward(const struct model_pass *p, const struct sublayer *at)
{
	const struct model_acts *a = &p->m->acts;
	const struct norm_point *x = &at->to->x;
	const int32_t point = norm_point_after(p, at);
	const struct model_norm w = norm_of_pass(p, at->stack, point),
				g = grads_of_norm(p, at->stack, point);
	const int64_t T = x->sum.rows;
	const struct tensor dsum = with_rows(a->dsum, T);

	if (p->m->shape.norm_place == NORM_POST)
		p->m->ops->zero(p->m->dev, dsum.data, (size_t)(T * dsum.cols) * sizeof(float));
	p->m->ops->add_norm_grad(p->m->dev, dsum, with_rows(a->branch, T),
				 vector_of(at->g->out_bias), g.scale, g.shift,
				 with_rows(a->dout, T), x->sum, x->mean, x->rstd, w.scale, w.how,
				 model_dropout(p, at, DROPOUT_BRANCH));
}

void model_residual_pass(const struct model_pass *p, const struct sublayer *at)
{
	const struct model_acts *a = &p->m->acts;
	const int64_t T = at->act->x.sum.rows;

	if (p->m->shape.norm_place == NORM_POST)
		p->m->ops->add(p->m->dev, with_rows(a->dout, T), with_rows(a->dsum, T));
}
