/*
 * model_backward.c - the backward pass, and its replay as CUDA graphs; see model_internal.h
 *
 * Three buffers hold the gradients of activations while the pass goes down a stack:
 *
 *	acts.dsum	of the residual stream; every point adds to it
 *	acts.dout	of the output of the current point's norm
 *	acts.branch	of the branch of the current sublayer (the forward pass needs it no more)
 *
 * At a point, add_norm_backward() turns dout into dsum and branch. The sublayer below turns branch
 * into the dout of the point before, and adds to the gradients of its weights; wide_grad holds its
 * inner gradient. The decoder comes first. Its cross attentions add up dmemory_kv, where the
 * encoder starts. The rows of a packed batch need no special care here (see model_forward.c).
 *
 * Weights lie in the flat array in the order of the forward pass, so gradients become final from
 * its end to its start. After each layer report_gradients_ready() says from where on the array is
 * final, and a reduction over ranks can send this part during the rest of the pass.
 *
 * CUDA graphs: a training pass is recorded in pieces, one for each part between two such reports,
 * because the reduction's work is not part of a graph. replay_graphs() replays the pieces and
 * makes the same reports (model.ready_at).
 */
#include "train/model/model_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The scale of a norm, and the gradients of its scale and shift. */
struct norm_pair {
	struct tensor scale, dscale, dshift;
};

/*
 * For out = in weight^T: din = dout weight, dweight += dout^T in. A GPU may compute dweight beside the
 * ops that follow (matmul_how.aside). Its inputs last long enough: acts.branch and acts.wide_grad are
 * read here in turns, and each is overwritten only behind the next call of this function.
 */
static void product_grad(const struct model_pass *p, struct tensor din, struct tensor dweight,
			 struct tensor dout, struct tensor in, struct tensor weight)
{
	const struct model *m = p->m;

	m->ops->matmul(
		m->dev, dweight, dout, in,
		(struct matmul_how){ .a_transposed = true, .accumulate = true, .aside = true });
	m->ops->matmul(m->dev, din, dout, weight, (struct matmul_how){ 0 });
}

/* acts.wide_grad as (rows, cols). */
static struct tensor view_wide_grad(const struct model_pass *p, int64_t rows, int64_t cols)
{
	struct tensor t = p->m->acts.wide_grad;

	assert(cols <= t.cols);
	t.rows = rows;
	t.cols = t.stride = cols;
	return t;
}

/* From acts.dout of point x: add to acts.dsum, and set acts.branch. */
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
	struct tensor dhidden = view_wide_grad(p, T, hidden.cols);

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
	struct tensor dqkv = view_wide_grad(p, T, 3 * D), dcontext = with_rows(a->dout, T);

	product_grad(p, dcontext, g.out, with_rows(a->branch, T), l->self_context, w.out);
	p->m->ops->attention_grad(p->m->dev, tensor_columns(dqkv, 0, D), tensor_columns(dqkv, D, D),
				  tensor_columns(dqkv, 2 * D, D), dcontext, l->self_context,
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
	struct tensor dq = view_wide_grad(p, T, D), dcontext = with_rows(a->dout, T);

	product_grad(p, dcontext, g->cross_out, with_rows(a->branch, T), l->cross_context,
		     w->cross_out);
	m->ops->attention_grad(m->dev, dq, tensor_columns(a->dmemory_kv, k, D),
			       tensor_columns(a->dmemory_kv, v, D), dcontext, l->cross_context,
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

/* The first norm of a stack and the embedding, where the backward pass of the stack ends. */
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
 * The gradients from the tensor first on are final. If the caller has a hook, a piece of the graph
 * ends here; the last piece ends with the last report.
 */
static void report_gradients_ready(const struct model_pass *p, struct tensor first)
{
	struct model *m = p->m;
	const int64_t from = (const float *)first.data - m->grad;

	if (m->ops->wait_aside && (p->how->ready || from == 0))
		m->ops->wait_aside(m->dev);
	if (p->graph && from == 0)
		m->ops->graph_end(m->dev);
	if (!p->how->ready)
		return;
	if (p->graph && from > 0)
		m->ops->graph_pause(m->dev);
	assert(m->n_ready < MODEL_MAX_READY_CALLS);
	assert(m->n_ready ? from < m->ready_at[m->n_ready - 1] : from < m->floats);
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
		/* the norm before self_qkv becomes final in the layer below */
		report_gradients_ready(p, g->self_qkv);
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

/*
 * Everything that the arguments of a training pass's ops depend on, except the model. Step and
 * micro-batch are not part of it: dropout reads them from the backend's memory (rng_step).
 */
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

/*
 * Replay the pass piece by piece, with the same calls of the hook. False: the pass has no graphs
 * yet, and the backend records what follows.
 */
static bool replay_graphs(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct graph_key key = graph_key_of_pass(p);
	const int n = m->ops->graph_begin(m->dev, &key);

	assert(n >= 0 && n <= MODEL_MAX_READY_CALLS);
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
	struct model_pass p = { .m = m,
				.b = b,
				.how = how,
				.smoothing = how->smoothing,
				.graph = m->pads_batches && m->options.graphs };

	if (!m->grad)
		return err_set(e, ERR_INTERNAL, "the model has reserved no memory for training");
	if (model_pass_begin(&p, e))
		return e->code;
	if (sums)
		model_discard_sums(m);
	m->tokens += b->n_target;
	if (!p.graph || !replay_graphs(&p))
		run_forward_backward(&p);
	return sums ? model_collect_sums(m, sums, e) : 0;
}
