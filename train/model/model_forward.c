/*
 * model_forward.c - the forward pass: encoder, decoder, evaluation; see model_internal.h
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
#include "train/model/model_internal.h"

#include <assert.h>
#include <math.h>

/*
 * The random numbers of each site. They must never change, or a resumed run would draw other masks.
 * So the first DROPOUT_STRIDE sites of a layer keep the numbers that they had when there were no
 * others, and further sites get numbers after all of these.
 */
#define DROPOUT_STRIDE 6  /* as many as enum model_site had in release 0.1.0 */
#define DROPOUT_MORE   16 /* at most so many further sites */
#define DROPOUT_AFTER  (2 + 2 * MODEL_MAX_LAYERS * DROPOUT_STRIDE)

static uint32_t dropout_number(enum model_stack stack, int32_t layer, enum model_site site)
{
	const uint32_t of_layer = (uint32_t)stack * MODEL_MAX_LAYERS + (uint32_t)layer;
	const uint32_t at = (uint32_t)site;

	static_assert(SITE_FFN == DROPOUT_STRIDE - 1,
		      "the sites of 0.1.0 come first, in their order");
	static_assert(N_LAYER_SITES <= DROPOUT_STRIDE + DROPOUT_MORE, "more sites than numbers");
	if (site == SITE_EMBEDDING)
		return (uint32_t)stack;
	if (at < DROPOUT_STRIDE)
		return 2 + of_layer * DROPOUT_STRIDE + at;
	return DROPOUT_AFTER + of_layer * DROPOUT_MORE + (at - DROPOUT_STRIDE);
}

struct dropout model_dropout(const struct model_pass *p, enum model_stack stack, int32_t layer,
			     enum model_site site)
{
	const struct model_pass_options *how = p->how;
	const uint32_t number = dropout_number(stack, layer, site);
	struct dropout drop = { 0 };

	assert(layer >= 0 && layer < MODEL_MAX_LAYERS && site != N_LAYER_SITES);
	if (!how)
		return drop;
	drop.rate = site == SITE_SELF_WEIGHTS || site == SITE_CROSS_WEIGHTS ? how->attention_dropout
		    : site == SITE_RELU					    ? how->relu_dropout
									    : how->dropout;
	drop.key = rng_key_make(how->seed, RNG_DROPOUT | number << 8, 0, 0);
	drop.rng_step = p->m->acts.ids.rng_step;
	return drop;
}

/* out (T, outputs) = in (T, inputs) times the transposed weight (outputs, inputs). */
static void linear_forward(const struct model_pass *p, struct tensor out, struct tensor in,
			   struct tensor weight)
{
	model_linear(p->m, out, in, weight, NULL, false);
}

/* Sentences of an attention, and the dropout of its weights. */
struct attention_args {
	struct attention_shape shape;
	struct dropout drop;
};

static void self_attention_forward(const struct model_pass *p, struct tensor in,
				   const struct layer_act *l, struct tensor qkv_weight,
				   struct tensor out_weight, struct attention_args how)
{
	const int64_t D = p->m->shape.d_model;

	linear_forward(p, l->qkv, in, qkv_weight);
	p->m->ops->attention(p->m->dev, l->self_context, l->self_lse, tensor_columns(l->qkv, 0, D),
			     tensor_columns(l->qkv, D, D), tensor_columns(l->qkv, 2 * D, D),
			     how.shape, how.drop);
	linear_forward(p, with_rows(p->m->acts.branch, in.rows), l->self_context, out_weight);
}

static void cross_attention_forward(const struct model_pass *p, struct tensor in, int32_t layer,
				    struct attention_args how)
{
	const int64_t D = p->m->shape.d_model;
	const struct model_acts *a = &p->m->acts;
	const struct layer_act *l = &a->decoder.layers[layer];
	const struct model_decoder_layer *w = &p->m->weights.decoder[layer];

	linear_forward(p, l->cross_q, in, w->cross_q);
	p->m->ops->attention(p->m->dev, l->cross_context, l->cross_lse, l->cross_q,
			     tensor_columns(a->memory_kv, 2 * D * layer, D),
			     tensor_columns(a->memory_kv, 2 * D * layer + D, D), how.shape,
			     how.drop);
	linear_forward(p, with_rows(a->branch, in.rows), l->cross_context, w->cross_out);
}

static void ffn_forward(const struct model_pass *p, struct tensor in, struct tensor hidden,
			struct tensor in_weight, struct tensor in_bias, struct tensor out_weight,
			struct dropout drop)
{
	if (drop.rate > 0) {
		linear_forward(p, hidden, in, in_weight);
		p->m->ops->relu_dropout(p->m->dev, hidden, vector_of(in_bias), drop);
	} else {
		model_linear(p->m, hidden, in, in_weight, &in_bias, true);
	}
	linear_forward(p, with_rows(p->m->acts.branch, in.rows), hidden, out_weight);
}

/* Add acts.branch to the sum of point[0]; the result is point[1]. */
static void add_norm_forward(const struct model_pass *p, struct norm_point *point,
			     const float *bias, struct tensor scale, struct tensor shift,
			     struct dropout drop)
{
	struct norm_point *to = point + 1;

	p->m->ops->add_norm(p->m->dev, to->sum, to->out, to->mean, to->rstd, point->sum,
			    with_rows(p->m->acts.branch, point->sum.rows), bias, vector_of(scale),
			    vector_of(shift), drop);
}

static void begin_stack(const struct model_pass *p, enum model_stack stack)
{
	const struct model *m = p->m;
	const struct device_batch *ids = &m->acts.ids;
	const struct model_weights *w = &m->weights;
	bool encoder = stack == STACK_ENCODER;
	struct norm_point *x = encoder ? m->acts.encoder.points : m->acts.decoder.points;

	m->ops->embed(m->dev, x->sum, w->embed, encoder ? ids->source : ids->target_in,
		      encoder ? ids->source_position : ids->target_position,
		      sqrtf((float)m->shape.d_model), model_dropout(p, stack, 0, SITE_EMBEDDING));
	m->ops->norm(
		m->dev, x->out, x->mean, x->rstd, x->sum,
		vector_of(encoder ? w->encoder[0].self_norm_scale : w->decoder[0].self_norm_scale),
		vector_of(encoder ? w->encoder[0].self_norm_shift : w->decoder[0].self_norm_shift));
}

void model_encoder_forward(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const int32_t n = m->shape.encoder_layers;

	begin_stack(p, STACK_ENCODER);
	for (int32_t i = 0; i < n; i++) {
		const struct model_encoder_layer *w = &m->weights.encoder[i];
		const struct layer_act *l = &a->encoder.layers[i];
		struct norm_point *x = &a->encoder.points[2 * i];
		struct attention_args self = { p->encoder_self, model_dropout(p, STACK_ENCODER, i,
									      SITE_SELF_WEIGHTS) };
		bool last = i == n - 1;

		self_attention_forward(p, x[0].out, l, w->self_qkv, w->self_out, self);
		add_norm_forward(p, &x[0], NULL, w->ffn_norm_scale, w->ffn_norm_shift,
				 model_dropout(p, STACK_ENCODER, i, SITE_SELF));
		ffn_forward(p, x[1].out, l->hidden, w->ffn_in, w->ffn_in_bias, w->ffn_out,
			    model_dropout(p, STACK_ENCODER, i, SITE_RELU));
		add_norm_forward(p, &x[1], vector_of(w->ffn_out_bias),
				 last ? m->weights.encoder_norm_scale : w[1].self_norm_scale,
				 last ? m->weights.encoder_norm_shift : w[1].self_norm_shift,
				 model_dropout(p, STACK_ENCODER, i, SITE_FFN));
	}
	linear_forward(p, a->memory_kv, a->encoder.points[2 * n].out, m->weights.cross_kv);
}

void model_decoder_forward(const struct model_pass *p)
{
	const struct model *m = p->m;
	const struct model_acts *a = &m->acts;
	const int32_t n = m->shape.decoder_layers;

	begin_stack(p, STACK_DECODER);
	for (int32_t i = 0; i < n; i++) {
		const struct model_decoder_layer *w = &m->weights.decoder[i];
		const struct layer_act *l = &a->decoder.layers[i];
		struct norm_point *x = &a->decoder.points[3 * i];
		struct attention_args self = { p->decoder_self, model_dropout(p, STACK_DECODER, i,
									      SITE_SELF_WEIGHTS) };
		struct attention_args cross = { p->cross, model_dropout(p, STACK_DECODER, i,
									SITE_CROSS_WEIGHTS) };
		bool last = i == n - 1;

		self_attention_forward(p, x[0].out, l, w->self_qkv, w->self_out, self);
		add_norm_forward(p, &x[0], NULL, w->cross_norm_scale, w->cross_norm_shift,
				 model_dropout(p, STACK_DECODER, i, SITE_SELF));
		cross_attention_forward(p, x[1].out, i, cross);
		add_norm_forward(p, &x[1], NULL, w->ffn_norm_scale, w->ffn_norm_shift,
				 model_dropout(p, STACK_DECODER, i, SITE_CROSS));
		ffn_forward(p, x[2].out, l->hidden, w->ffn_in, w->ffn_in_bias, w->ffn_out,
			    model_dropout(p, STACK_DECODER, i, SITE_RELU));
		add_norm_forward(p, &x[2], vector_of(w->ffn_out_bias),
				 last ? m->weights.decoder_norm_scale : w[1].self_norm_scale,
				 last ? m->weights.decoder_norm_shift : w[1].self_norm_shift,
				 model_dropout(p, STACK_DECODER, i, SITE_FFN));
	}
}

/* ---- a pass ------------------------------------------------------------ */

/* Pairs of a query and a key: in the encoder, in the decoder, in the cross attention. */
static void count_pairs(const struct batch *b, int64_t pairs[3])
{
	pairs[0] = pairs[1] = pairs[2] = 0;
	for (int32_t s = 0; s < b->n; s++) {
		int64_t source = b->source_start[s + 1] - b->source_start[s],
			target = b->target_start[s + 1] - b->target_start[s];

		pairs[0] += source * source;
		pairs[1] += target * (target + 1) / 2;
		pairs[2] += source * target;
	}
}

int model_pass_begin(struct model_pass *p, struct err *e)
{
	struct model *m = p->m;
	const struct batch *b = p->b;
	const struct device_batch *ids = &m->acts.ids;
	const struct batch_extent *x = &p->extent;
	int64_t pairs[3];

	if (b->n < 1 || b->n > m->cap_sentences || b->n_source < 1 || b->n_source > m->cap_tokens ||
	    b->n_target > m->cap_tokens)
		return err_set(e, ERR_INTERNAL,
			       "a batch has %d sentences, %d source and %d target tokens, "
			       "but the model has reserved memory for %d sentences and %d tokens",
			       b->n, b->n_source, b->n_target, m->cap_sentences, m->cap_tokens);
	model_refresh_rounded(m);
	p->extent = model_extent(b, m->cap_tokens, p->graph);
	assert(b->source_start[b->n] == b->n_source && b->target_start[b->n] == b->n_target);
	assert(x->source >= b->n_source && x->target >= b->n_target && x->sentences >= b->n);
	model_acts_set_rows(&m->acts, x->source, x->target);
	model_send_batch(p);
	count_pairs(b, pairs);
	p->encoder_self = (struct attention_shape){
		.q_start = ids->source_start,
		.k_start = ids->source_start,
		.n = x->sentences,
		.heads = m->shape.heads,
		.max_q = x->max_source,
		.max_k = x->max_source,
		.pairs = pairs[0],
	};
	p->decoder_self = (struct attention_shape){
		.q_start = ids->target_start,
		.k_start = ids->target_start,
		.n = x->sentences,
		.heads = m->shape.heads,
		.max_q = x->max_target,
		.max_k = x->max_target,
		.causal = true,
		.pairs = pairs[1],
	};
	p->cross = (struct attention_shape){
		.q_start = ids->target_start,
		.k_start = ids->source_start,
		.n = x->sentences,
		.heads = m->shape.heads,
		.max_q = x->max_target,
		.max_k = x->max_source,
		.pairs = pairs[2],
	};
	return 0;
}

int model_evaluate(struct model *m, const struct batch *b, float smoothing, struct model_sums *sums,
		   struct err *e)
{
	struct model_pass p = { .m = m, .b = b, .smoothing = smoothing };

	if (model_pass_begin(&p, e))
		return e->code;
	model_discard_sums(m);
	m->tokens = b->n_target;
	model_encoder_forward(&p);
	model_decoder_forward(&p);
	model_head(&p, false);
	model_head_sums(&p);
	return model_collect_sums(m, sums, e);
}

int model_predict(struct model *m, const struct batch *b, int32_t *ids, struct model_sums *sums,
		  struct err *e)
{
	struct model_pass p = { .m = m, .b = b, .predict = true };

	if (model_pass_begin(&p, e))
		return e->code;
	model_discard_sums(m);
	m->tokens = b->n_target;
	model_encoder_forward(&p);
	model_decoder_forward(&p);
	model_head(&p, false);
	model_head_sums(&p);
	m->ops->to_host(m->dev, ids, m->acts.ids.target_in, (size_t)b->n_target * sizeof(*ids));
	return model_collect_sums(m, sums, e);
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
