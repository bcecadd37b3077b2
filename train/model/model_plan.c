/*
 * model_plan.c - the arena of activations; see model_internal.h
 *
 * model_acts_plan() lays all arrays one after the other. It runs twice: without a base it only counts
 * bytes, and with one it sets the pointers. Training needs the activations of every layer until the
 * backward pass comes to this layer; evaluation and decoding use the memory of one layer for all.
 */
#include <assert.h>
#include <stdlib.h>

#include "share/base/mem.h"
#include "train/model/sublayer.h"

int model_acts_alloc(struct model_acts *a, const struct model_shape *s, struct err *e)
{
	for (enum model_stack k = 0; k < N_STACKS; k++) {
		struct stack_act *stack = &a->stack[k];

		stack->n = model_count_layers(s, k) * model_layer_list(s, k)->n;
		stack->sub = mem_alloc((size_t)stack->n + 1, sizeof(*stack->sub), e);
		if (!stack->sub)
			return e->code; /* the owner calls model_acts_free() */
	}
	return 0;
}

void model_acts_free(struct model_acts *a)
{
	for (enum model_stack k = 0; k < N_STACKS; k++)
		free(a->stack[k].sub);
	*a = (struct model_acts){ 0 };
}

static struct norm_point plan_norm_point(struct arena_plan *c, int64_t tokens, int64_t d_model)
{
	return (struct norm_point){
		.sum = model_plan_floats(c, tokens, d_model),
		.out = model_plan_tensor(c, tokens, d_model),
		.mean = arena_plan_array(c, tokens, sizeof(float)),
		.rstd = arena_plan_array(c, tokens, sizeof(float)),
	};
}

/*
 * every_layer: the backward pass will need the activations of every layer. Otherwise all layers use
 * the memory of the first one, and all points that of point 0.
 */
static void plan_stack(struct model_acts *acts, enum model_stack stack, const struct model_shape *s,
		       int64_t tokens, bool every_layer, struct arena_plan *c)
{
	const struct layer_list *list = model_layer_list(s, stack);
	struct stack_act *a = &acts->stack[stack];

	if (s->embedding_norm)
		a->embedding = (struct norm_point){
			.sum = model_plan_floats(c, tokens, s->d_model),
			.mean = arena_plan_array(c, tokens, sizeof(float)),
			.rstd = arena_plan_array(c, tokens, sizeof(float)),
		};
	for (int32_t i = 0; i <= a->n; i++) {
		const enum model_sublayer kind = list->at[i % list->n];
		struct sublayer_act *to = &a->sub[i];

		if (i >= list->n && !every_layer) {
			*to = a->sub[i - list->n];
			continue;
		}
		to->x = i == 0 || every_layer ? plan_norm_point(c, tokens, s->d_model)
					      : a->sub[0].x;
		if (i == a->n)
			break;
		to->inner = model_plan_tensor(c, tokens, model_inner_width(s, stack, kind));
		if (sublayer_kinds[kind]->plan)
			sublayer_kinds[kind]->plan(to, s, stack, tokens, c);
	}
}

/* Columns of the widest inner activation of all sublayers. */
static int64_t widest_inner(const struct model_acts *a)
{
	int64_t widest = 0;

	for (enum model_stack k = 0; k < N_STACKS; k++)
		for (int32_t i = 0; i < a->stack[k].n; i++)
			widest = MAX(widest, a->stack[k].sub[i].inner.cols);
	return widest;
}

static int64_t widest_ffn(const struct model_shape *s)
{
	return MAX(model_ffn_width(s, STACK_ENCODER), model_ffn_width(s, STACK_DECODER));
}

static void plan_logits(struct model_acts *a, const struct model_shape *s, int64_t tokens,
			bool training, struct arena_plan *c)
{
	const bool has_act_type = training && c->ops->loss_rows; /* the gradient, in products */
	const int64_t rows = MIN(tokens, MODEL_HEAD_ROWS(has_act_type ? c->dtype : DTYPE_F32)),
		      part = c->ops->loss_rows ? MIN(rows, c->ops->loss_rows) : rows;

	if (has_act_type && c->ops->loss_in_place) {
		a->dlogits = model_plan_tensor(c, rows, s->vocabulary);
		a->logits = with_rows(a->dlogits, part);
		return;
	}
	a->logits = model_plan_floats(c, part, s->vocabulary);
	a->dlogits = has_act_type ? model_plan_tensor(c, rows, s->vocabulary) : a->logits;
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
	plan_stack(a, STACK_ENCODER, s, tokens, training, c);
	if (use != MODEL_USE_ENCODE)
		plan_stack(a, STACK_DECODER, s, tokens, training, c);
	/* one more cache line in the stride, so that rows begin in different cache sets */
	a->memory_kv = model_plan_tensor(c, tokens, memory + 64 / (int64_t)dtype_bytes(c->dtype));
	a->memory_kv.cols = memory;
	a->branch = model_plan_tensor(c, tokens, D);
	if (use == MODEL_USE_ENCODE)
		return !c->overflow;
	plan_logits(a, s, tokens, training, c);
	a->losses = model_plan_floats(c, 2, tokens);
	a->tally = arena_plan_array(c, 1, sizeof(*a->tally));
	if (training) {
		a->dmemory_kv = model_plan_tensor(c, tokens, memory);
		a->dsum = model_plan_floats(c, tokens, D);
		a->dout = model_plan_tensor(c, tokens, D);
		a->wide_grad = model_plan_tensor(c, tokens, widest_inner(a));
		if (s->gated_ffn)
			a->gate_grad = model_plan_tensor(c, tokens, widest_ffn(s));
		if (s->embedding_norm)
			a->embed_grad = model_plan_floats(c, tokens, D);
	}
	return !c->overflow;
}

static void set_stack_rows(struct stack_act *a, int32_t rows)
{
	a->embedding.sum.rows = rows;
	for (int32_t i = 0; i <= a->n; i++) {
		struct sublayer_act *x = &a->sub[i];

		x->x.sum.rows = x->x.out.rows = x->inner.rows = x->context.rows = rows;
	}
}

void model_acts_set_rows(struct model_acts *a, int32_t n_source, int32_t n_target)
{
	assert(n_source > 0 && n_target >= 0);
	set_stack_rows(&a->stack[STACK_ENCODER], n_source);
	set_stack_rows(&a->stack[STACK_DECODER], n_target);
	a->memory_kv.rows = a->dmemory_kv.rows = n_source;
	a->losses.cols = n_target;
}
