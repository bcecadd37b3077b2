/*
 * incremental_sublayers.c - one step of each kind of sublayer; see incremental.h and train/model/sublayer.h
 *
 * The same formulas as in train/model, for one new token of each row. What earlier tokens have left is
 * in the cache: layer l has keys from column 2 D l on and values from column 2 D l + D on, in the rows of
 * target tokens those of self attention, in the rows of source tokens those of cross attention. Each
 * function reads the area h, a norm, and writes the area branch; compute_step() adds it to the stream.
 */
#include "eval/decode/incremental_internal.h"

static const struct dropout no_dropout;

/* The cache's columns of a layer: keys (rows, D), values D further on. */
static struct tensor layer_cache(const struct incremental_decoder *s, int32_t layer)
{
	const int64_t d = s->shape->d_model;

	return tensor_columns(incremental_cache(s), 2 * d * layer, 2 * d);
}

static void step_self(struct incremental_decoder *s, const struct step_sublayer *at)
{
	const int64_t n = s->rows, d = s->shape->d_model;
	const struct tensor qkv = area_tensor(s->a.qkv, n, 3 * d),
			    context = input_tensor(s, s->a.context),
			    cache = layer_cache(s, at->layer),
			    waves = model_rotary_waves(s->model, STACK_DECODER);
	const int32_t heads = model_heads(s->shape, STACK_DECODER);

	step_linear(s, qkv, input_tensor(s, s->a.h), at->w->in, at->w->in_bias);
	if (waves.data)
		s->ops->rotate(s->dev, tensor_columns(qkv, 0, 2 * d), waves,
			       step_input_array(s, STEP_INPUT_POSITION), 2 * heads, false);
	s->ops->scatter_rows(s->dev, cache, tensor_columns(qkv, d, 2 * d),
			     step_input_array(s, STEP_INPUT_CACHE_ROW));
	s->ops->attention_step(s->dev, context, NULL, tensor_columns(qkv, 0, d),
			       tensor_columns(cache, 0, d), tensor_columns(cache, d, d), s->a.index,
			       step_input_array(s, STEP_INPUT_LENGTH), s->stride, heads);
	step_linear(s, area_tensor(s->a.branch, n, d), context, at->w->out, MODEL_NO_BIAS);
}

/* The weights of one head: its columns are a model with one head. The area branch is free here. */
static void step_head_weights(struct incremental_decoder *s, struct tensor q, struct tensor kv,
			      float *weights, int32_t head)
{
	const int64_t d = s->shape->d_model, cols = d / model_heads(s->shape, STACK_DECODER),
		      first = cols * head;

	s->ops->attention_step(
		s->dev, tensor_columns(area_tensor(s->a.branch, s->rows, d), 0, cols), weights,
		tensor_columns(q, first, cols), tensor_columns(kv, first, cols),
		tensor_columns(kv, d + first, cols), s->a.cross_index,
		step_input_array(s, STEP_INPUT_CROSS_LENGTH), s->cross_stride, 1);
}

static void step_cross(struct incremental_decoder *s, const struct step_sublayer *at)
{
	const int64_t n = s->rows, d = s->shape->d_model;
	const struct tensor q = area_tensor(s->a.qkv, n, d),
			    context = input_tensor(s, s->a.context), kv = layer_cache(s, at->layer);
	float *weights = at->weights;

	step_linear(s, q, input_tensor(s, s->a.h), at->w->in, at->w->in_bias);
	if (weights && at->head >= 0) {
		step_head_weights(s, q, kv, weights, at->head);
		weights = NULL;
	}
	s->ops->attention_step(s->dev, context, weights, q, tensor_columns(kv, 0, d),
			       tensor_columns(kv, d, d), s->a.cross_index,
			       step_input_array(s, STEP_INPUT_CROSS_LENGTH), s->cross_stride,
			       model_heads(s->shape, STACK_DECODER));
	step_linear(s, area_tensor(s->a.branch, n, d), context, at->w->out, MODEL_NO_BIAS);
}

static void step_ffn(struct incremental_decoder *s, const struct step_sublayer *at)
{
	const struct model_shape *shape = s->shape;
	const int64_t F = model_ffn_width(shape, STACK_DECODER);
	const bool is_relu = shape->activation == ACTIVATION_relu && !shape->gated_ffn;
	const struct tensor inner = area_tensor(s->a.inner, s->rows, shape->gated_ffn ? 2 * F : F),
			    out = shape->gated_ffn ? area_tensor(s->a.gated, s->rows, F) : inner;

	model_linear(s->model, inner, input_tensor(s, s->a.h), at->w->in, at->w->in_bias, is_relu);
	if (!is_relu)
		s->ops->activate(s->dev, out, inner, NULL, (enum activation)shape->activation,
				 no_dropout);
	step_linear(s, area_tensor(s->a.branch, s->rows, shape->d_model), out, at->w->out,
		    MODEL_NO_BIAS);
}

/* The states (rows, D): floats in the layer's columns of the cache, also if the cache is bf16. */
static struct tensor layer_states(const struct incremental_decoder *s, int32_t layer)
{
	struct tensor t = layer_cache(s, layer);

	t.cols = s->shape->d_model;
	if (t.dtype == DTYPE_BF16)
		t.stride /= 2;
	t.dtype = DTYPE_F32;
	return t;
}

static void step_ssru(struct incremental_decoder *s, const struct step_sublayer *at)
{
	const int64_t n = s->rows, d = s->shape->d_model;
	const struct tensor inner = area_tensor(s->a.qkv, n, 2 * d);

	step_linear(s, inner, input_tensor(s, s->a.h), at->w->in, MODEL_NO_BIAS);
	s->ops->ssru_step(s->dev, area_tensor(s->a.branch, n, d), layer_states(s, at->layer), inner,
			  at->w->in_bias.data, step_input_array(s, STEP_INPUT_PARENT_ROW),
			  step_input_array(s, STEP_INPUT_CACHE_ROW));
}

incremental_sublayer_step *const incremental_steps[N_SUBLAYER_KINDS] = {
#define SUBLAYER(name) step_##name,
#include "train/model/sublayers.def"
};
