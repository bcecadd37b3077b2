/*
 * model_forward.c - a pass, and its forward part; see model_internal.h and sublayer.h
 *
 * A packed batch has its sentences one after the other, without padding:
 *
 *	source		x1 x2 </s> | x1 x2 x3 </s> | …		source_start = 0, 3, 7, …
 *	target_in	<s> y1     | <s> y1 y2     | …		target_start = 0, 2, 5, …
 *	target_out	y1 </s>    | y1 y2 </s>    | …
 *
 * So every activation is a matrix with one row for each token, and no op computes padding. Only
 * attention depends on where sentences start: struct attention_shape has these row numbers, in the
 * backend's memory, and the lengths of the longest sentences, from which the backend chooses its
 * kernels. The encoder's self attention uses source_start for queries and keys, the decoder's uses
 * target_start with a causal mask, the cross attention target_start and source_start.
 *
 * A pass is model_pass_begin() (check and send the batch), encoder, decoder, and model_head(),
 * which computes logits and losses in chunks. The forward pass of training stores the activations
 * of every layer for model_backward.c; other passes use the memory of one layer for all layers.
 * When a GPU trains, model_batch.c pads the batch first.
 */
#include <assert.h>

#include "train/model/sublayer.h"

/* ---- the stacks -------------------------------------------------------- */

static void stack_forward(const struct model_pass *p, enum model_stack stack)
{
	model_stack_begin(p, stack);
	for (int32_t i = 0; i < p->m->acts.stack[stack].n; i++) {
		const struct sublayer at = model_sublayer(p, stack, i);

		if (model_is_skipped(p, stack, i))
			continue;
		at.kind->forward(p, &at);
		model_residual_forward(p, &at);
	}
}

void model_encoder_forward(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct stack_act *encoder = &m->acts.stack[STACK_ENCODER];

	stack_forward(p, STACK_ENCODER);
	model_linear(m, m->acts.memory_kv, encoder->sub[encoder->n].x.out, m->weights.cross_kv,
		     m->weights.cross_kv_bias, false);
}

void model_decoder_forward(const struct model_pass *p)
{
	stack_forward(p, STACK_DECODER);
}

/* ---- a pass ------------------------------------------------------------ */

/* Pairs of a query and a key: in the encoder, in the decoder, in the cross attention. */
static void count_pairs(const struct batch *b, int32_t copies, int64_t pairs[3])
{
	pairs[0] = pairs[1] = pairs[2] = 0;
	for (int32_t s = 0; s < b->n; s++) {
		int64_t source = b->source_start[s + 1] - b->source_start[s],
			target = b->target_start[s + 1] - b->target_start[s];

		pairs[0] += copies * source * source;
		pairs[1] += copies * target * (target + 1) / 2;
		pairs[2] += copies * source * target;
	}
}

/* The sentences of one language: their first rows, and a bound of their lengths. */
struct pass_side {
	const int32_t *start;
	int32_t longest;
};

static struct attention_shape attention_between(const struct model_pass *p, enum model_stack stack,
						struct pass_side q, struct pass_side k,
						int64_t pairs)
{
	return (struct attention_shape){
		.q_start = q.start,
		.k_start = k.start,
		.n = p->extent.sentences,
		.heads = model_heads(&p->m->shape, stack),
		.max_q = q.longest,
		.max_k = k.longest,
		.pairs = pairs,
	};
}

int model_pass_begin(struct model_pass *p, struct err *e)
{
	struct model *m = p->m;
	const struct batch *b = p->b;
	const struct device_batch *ids = &m->acts.ids;
	const struct batch_extent *x = &p->extent;
	struct pass_side source, target;
	int64_t pairs[3];

	if (b->n < 1 || b->n > m->cap_sentences || b->n_source < 1 || b->n_source > m->cap_tokens ||
	    b->n_target > m->cap_tokens)
		return err_set(e, ERR_INTERNAL,
			       "a batch has %d sentences, %d source and %d target tokens, "
			       "but the model has reserved memory for %d sentences and %d tokens",
			       b->n, b->n_source, b->n_target, m->cap_sentences, m->cap_tokens);
	if (MAX(b->max_source, b->max_target) > model_longest_sentence(&m->shape))
		return err_set(e, ERR_DATA,
			       "a sentence has %d tokens, but the model has %d positions: lower "
			       "max_tokens of the corpus",
			       MAX(b->max_source, b->max_target),
			       model_longest_sentence(&m->shape));
	model_refresh_rounded(m);
	model_skip_layers(p);
	p->copies = p->how && p->how->r_drop > 0 ? 2 : 1;
	assert(p->copies <= MAX(m->copies, 1));
	p->extent = model_copies_extent(model_extent(b, m->cap_tokens, p->graph), p->copies);
	assert(b->source_start[b->n] == b->n_source && b->target_start[b->n] == b->n_target);
	assert(x->source >= b->n_source && x->target >= b->n_target && x->sentences >= b->n);
	model_acts_set_rows(&m->acts, x->source, x->target);
	m->acts.losses.cols = x->target / p->copies;
	model_send_batch(p);
	count_pairs(b, p->copies, pairs);
	source = (struct pass_side){ ids->source_start, x->max_source };
	target = (struct pass_side){ ids->target_start, x->max_target };
	p->self[STACK_ENCODER] = attention_between(p, STACK_ENCODER, source, source, pairs[0]);
	p->self[STACK_DECODER] = attention_between(p, STACK_DECODER, target, target, pairs[1]);
	p->self[STACK_DECODER].causal = true;
	p->cross = attention_between(p, STACK_DECODER, target, source, pairs[2]);
	return 0;
}

/* The losses of a batch, not yet collected. */
static int begin_evaluation(struct model_pass *p, struct err *e)
{
	if (model_pass_begin(p, e))
		return e->code;
	model_discard_sums(p->m);
	p->m->tokens = p->b->n_target;
	model_encoder_forward(p);
	model_decoder_forward(p);
	model_head(p, false);
	model_head_sums(p);
	return 0;
}

int model_evaluate(struct model *m, const struct batch *b, float smoothing, struct model_sums *sums,
		   struct err *e)
{
	struct model_pass p = { .m = m, .b = b, .smoothing = smoothing };

	return begin_evaluation(&p, e) ? e->code : model_collect_sums(m, sums, e);
}

int model_predict(struct model *m, const struct batch *b, int32_t *ids, struct model_sums *sums,
		  struct err *e)
{
	struct model_pass p = { .m = m, .b = b, .predict = true };

	if (begin_evaluation(&p, e))
		return e->code;
	m->ops->to_host(m->dev, ids, m->acts.ids.target_in, (size_t)b->n_target * sizeof(*ids));
	return model_collect_sums(m, sums, e);
}

int model_log_probs(struct model *m, const struct batch *b, float *log_probs, struct err *e)
{
	struct model_pass p = { .m = m, .b = b };
	struct model_sums sums;

	if (begin_evaluation(&p, e))
		return e->code;
	m->ops->to_host(m->dev, log_probs, vector_of(m->acts.losses) + m->acts.losses.stride,
			(size_t)b->n_target * sizeof(*log_probs));
	if (model_collect_sums(m, &sums, e))
		return e->code;
	for (int32_t i = 0; i < b->n_target; i++)
		log_probs[i] = -log_probs[i]; /* the loss is their negative */
	return 0;
}

int model_encode(struct model *m, const struct batch *b, struct tensor *memory_kv, struct err *e)
{
	struct model_pass p = { .m = m, .b = b };

	if (model_pass_begin(&p, e))
		return e->code;
	model_encoder_forward(&p);
	*memory_kv = m->acts.memory_kv;
	return m->ops->sync(m->dev, e);
}
