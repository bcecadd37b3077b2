/*
 * incremental_sublayers.c - one step of each kind of sublayer; see incremental.h and train/model/sublayer.h
 *
 * The same formulas as in train/model, for one new token of each row. What earlier tokens have left is
 * in the cache: layer l has keys from column 2 D l on and values from column 2 D l + D on, in the rows of
 * target tokens those of self attention, in the rows of source tokens those of cross attention. Each
 * function reads the area h, a norm, and writes the area branch; compute_step() adds it to the stream.
 */
#include "eval/decode/incremental_internal.h"

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
			    cache = layer_cache(s, at->layer);

	step_linear(s, qkv, input_tensor(s, s->a.h), at->w->in);
	s->ops->scatter_rows(s->dev, cache, tensor_columns(qkv, d, 2 * d),
			     step_input_array(s, STEP_INPUT_CACHE_ROW));
	s->ops->attention_step(s->dev, context, NULL, tensor_columns(qkv, 0, d),
			       tensor_columns(cache, 0, d), tensor_columns(cache, d, d), s->a.index,
			       step_input_array(s, STEP_INPUT_LENGTH), s->stride, s->shape->heads);
	step_linear(s, area_tensor(s->a.branch, n, d), context, at->w->out);
}

/* The weights of one head: its columns are a model with one head. The area branch is free here. */
static void step_head_weights(struct incremental_decoder *s, struct tensor q, struct tensor kv,
			      float *weights, int32_t head)
{
	const int64_t d = s->shape->d_model, cols = d / s->shape->heads, first = cols * head;

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

	step_linear(s, q, input_tensor(s, s->a.h), at->w->in);
	if (weights && at->head >= 0) {
		step_head_weights(s, q, kv, weights, at->head);
		weights = NULL;
	}
	s->ops->attention_step(s->dev, context, weights, q, tensor_columns(kv, 0, d),
			       tensor_columns(kv, d, d), s->a.cross_index,
			       step_input_array(s, STEP_INPUT_CROSS_LENGTH), s->cross_stride,
			       s->shape->heads);
	step_linear(s, area_tensor(s->a.branch, n, d), context, at->w->out);
}

static void step_ffn(struct incremental_decoder *s, const struct step_sublayer *at)
{
	const struct tensor inner = area_tensor(s->a.inner, s->rows, s->shape->d_ff);

	model_linear(s->model, inner, input_tensor(s, s->a.h), at->w->in, &at->w->in_bias, true);
	step_linear(s, area_tensor(s->a.branch, s->rows, s->shape->d_model), inner, at->w->out);
}

incremental_sublayer_step *const incremental_steps[N_SUBLAYER_KINDS] = {
#define SUBLAYER(name) step_##name,
#include "train/model/sublayers.def"
};
