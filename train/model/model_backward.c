/*
 * model_backward.c - the way back; see model_internal.h
 *
 * acts.dsum is the gradient of the residual stream and flows through the whole
 * stack; acts.dout is the gradient of a norm's output; acts.branch, no longer
 * needed for the forward pass, holds the gradient of a sublayer's branch.
 */
#include "train/model/model_internal.h"

#include <math.h>
#include <string.h>

/* A norm's parameters with their gradients. */
struct norm_pair {
	struct tensor scale, dscale, dshift;
};

/* out = in times weight: din = dout weight, dweight += dout^T in. */
static void product_grad(const struct model_pass *p, struct tensor din, struct tensor dweight,
			 struct tensor dout, struct tensor in, struct tensor weight)
{
	const struct model *m = p->m;

	m->ops->matmul(m->dev, dweight, dout, in,
		       (struct matmul_how){ .a_transposed = true, .accumulate = true });
	m->ops->matmul(m->dev, din, dout, weight, (struct matmul_how){ 0 });
}

static struct tensor wide_grad(const struct model_pass *p, int64_t rows, int64_t cols)
{
	struct tensor t = p->m->acts.wide_grad;

	t.rows = rows;
	t.cols = t.stride = cols;
	return t;
}

/* From dout of a point to dsum and the gradient of the branch that led to it. */
static void add_norm_backward(const struct model_pass *p, const struct norm_point *x,
			      struct norm_pair n, float *dbias, struct dropout drop)
{
	const struct model_acts *a = &p->m->acts;
	const int64_t T = x->sum.rows;

	p->m->ops->add_norm_grad(p->m->dev, with_rows(a->dsum, T), with_rows(a->branch, T), dbias,
				 vector_of(n.dscale), vector_of(n.dshift), with_rows(a->dout, T),
				 x->sum, x->mean, x->rstd, vector_of(n.scale), drop);
}

/* The weights of a feed-forward layer, or their gradients. */
struct ffn_weights {
	struct tensor in, in_bias, out;
};

static void feed_forward_grad(const struct model_pass *p, const struct norm_point *x,
			      struct tensor hidden, struct ffn_weights w, struct ffn_weights g,
			      struct dropout drop)
{
	const struct model_acts *a = &p->m->acts;
	const int64_t T = x->out.rows;
	struct tensor dhidden = wide_grad(p, T, hidden.cols);

	product_grad(p, dhidden, g.out, with_rows(a->branch, T), hidden, w.out);
	p->m->ops->relu_dropout_grad(p->m->dev, dhidden, vector_of(g.in_bias), hidden, drop);
	product_grad(p, with_rows(a->dout, T), g.in, dhidden, x->out, w.in);
}

struct self_weights {
	struct tensor qkv, out;
};

static void self_attention_grad(const struct model_pass *p, const struct norm_point *x,
				const struct layer_act *l, struct self_weights w,
				struct self_weights g, enum model_stack stack, int32_t layer)
{
	const struct model_acts *a = &p->m->acts;
	const int64_t D = p->m->shape.d_model, T = x->out.rows;
	struct tensor dqkv = wide_grad(p, T, 3 * D), dmix = with_rows(a->dout, T);

	product_grad(p, dmix, g.out, with_rows(a->branch, T), l->self_context, w.out);
	p->m->ops->attention_grad(p->m->dev, tensor_columns(dqkv, 0, D), tensor_columns(dqkv, D, D),
				  tensor_columns(dqkv, 2 * D, D), dmix, l->self_context,
				  l->self_lse, tensor_columns(l->qkv, 0, D),
				  tensor_columns(l->qkv, D, D), tensor_columns(l->qkv, 2 * D, D),
				  stack == STACK_ENCODER ? p->encoder_self : p->decoder_self,
				  model_dropout(p, stack, layer, SITE_SELF_WEIGHTS));
	product_grad(p, with_rows(a->dout, T), g.qkv, dqkv, x->out, w.qkv);
}

static void cross_attention_grad(const struct model_pass *p, const struct norm_point *x,
				 int32_t layer)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const struct layer_act *l = &a->decoder.layers[layer];
	const struct model_decoder_layer *w = &m->weights.decoder[layer],
					 *g = &m->grads.decoder[layer];
	const int64_t D = m->shape.d_model, T = x->out.rows, k = 2 * D * layer, v = k + D;
	struct tensor dq = wide_grad(p, T, D), dmix = with_rows(a->dout, T);

	product_grad(p, dmix, g->cross_out, with_rows(a->branch, T), l->cross_context,
		     w->cross_out);
	m->ops->attention_grad(m->dev, dq, tensor_columns(a->dmemory_kv, k, D),
			       tensor_columns(a->dmemory_kv, v, D), dmix, l->cross_context,
			       l->cross_lse, l->cross_q, tensor_columns(a->memory_kv, k, D),
			       tensor_columns(a->memory_kv, v, D), p->cross,
			       model_dropout(p, STACK_DECODER, layer, SITE_CROSS_WEIGHTS));
	product_grad(p, with_rows(a->dout, T), g->cross_q, dq, x->out, w->cross_q);
}

static void clear_dsum(const struct model_pass *p, int64_t rows)
{
	const struct model *m = p->m;

	m->ops->zero(m->dev, m->acts.dsum.data, (size_t)(rows * m->shape.d_model) * sizeof(float));
}

/* The first norm of a stack and the embedding below it. */
static void end_stack(const struct model_pass *p, enum model_stack stack, struct norm_pair n)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const struct norm_point *x = stack == STACK_ENCODER ? a->encoder.points : a->decoder.points;
	struct tensor dsum = with_rows(a->dsum, x->sum.rows);

	m->ops->norm_grad(m->dev, dsum, vector_of(n.dscale), vector_of(n.dshift),
			  with_rows(a->dout, x->sum.rows), x->sum, x->mean, x->rstd,
			  vector_of(n.scale), true);
	m->ops->embed_grad(m->dev, m->grads.embed, dsum,
			   stack == STACK_ENCODER ? a->ids.source : a->ids.target_in,
			   sqrtf((float)m->shape.d_model),
			   model_dropout(p, stack, 0, SITE_EMBEDDING));
}

/*
 * Gradients are final from first on, which is the lowest of them in the arena. What is kept as a
 * graph ends here if somebody wants to know, and with the last of them.
 */
static void report_gradients_ready(const struct model_pass *p, struct tensor first)
{
	struct model *m = p->m;
	const int64_t from = (const float *)first.data - m->grad;

	if (p->graph && from == 0)
		m->ops->graph_end(m->dev);
	if (!p->how->ready)
		return;
	if (p->graph && from > 0)
		m->ops->graph_pause(m->dev);
	m->ready_at[m->n_ready++] = from;
	p->how->ready(p->how->ready_arg, from);
	if (p->graph && from > 0)
		m->ops->graph_resume(m->dev);
}

#define NORM(w, g, field)                                                                          \
	(struct norm_pair)                                                                         \
	{                                                                                          \
		(w)->field##_scale, (g)->field##_scale, (g)->field##_shift                         \
	}
#define FFN(w)                                                                                     \
	(struct ffn_weights)                                                                       \
	{                                                                                          \
		(w)->ffn_in, (w)->ffn_in_bias, (w)->ffn_out                                        \
	}
#define SELF(w)                                                                                    \
	(struct self_weights)                                                                      \
	{                                                                                          \
		(w)->self_qkv, (w)->self_out                                                       \
	}

static void decoder_backward(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;

	clear_dsum(p, p->extent.target);
	for (int32_t i = m->shape.decoder_layers - 1; i >= 0; i--) {
		const struct model_decoder_layer *w = &m->weights.decoder[i],
						 *g = &m->grads.decoder[i];
		const struct layer_act *l = &a->decoder.layers[i];
		const struct norm_point *x = &a->decoder.points[3 * i];
		bool last = i == m->shape.decoder_layers - 1;

		add_norm_backward(p, &x[3],
				  last ? NORM(&m->weights, &m->grads, decoder_norm)
				       : NORM(w + 1, g + 1, self_norm),
				  vector_of(g->ffn_out_bias),
				  model_dropout(p, STACK_DECODER, i, SITE_FFN));
		feed_forward_grad(p, &x[2], l->hidden, FFN(w), FFN(g),
				  model_dropout(p, STACK_DECODER, i, SITE_RELU));
		add_norm_backward(p, &x[2], NORM(w, g, ffn_norm), NULL,
				  model_dropout(p, STACK_DECODER, i, SITE_CROSS));
		cross_attention_grad(p, &x[1], i);
		add_norm_backward(p, &x[1], NORM(w, g, cross_norm), NULL,
				  model_dropout(p, STACK_DECODER, i, SITE_SELF));
		self_attention_grad(p, &x[0], l, SELF(w), SELF(g), STACK_DECODER, i);
		report_gradients_ready(
			p, g->self_qkv); /* its norm before that ends with the layer below */
	}
	end_stack(p, STACK_DECODER, NORM(&m->weights.decoder[0], &m->grads.decoder[0], self_norm));
	report_gradients_ready(p, m->grads.decoder[0].self_norm_scale);
}

static void encoder_backward(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const int32_t n = m->shape.encoder_layers;

	product_grad(p, with_rows(a->dout, p->extent.source), m->grads.cross_kv, a->dmemory_kv,
		     a->encoder.points[2 * n].out, m->weights.cross_kv);
	report_gradients_ready(p, m->grads.cross_kv);
	clear_dsum(p, p->extent.source);
	for (int32_t i = n - 1; i >= 0; i--) {
		const struct model_encoder_layer *w = &m->weights.encoder[i],
						 *g = &m->grads.encoder[i];
		const struct layer_act *l = &a->encoder.layers[i];
		const struct norm_point *x = &a->encoder.points[2 * i];
		bool last = i == n - 1;

		add_norm_backward(p, &x[2],
				  last ? NORM(&m->weights, &m->grads, encoder_norm)
				       : NORM(w + 1, g + 1, self_norm),
				  vector_of(g->ffn_out_bias),
				  model_dropout(p, STACK_ENCODER, i, SITE_FFN));
		feed_forward_grad(p, &x[1], l->hidden, FFN(w), FFN(g),
				  model_dropout(p, STACK_ENCODER, i, SITE_RELU));
		add_norm_backward(p, &x[1], NORM(w, g, ffn_norm), NULL,
				  model_dropout(p, STACK_ENCODER, i, SITE_SELF));
		self_attention_grad(p, &x[0], l, SELF(w), SELF(g), STACK_ENCODER, i);
		report_gradients_ready(p, g->self_qkv);
	}
	end_stack(p, STACK_ENCODER, NORM(&m->weights.encoder[0], &m->grads.encoder[0], self_norm));
	report_gradients_ready(p, m->grads.embed);
}

/* ---- a pass ------------------------------------------------------------------------------ */

static uint64_t pack_two_ints(int32_t a, int32_t b)
{
	return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

static uint64_t pack_two_floats(float a, float b)
{
	int32_t bits[2];

	memcpy(&bits[0], &a, sizeof(a));
	memcpy(&bits[1], &b, sizeof(b));
	return pack_two_ints(bits[0], bits[1]);
}

/* All that the arguments of a pass's ops follow from, besides the model itself. */
static struct graph_key graph_key_of_pass(const struct model_pass *p)
{
	const struct model_pass_options *how = p->how;
	const struct batch_extent *x = &p->extent;

	return (struct graph_key){ {
		pack_two_ints(x->source, x->target),
		pack_two_ints(x->max_source, x->max_target),
		pack_two_ints(x->sentences, p->m->batch_slot),
		pack_two_floats(how->dropout, how->attention_dropout),
		pack_two_floats(how->relu_dropout, how->smoothing),
		pack_two_floats(how->grad_scale, 0),
		how->seed,
		how->ready != NULL,
	} };
}

static void run_forward_backward(const struct model_pass *p)
{
	p->m->n_ready = 0;
	model_encoder_forward(p);
	model_decoder_forward(p);
	model_head(p, true);
	model_head_sums(p);
	decoder_backward(p);
	encoder_backward(p);
}

/* The same by graphs, each of which ends where something is ready; false: there are none yet. */
static bool replay_graphs(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct graph_key key = graph_key_of_pass(p);
	const int n = m->ops->graph_begin(m->dev, &key);

	for (int i = 0; i < n; i++) {
		m->ops->graph_replay(m->dev, i);
		if (p->how->ready)
			p->how->ready(p->how->ready_arg, m->ready_at[i]);
	}
	return n > 0;
}

int model_forward_backward(struct model *m, const struct batch *b,
			   const struct model_pass_options *how, struct model_sums *sums,
			   struct err *e)
{
	struct model_pass p = {
		.m = m, .b = b, .how = how, .smoothing = how->smoothing, .graph = m->pads_batches
	};

	if (!m->grad)
		return err_set(e, ERR_INTERNAL, "the model was not reserved for training");
	if (model_pass_begin(&p, e))
		return e->code;
	if (sums)
		model_discard_sums(m);
	m->tokens += b->n_target;
	if (!p.graph || !replay_graphs(&p))
		run_forward_backward(&p);
	return sums ? model_collect_sums(m, sums, e) : 0;
}
