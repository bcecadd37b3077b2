/*
 * model_backward.c - the backward pass, and its replay as CUDA graphs; see model_internal.h
 *
 * Three buffers hold the gradients of activations while the pass goes down a stack:
 *
 *	acts.dsum	of the residual stream; every point adds to it
 *	acts.dout	of the output of the current point's norm
 *	acts.branch	of the branch of the current sublayer (the forward pass needs it no more)
 *
 * At a point, model_residual_backward() turns dout into dsum and branch. The sublayer below turns branch
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
#include <assert.h>
#include <string.h>

#include "train/model/sublayer.h"

/*
 * The gradients from the tensor first on are final. If the caller has a hook, a piece of the graph
 * ends here; the last piece ends with the last report.
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
	assert(m->n_ready < MODEL_MAX_READY_CALLS);
	assert(m->n_ready ? from < m->ready_at[m->n_ready - 1] : from < m->floats);
	m->ready_at[m->n_ready++] = from;
	p->how->ready(p->how->ready_arg, from);
	if (p->graph && from > 0)
		m->ops->graph_resume(m->dev);
}

/* Each cross attention overwrites the columns of its layer; those of skipped layers get no gradient. */
static void zero_memory_gradient(const struct model_pass *p)
{
	const struct tensor d = p->m->acts.dmemory_kv;

	assert(d.stride == d.cols);
	p->m->ops->zero(p->m->dev, d.data, (size_t)(d.rows * d.cols) * dtype_bytes(d.dtype));
}

/* first: of the flat array, the tensor where the gradients of this stack begin. */
static void stack_backward(const struct model_pass *p, enum model_stack stack, struct tensor first)
{
	const struct model *m = p->m;
	const struct stack_act *acts = &m->acts.stack[stack];
	const int64_t floats = acts->sub[0].x.sum.rows * m->shape.d_model;

	m->ops->zero(m->dev, m->acts.dsum.data, (size_t)floats * sizeof(float));
	if (stack == STACK_DECODER && p->skipped[stack])
		zero_memory_gradient(p);
	for (int32_t i = acts->n - 1; i >= 0; i--) {
		const struct sublayer at = model_sublayer(p, stack, i);

		if (model_is_skipped(p, stack, i))
			continue;
		model_residual_backward(p, &at);
		at.kind->backward(p, &at);
		model_residual_pass(p, &at);
		/* the norm before this tensor becomes final in the layer below */
		if (at.is_first)
			report_gradients_ready(p, at.g->in);
	}
	model_stack_end_backward(p, stack);
	report_gradients_ready(p, first);
}

static void memory_backward(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct stack_act *encoder = &m->acts.stack[STACK_ENCODER];

	model_bias_grad(p, m->grads.cross_kv_bias, m->acts.dmemory_kv);
	model_product_grad(p, with_rows(m->acts.dout, p->extent.source), m->grads.cross_kv,
			   m->acts.dmemory_kv, encoder->sub[encoder->n].x.out, m->weights.cross_kv);
	report_gradients_ready(p, m->grads.cross_kv);
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
		pack_two_floats(how->grad_scale, how->r_drop),
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
	stack_backward(p, STACK_DECODER, p->m->grads.stack[STACK_DECODER].sub[0].norm_scale);
	memory_backward(p);
	stack_backward(p, STACK_ENCODER, p->m->grads.embed);
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
	assert(!p.graph || how->layer_drop == 0);
	if (model_pass_begin(&p, e))
		return e->code;
	if (sums)
		model_discard_sums(m);
	m->tokens += b->n_target;
	if (!p.graph || !replay_graphs(&p))
		run_forward_backward(&p);
	return sums ? model_collect_sums(m, sums, e) : 0;
}
