/* model_plan.c - the arena of activations; see model_internal.h */
#include "train/model/model_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "share/base/mem.h"

int model_acts_alloc(struct model_acts *a, const struct model_shape *s, struct err *e)
{
	a->encoder.n_layers = s->encoder_layers;
	a->encoder.n_points = 2 * s->encoder_layers + 1;
	a->decoder.n_layers = s->decoder_layers;
	a->decoder.n_points = 3 * s->decoder_layers + 1;
	a->encoder.points = mem_alloc((size_t)a->encoder.n_points, sizeof(struct norm_point), e);
	a->encoder.layers = mem_alloc((size_t)a->encoder.n_layers, sizeof(struct layer_act), e);
	a->decoder.points = mem_alloc((size_t)a->decoder.n_points, sizeof(struct norm_point), e);
	a->decoder.layers = mem_alloc((size_t)a->decoder.n_layers, sizeof(struct layer_act), e);
	if (a->encoder.points && a->encoder.layers && a->decoder.points && a->decoder.layers)
		return 0;
	return e->code; /* the owner calls model_acts_free() */
}

void model_acts_free(struct model_acts *a)
{
	free(a->encoder.points);
	free(a->encoder.layers);
	free(a->decoder.points);
	free(a->decoder.layers);
	*a = (struct model_acts){ 0 };
}

void *arena_plan_array(struct arena_plan *c, int64_t n, size_t size)
{
	size_t bytes, end;
	void *p = c->base ? c->base + c->used : NULL;

	if (!mem_mul((size_t)n, size, &bytes) || bytes > SIZE_MAX / 2 ||
	    __builtin_add_overflow(c->used, (bytes + 63) / 64 * 64, &end) || end > SIZE_MAX / 2) {
		c->overflow = true;
		return NULL;
	}
	c->used = end;
	return p;
}

static struct tensor plan_tensor_of(struct arena_plan *c, int64_t rows, int64_t cols,
				    enum dtype dtype)
{
	size_t n;

	assert(rows >= 0 && cols > 0);
	if (!mem_mul((size_t)rows, (size_t)cols, &n) || n > INT64_MAX)
		c->overflow = true;
	return (struct tensor){
		.data = c->overflow ? NULL : arena_plan_array(c, rows * cols, dtype_bytes(dtype)),
		.rows = rows,
		.cols = cols,
		.stride = cols,
		.dtype = dtype,
	};
}

/* A tensor of floats. */
static struct tensor plan_tensor_f32(struct arena_plan *c, int64_t rows, int64_t cols)
{
	return plan_tensor_of(c, rows, cols, DTYPE_F32);
}

/* A tensor that products read or write: floats or bf16, see model_internal.h. */
static struct tensor plan_tensor_act(struct arena_plan *c, int64_t rows, int64_t cols)
{
	return plan_tensor_of(c, rows, cols, c->dtype);
}

static struct norm_point plan_norm_point(struct arena_plan *c, int64_t tokens, int64_t d_model)
{
	return (struct norm_point){
		.sum = plan_tensor_f32(c, tokens, d_model),
		.out = plan_tensor_act(c, tokens, d_model),
		.mean = arena_plan_array(c, tokens, sizeof(float)),
		.rstd = arena_plan_array(c, tokens, sizeof(float)),
	};
}

static struct layer_act plan_layer_act(struct arena_plan *c, const struct model_shape *s,
				       int64_t tokens, bool cross)
{
	struct layer_act l = {
		.qkv = plan_tensor_act(c, tokens, 3 * (int64_t)s->d_model),
		.self_context = plan_tensor_act(c, tokens, s->d_model),
		.self_lse = arena_plan_array(c, tokens * s->heads, sizeof(float)),
		.hidden = plan_tensor_act(c, tokens, s->d_ff),
	};

	if (cross) {
		l.cross_q = plan_tensor_act(c, tokens, s->d_model);
		l.cross_context = plan_tensor_act(c, tokens, s->d_model);
		l.cross_lse = arena_plan_array(c, tokens * s->heads, sizeof(float));
	}
	return l;
}

/*
 * every_layer: the backward pass will need the activations of every layer. Otherwise all layers
 * and points use the same memory.
 */
static void plan_stack(struct stack_act *a, const struct model_shape *s, int64_t tokens, bool cross,
		       bool every_layer, struct arena_plan *c)
{
	for (int32_t i = 0; i < a->n_points; i++)
		a->points[i] = i == 0 || every_layer ? plan_norm_point(c, tokens, s->d_model)
						     : a->points[0];
	for (int32_t i = 0; i < a->n_layers; i++)
		a->layers[i] =
			i == 0 || every_layer ? plan_layer_act(c, s, tokens, cross) : a->layers[0];
}

static void plan_logits(struct model_acts *a, const struct model_shape *s, int64_t tokens,
			bool training, struct arena_plan *c)
{
	const bool has_act_type = training && c->loss_rows; /* the gradient, in products */
	const int64_t rows = MIN(tokens, MODEL_HEAD_ROWS(has_act_type ? c->dtype : DTYPE_F32)),
		      part = c->loss_rows ? MIN(rows, c->loss_rows) : rows;

	if (has_act_type && c->loss_in_place) {
		a->dlogits = plan_tensor_act(c, rows, s->vocabulary);
		a->logits = with_rows(a->dlogits, part);
		return;
	}
	a->logits = plan_tensor_f32(c, part, s->vocabulary);
	a->dlogits = has_act_type ? plan_tensor_act(c, rows, s->vocabulary) : a->logits;
}

bool model_acts_plan(struct model_acts *a, const struct model_shape *s,
		     const struct batch_extent *most, enum model_use use, struct arena_plan *c)
{
	const int64_t D = s->d_model, memory = 2 * D * s->decoder_layers, tokens = most->source;
	const bool training = use == MODEL_USE_TRAIN;

	for (int i = 0; i < 2; i++) {
		a->batch_slots[i] = arena_plan_array(c, 0, 1);
		model_plan_ids(&a->ids, most, c);
	}
	plan_stack(&a->encoder, s, tokens, false, training, c);
	if (use != MODEL_USE_ENCODE)
		plan_stack(&a->decoder, s, tokens, true, training, c);
	/* one more cache line in the stride, so that rows begin in different cache sets */
	a->memory_kv = plan_tensor_act(c, tokens, memory + 64 / (int64_t)dtype_bytes(c->dtype));
	a->memory_kv.cols = memory;
	a->branch = plan_tensor_act(c, tokens, D);
	if (use == MODEL_USE_ENCODE)
		return !c->overflow;
	plan_logits(a, s, tokens, training, c);
	a->losses = plan_tensor_f32(c, 2, tokens);
	a->tally = arena_plan_array(c, 1, sizeof(*a->tally));
	if (training) {
		a->dmemory_kv = plan_tensor_act(c, tokens, memory);
		a->dsum = plan_tensor_f32(c, tokens, D);
		a->dout = plan_tensor_act(c, tokens, D);
		a->wide_grad = plan_tensor_act(c, tokens, MAX(s->d_ff, 3 * D));
	}
	return !c->overflow;
}

static void set_stack_rows(struct stack_act *a, int32_t rows)
{
	for (int32_t i = 0; i < a->n_points; i++)
		a->points[i].sum.rows = a->points[i].out.rows = rows;
	for (int32_t i = 0; i < a->n_layers; i++) {
		struct layer_act *l = &a->layers[i];

		l->qkv.rows = l->self_context.rows = l->cross_q.rows = l->cross_context.rows =
			l->hidden.rows = rows;
	}
}

void model_acts_set_rows(struct model_acts *a, int32_t n_source, int32_t n_target)
{
	assert(n_source > 0 && n_target >= 0);
	set_stack_rows(&a->encoder, n_source);
	set_stack_rows(&a->decoder, n_target);
	a->memory_kv.rows = a->dmemory_kv.rows = n_source;
	a->losses.cols = n_target;
}
